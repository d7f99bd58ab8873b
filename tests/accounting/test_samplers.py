"""Each way of drawing batches is accounted as itself, and what has no proof is refused."""

import math
from dataclasses import replace

import pytest

from discreet.accounting.gaussian import Gaussian, Participations
from discreet.accounting.profile import Open, Unseen
from discreet.accounting.samplers import compose, compose_plans, profile_of
from discreet.engine.plan import Plan
from discreet.errors import RefusedError

POISSON = Plan(rate=0.01, steps=100, noise=1.0, neighbours="replace")
SHUFFLED = replace(POISSON, sampling="shuffled")
FIXED = replace(POISSON, sampling="fixed-size", population=10_000)
DELTA = 1e-5


def test_shuffling_and_fixed_sizes_are_never_given_the_poisson_number():
    poisson = profile_of(POISSON).epsilon(DELTA)
    assert profile_of(SHUFFLED).epsilon(DELTA) > 2 * poisson
    assert profile_of(FIXED).epsilon(DELTA) > 2 * poisson


def test_shuffled_epochs_count_passes_not_steps():
    assert profile_of(SHUFFLED) == Gaussian(2.0)
    assert profile_of(SHUFFLED.with_steps(101)) == Gaussian(2 * math.sqrt(2))
    assert profile_of(replace(SHUFFLED, neighbours="zero-out")) == Gaussian(1.0)


def test_zeroing_a_record_out_costs_what_removing_it_does():
    removed, zeroed = (profile_of(replace(POISSON, neighbours=n)).epsilon(DELTA) for n in ("add-remove", "zero-out"))
    assert removed == zeroed


@pytest.mark.parametrize(
    "plan",
    [
        replace(SHUFFLED, neighbours="add-remove"),
        replace(FIXED, neighbours="add-remove"),
        replace(FIXED, neighbours="zero-out"),
        replace(POISSON, sampling="truncated-poisson", population=500, max_batch=20, neighbours="zero-out"),
    ],
)
def test_what_has_no_proof_is_refused(plan):
    with pytest.raises(RefusedError):
        profile_of(plan)


def test_a_fixed_size_without_a_population_takes_the_rate():
    bare = replace(FIXED, population=None)
    assert profile_of(bare).epsilon(DELTA) == pytest.approx(profile_of(FIXED).epsilon(DELTA), rel=1e-6)


def test_composition_of_gaussians_is_exact():
    assert compose([Gaussian(3.0), Gaussian(4.0)]) == Gaussian(5.0)


def test_a_phase_that_sees_nothing_is_free_and_one_in_clear_spoils_all():
    sampled = profile_of(POISSON, grid=1e-3)
    assert compose([Unseen(), sampled]) is sampled
    assert isinstance(compose([]), Unseen)
    assert Unseen().epsilon(0.0) == 0.0
    assert compose([Open(), sampled]).epsilon(DELTA) == math.inf


def test_phases_of_fixed_size_add_their_divergences():
    once, twice = compose_plans([FIXED]), compose_plans([FIXED, FIXED])
    long = profile_of(FIXED.with_steps(200))
    assert twice.epsilon(DELTA) == pytest.approx(long.epsilon(DELTA), rel=1e-9)
    assert twice.epsilon(DELTA) > once.epsilon(DELTA)


@pytest.mark.parametrize("other", [profile_of(FIXED), Participations(1.0, 0.1, 10)])
def test_phases_without_a_loss_table_are_not_composed_with_others(other):
    with pytest.raises(RefusedError, match="cannot be composed"):
        compose([profile_of(POISSON, grid=1e-3), other])


def test_phases_of_unlike_width_share_the_coarser_grid():
    loud = Plan(rate=0.01, steps=5, noise=0.06, neighbours="replace")
    both = compose_plans([loud, POISSON], finest=1.6e-3)
    assert both.epsilon(DELTA) > compose_plans([loud], finest=1.6e-3).epsilon(DELTA)


def test_two_halves_of_a_run_cost_what_the_whole_does():
    half = POISSON.with_steps(50)
    assert compose_plans([half, half]).epsilon(DELTA) == pytest.approx(profile_of(POISSON).epsilon(DELTA), rel=1e-5)


@pytest.mark.parametrize(
    "plan",
    [
        replace(POISSON, rate=1.0, steps=4),
        replace(SHUFFLED, neighbours="zero-out"),
        replace(POISSON, neighbours="add-remove", noise=2.0),
        replace(POISSON, noise=2.0),
        FIXED,
    ],
    ids=lambda plan: f"{plan.sampling}-{plan.neighbours}",
)
def test_a_group_costs_more_than_its_members_apart(plan):
    one, three = profile_of(plan), profile_of(plan, number=3)
    assert three.epsilon(DELTA) >= 3 * one.epsilon(DELTA) * (1 - 1e-6)

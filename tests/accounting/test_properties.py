"""What must hold for every setting: more noise never costs more, more steps never less, and so on.

Tables are rounded to the unfavourable side, so neighbours may cross by the width of the rounding; SLACK allows for it.
"""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.budget import budget
from discreet.accounting.confidential import bayesian
from discreet.accounting.gaussian import Gaussian, Participations
from discreet.accounting.group import group_delta
from discreet.accounting.jft import amplified
from discreet.accounting.profile import Mixed
from discreet.accounting.samplers import compose, profile_of
from discreet.accounting.setting import Setting
from discreet.engine.plan import Plan

GRID = 2e-3
SLACK = 1.002
quick = settings(derandomize=True, deadline=None, max_examples=15)

noises = st.floats(0.7, 8.0)
rates = st.floats(1e-3, 0.5)
steps = st.integers(1, 300)
deltas = st.floats(1e-8, 1e-2)
relations = st.sampled_from(["add-remove", "replace"])


def poisson(noise, rate, number, neighbours):
    return profile_of(Plan(rate=rate, steps=number, noise=noise, neighbours=neighbours), grid=GRID)


@quick
@given(noises, st.floats(1.0, 3.0), rates, steps, deltas, relations)
def test_more_noise_never_costs_more(noise, more, rate, number, delta, relation):
    loud, quiet = poisson(noise, rate, number, relation), poisson(noise * more, rate, number, relation)
    assert quiet.epsilon(delta) <= loud.epsilon(delta) * SLACK + GRID


@quick
@given(noises, rates, steps, st.integers(0, 300), deltas, relations)
def test_more_steps_never_cost_less(noise, rate, number, more, delta, relation):
    short, long = poisson(noise, rate, number, relation), poisson(noise, rate, number + more, relation)
    assert long.epsilon(delta) * SLACK + GRID >= short.epsilon(delta)


@quick
@given(noises, rates, st.floats(1.0, 2.0), steps, deltas, relations)
def test_a_larger_rate_never_costs_less(noise, rate, more, number, delta, relation):
    few, many = poisson(noise, rate, number, relation), poisson(noise, min(1, rate * more), number, relation)
    assert many.epsilon(delta) * SLACK + GRID >= few.epsilon(delta)


@quick
@given(noises, rates, steps, deltas, st.floats(1.0, 100.0), relations)
def test_a_smaller_delta_never_costs_less(noise, rate, number, delta, smaller, relation):
    profile = poisson(noise, rate, number, relation)
    assert profile.epsilon(delta / smaller) >= profile.epsilon(delta)


@quick
@given(noises, rates, steps, deltas)
def test_replacing_is_never_cheaper_than_adding(noise, rate, number, delta):
    replaced, added = poisson(noise, rate, number, "replace"), poisson(noise, rate, number, "add-remove")
    assert replaced.epsilon(delta) * SLACK + GRID >= added.epsilon(delta)


@quick
@given(noises, rates, steps, noises, rates, steps, deltas, relations)
def test_two_phases_cost_no_less_than_each(noise1, rate1, number1, noise2, rate2, number2, delta, relation):
    first, second = poisson(noise1, rate1, number1, relation), poisson(noise2, rate2, number2, relation)
    both = compose([first, second]).epsilon(delta)
    assert both * SLACK + GRID >= max(first.epsilon(delta), second.epsilon(delta))


@quick
@given(noises, rates, steps, st.floats(0.1, 3.0), deltas)
def test_a_sampled_and_an_unsampled_phase_cost_no_less_than_each(noise, rate, number, mu, delta):
    sampled, release = poisson(noise, rate, number, "replace"), Gaussian(mu)
    both = compose([sampled, release]).epsilon(delta)
    assert both * SLACK + GRID >= max(sampled.epsilon(delta), release.epsilon(delta))


@quick
@given(noises, rates, steps, deltas, relations)
def test_sampling_never_costs_more_than_taking_everyone(noise, rate, number, delta, relation):
    everyone = profile_of(Plan(rate=1, steps=number, noise=noise, neighbours=relation))
    assert poisson(noise, rate, number, relation).epsilon(delta) <= everyone.epsilon(delta) * SLACK + GRID


@quick
@given(noises, rates, steps, deltas)
def test_revealed_batches_never_cost_less_than_hidden_ones(noise, rate, number, delta):
    revealed = Participations(2 / noise, rate, number)
    assert revealed.epsilon(delta) * SLACK + GRID >= poisson(noise, rate, number, "replace").epsilon(delta)


@quick
@given(noises, rates, steps, deltas, st.floats(0, 1), st.floats(0, 1))
def test_a_larger_miss_rate_never_costs_less(noise, rate, number, delta, one, other):
    profile = poisson(noise, rate, number, "replace")
    low, high = sorted((one, other))
    assert bayesian(profile, delta, low) <= bayesian(profile, delta, high) + 1e-9
    assert bayesian(profile, delta, high) <= profile.epsilon(delta) + 1e-9


@quick
@given(st.floats(0.01, 50), st.floats(0, 1), st.floats(0, 1))
def test_amplification_is_between_nothing_and_everything(epsilon, one, other):
    low, high = sorted((one, other))
    assert 0 <= amplified(epsilon, low) <= amplified(epsilon, high) + 1e-12
    assert amplified(epsilon, high) <= epsilon + 1e-12


@quick
@given(st.floats(0.05, 20.0), st.floats(0.05, 20.0), deltas, st.floats(0, 1))
def test_an_average_lies_between_its_parts(mu, nu, delta, weight):
    small, large = Gaussian(min(mu, nu)), Gaussian(max(mu, nu))
    average = Mixed(((weight, large), (1 - weight, small))).epsilon(delta)
    assert small.epsilon(delta) * (1 - 1e-9) <= average <= large.epsilon(delta) * (1 + 1e-9)


@quick
@given(st.floats(0.01, 30.0), st.floats(1e-10, 0.5))
def test_epsilon_and_delta_of_a_gaussian_invert_each_other(mu, delta):
    profile = Gaussian(mu)
    epsilon = profile.epsilon(delta)
    if epsilon > 0:
        assert math.isclose(profile.delta(epsilon), delta, rel_tol=1e-5)


@quick
@given(st.floats(0, 5), st.floats(1e-12, 1e-3), st.integers(1, 30))
def test_a_larger_group_never_has_a_smaller_delta(epsilon, delta, number):
    assert group_delta(epsilon, delta, number + 1) >= group_delta(epsilon, delta, number) >= delta * (1 - 1e-12)


@settings(derandomize=True, deadline=None, max_examples=5)
@given(st.floats(0.2, 3.0), st.floats(0.01, 0.5), st.integers(1, 2000), st.floats(1e-7, 1e-3), relations)
def test_calibrated_noise_returns_the_target(epsilon, rate, number, delta, relation):
    setting = Setting(epsilon=epsilon, rate=rate, steps=number, delta=delta, neighbours=relation)
    reached = budget("dp-sgd", setting).notion.epsilon
    assert epsilon * (1 - 1e-3) <= reached <= epsilon


@settings(derandomize=True, deadline=None, max_examples=10)
@given(st.floats(0.1, 100.0), st.integers(1, 100), st.integers(1, 5), st.floats(1e-9, 1e-3), st.sampled_from([0, 1, 2]))
def test_calibrated_noise_of_formula_a_returns_the_target(epsilon, epochs, segments, delta, states):
    setting = Setting(epsilon=epsilon, epochs=epochs, segments=segments, delta=delta, states=states)
    assert math.isclose(budget("selective-paper", setting).notion.epsilon, epsilon, rel_tol=1e-6)

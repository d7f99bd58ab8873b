"""Numbers of the specification itself, so that they are checked also where the reference file is absent."""

import pytest

from discreet.accounting.audit_bounds import one_run, two_worlds, two_worlds_gaussian, two_worlds_mu
from discreet.accounting.group import group
from discreet.accounting.intervals import clopper_pearson
from discreet.accounting.jft import JustFineTuneTwice, amplified
from discreet.accounting.metric import radius
from discreet.accounting.rdp import as_the_papers_count, cross_check
from discreet.accounting.samplers import profile_of
from discreet.accounting.selective import SelectivePaper, SelectivePrivacy
from discreet.engine.plan import Plan

DP_SGD = [  # rate, steps, delta, noise, RDP add/remove, PLD add/remove, PLD replace-one
    (0.01, 1000, 1e-5, 0.7, 5.423, 4.618, 5.766),
    (0.01, 1000, 1e-5, 1.0, 2.101, 1.828, 2.843),
    (0.01, 1000, 1e-5, 1.5, 1.013, 0.918, 1.676),
    (1.0, 50, 1e-5, 10.0, 3.189, 2.943, 6.573),
    (0.1, 100, 1e-5, 2.0, 2.581, 2.337, 4.368),
    (0.05, 2000, 1e-6, 1.5, 9.780, 9.135, 18.08),
]


@pytest.mark.parametrize(("rate", "steps", "delta", "noise", "renyi", "added", "replaced"), DP_SGD)
def test_dp_sgd(rate, steps, delta, noise, renyi, added, replaced):
    for neighbours, expected in (("add-remove", added), ("replace", replaced)):
        plan = Plan(rate=rate, steps=steps, noise=noise, neighbours=neighbours)
        assert profile_of(plan).epsilon(delta) == pytest.approx(expected, rel=5e-4)
    assert cross_check(noise, rate, steps, False, delta) == pytest.approx(renyi, rel=5e-4)


@pytest.mark.parametrize(
    ("epochs", "segments", "noise", "states", "expected"),
    [
        (37, 1, 0.5, 2, 1046),
        (37, 3, 0.5, 2, 2939),
        (37, 1, 0.5, None, 387),
        (10, 3, 5.0, 2, 20.8),
        (10, 3, 20.0, 2, 3.63),
        (10, 1, 20.0, 1, 1.52),
        (10, 1, 10.0, None, 2.26),
    ],
)
def test_formula_a(epochs, segments, noise, states, expected):
    plan = Plan(rate=1, steps=epochs, noise=noise, neighbours="replace", sampling="shuffled")
    state_noise = None if states is None else noise
    notion = SelectivePaper(plan=plan, segments=segments, state_noise=state_noise, states=states or 2, delta=8e-5)
    assert notion.epsilon == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(
    ("noise", "segments", "expected"),
    [(1.5, 1, 7.53), (1.5, 3, 16.76), (2.121, 1, 4.9), (3.209, 1, 3.0), (8.395, 1, 1.0)],
)
def test_formula_b(noise, segments, expected):
    plan = Plan(rate=1024 / 25000, steps=1000, noise=noise, neighbours="replace")
    assert SelectivePrivacy(plan=plan, segments=segments, delta=8e-5).epsilon == pytest.approx(expected, rel=1e-3)


def test_segments_of_one_draw_are_not_more_draws():
    plan = Plan(rate=1024 / 25000, steps=1000, noise=1.5, neighbours="replace")
    honest = SelectivePrivacy(plan=plan, segments=3, delta=8e-5).epsilon
    as_extra_steps = SelectivePrivacy(plan=plan.with_steps(3000), delta=8e-5).epsilon
    assert honest > as_extra_steps


def test_the_papers_own_epsilon_is_reproduced_as_the_papers():
    assert as_the_papers_count(0.5, 1 / 9994, 2.7524 * 9994 * 37, 8e-5) == pytest.approx(4.911, abs=1e-3)


def test_jft():
    plan = Plan(rate=1024 / 36718, steps=3586, noise=5.155, neighbours="replace")
    notion = JustFineTuneTwice(phase1=plan.with_noise(3.0), phase2=plan, missed=12, sample=150, delta=1e-6)
    assert notion.epsilon_detected == pytest.approx(3.00, abs=0.005)
    assert notion.epsilon_missed == pytest.approx(6.53, abs=0.005)
    assert notion.epsilon_average == pytest.approx(5.97, abs=0.005)


def test_intervals_amplification_and_groups():
    assert clopper_pearson(0, 200) == pytest.approx((0.0, 0.018275), abs=1e-6)
    assert clopper_pearson(12, 2000) == pytest.approx((0.003104, 0.010457), abs=1e-6)
    assert amplified(1.0, 0.1) == pytest.approx(0.15857, abs=1e-5)
    assert group(1.0, 1e-5, 3) == pytest.approx((3.0, 1.11e-4), rel=1e-3)


def test_metric_noise():
    found = radius(300, 10.0)
    assert (found.mean, found.variance) == pytest.approx((30, 3))
    assert (found.low, found.high) == pytest.approx((26.118, 34.176), abs=1e-3)


def test_audits():
    assert one_run(1000, 1000, 600, 1e-5) == pytest.approx(0.2972, abs=1e-4)
    assert one_run(1000, 200, 180, 1e-5) == pytest.approx(1.7963, abs=1e-4)
    assert one_run(1000, 100, 100, 1e-5) == pytest.approx(3.4654, abs=1e-4)
    assert two_worlds(0, 500, 0, 500, 1e-5) == pytest.approx(4.9056, abs=1e-4)
    assert two_worlds(10, 500, 400, 500, 1e-5) == pytest.approx(1.5142, abs=1e-4)
    assert two_worlds_mu(10, 500, 400, 500) == pytest.approx(0.8223, abs=1e-4)
    assert two_worlds_gaussian(10, 500, 400, 500, 1e-5) == pytest.approx(3.495, abs=1e-3)

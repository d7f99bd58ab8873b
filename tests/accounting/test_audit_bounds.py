"""Lower bounds: never above what the attacked mechanism really spends."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import audit_bounds as audit
from discreet.accounting.gaussian import Gaussian
from discreet.errors import SettingError


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(1, 300), st.integers(0, 300), st.floats(0, 1e-4), st.floats(0, 4), st.floats(0, 4))
def test_a_larger_epsilon_is_never_more_surprising(guesses, right, delta, one, other):
    right = min(right, guesses)
    low, high = sorted((one, other))
    surprise = [audit.one_run_surprise(1000, guesses, right, delta, epsilon) for epsilon in (low, high)]
    assert surprise[0] <= surprise[1] + 1e-9


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(1, 200), st.integers(0, 200))
def test_more_right_guesses_never_lower_the_bound(guesses, right):
    right = min(right, guesses - 1)
    assert audit.one_run(500, guesses, right, 1e-6) <= audit.one_run(500, guesses, right + 1, 1e-6) + 1e-9


def test_one_run_holds_against_randomized_response():
    """Each canary is answered by an epsilon = 1 coin; a 95 % bound above 1 may come up in at most 5 % of the runs.

    200 runs: more than 19 would happen to a true 5 % with a chance below 1 %.
    """
    rng = np.random.default_rng(0)
    chance = math.e / (1 + math.e)
    above = sum(audit.one_run(400, 400, int(rng.binomial(400, chance)), 0.0) > 1.0 for _ in range(200))
    assert above <= 19


def test_two_worlds_hold_against_a_gaussian_release():
    """A threshold attack on a mean distance of 2, false-alarm rate as in the test above."""
    rng = np.random.default_rng(1)
    truth = Gaussian(2.0).epsilon(1e-5)
    above = above_mu = 0
    for _ in range(200):
        alarms, misses = int((rng.normal(size=300) > 1).sum()), int((rng.normal(2, 1, 300) < 1).sum())
        above += audit.two_worlds(alarms, 300, misses, 300, 1e-5) > truth
        above_mu += audit.two_worlds_mu(alarms, 300, misses, 300) > 2.0
    assert above <= 19
    assert above_mu <= 19


def test_an_attack_that_learns_nothing_proves_nothing():
    assert audit.one_run(100, 0, 0, 1e-5) == 0.0
    assert audit.one_run(100, 50, 25, 1e-5) == 0.0
    assert audit.one_run_surprise(100, 50, 0, 1e-5, 1.0) == 1.0
    assert audit.two_worlds(250, 500, 250, 500, 1e-5) == 0.0
    assert audit.two_worlds_gaussian(400, 500, 400, 500, 1e-5) == 0.0
    assert audit.exposure_epsilon(0, 50, 10.0, 1e-5) == 0.0


def test_a_share_of_nearly_all_runs_exposed_gives_nearly_all_bits():
    assert audit.exposure_epsilon(1000, 1000, 10.0, 0.0) == pytest.approx(10 * math.log(2), abs=0.01)
    assert audit.exposure_chance(20.0, 0.0, 3.0) == 1.0


def test_impossible_counts_are_refused():
    with pytest.raises(SettingError, match="not possible"):
        audit.one_run(10, 20, 5, 1e-5)

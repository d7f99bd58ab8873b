"""Closed forms, at ordinary sizes and at the ends of the range."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

from discreet.accounting.gaussian import Gaussian, Participations, delta_of, mu_for
from discreet.errors import SettingError


@pytest.mark.parametrize(("mu", "epsilon"), [(0.3, 0.5), (1.0, 2.0), (2.5, 1.0)])
def test_delta_is_the_hockey_stick_divergence(mu, epsilon):
    def excess(x):
        return max(0.0, norm.pdf(x - mu) - math.exp(epsilon) * norm.pdf(x))

    kink = epsilon / mu + mu / 2
    integral = quad(excess, kink, kink + 40)[0]
    assert delta_of(mu, epsilon) == pytest.approx(integral, rel=1e-6)


def test_the_ends_of_the_range():
    assert Gaussian(0.0).epsilon(1e-9) == 0.0
    assert Gaussian(1.0).epsilon(0.0) == math.inf
    assert Gaussian(5000.0).epsilon(1e-5) == math.inf
    assert Gaussian(1e-6).epsilon(0.5) == 0.0
    assert delta_of(np.array([0.0, 1.0]), 0.0)[0] == 0.0


@pytest.mark.parametrize("delta", [-0.1, 1.0, math.nan])
def test_a_delta_that_is_no_probability_is_refused(delta):
    with pytest.raises(SettingError, match="probability"):
        Gaussian(1.0).epsilon(delta)


def test_the_largest_release_within_a_target():
    mu = mu_for(3.0, 1e-6)
    assert Gaussian(mu).epsilon(1e-6) == pytest.approx(3.0, rel=1e-8)
    with pytest.raises(SettingError, match="delta must be"):
        mu_for(1.0, 0.0)


def test_participations_average_over_the_binomial_number():
    profile = Participations(mu=2.0, rate=0.1, steps=30)
    k = np.arange(31)
    expected = float(np.sum(binom.pmf(k, 30, 0.1) * delta_of(2.0 * np.sqrt(k), 8.0)))
    assert profile.delta(8.0) == pytest.approx(expected, rel=1e-9)


def test_participations_with_certain_batches_are_one_gaussian():
    always = Participations(mu=0.5, rate=1.0, steps=9)
    assert always.epsilon(1e-6) == pytest.approx(Gaussian(1.5).epsilon(1e-6), rel=1e-8)
    assert always.epsilon(0.0) == math.inf

"""Estimates of exposure: counting in a sample, and the tail of a fitted distribution."""

import math

import numpy as np
import pytest
from scipy.stats import skewnorm

from discreet.attacks.estimates import SkewNormal, fit_skew_normal, fit_tail, rank_among, sampled


def test_equal_scores_rank_before():
    assert rank_among(2.0, np.array([1.0, 2.0, 3.0])) == 3
    assert rank_among(4.0, np.array([1.0, 2.0, 3.0])) == 1


def test_counting_has_an_interval_that_ends_at_the_samples_reach():
    sample = np.arange(1000.0)
    best = sampled(5000.0, sample)
    assert best.exposure == pytest.approx(math.log2(1001))
    assert best.high is None
    assert best.low == pytest.approx(-math.log2(0.003682), abs=0.01)  # Clopper-Pearson upper limit of 0 in 1000
    middle = sampled(499.5, sample)
    assert middle.low < middle.exposure < (middle.high or 0)
    assert middle.exposure == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("shape", [-4.0, 0.0, 3.0])
def test_a_skew_normal_space_is_fitted_and_its_tail_read_off(shape):
    """The space is as assumed, so the fit is doubted with a chance of 1 %; the seeds are fixed."""
    truth = skewnorm(shape, loc=30, scale=4)
    sample = truth.rvs(4000, random_state=1)
    tail = fit_tail(-sample)
    assert not tail.doubtful
    for share in (0.3, 1e-2, 1e-4, 1e-6):
        own = -float(truth.ppf(share))
        assert tail.exposure(own) == pytest.approx(-math.log2(share), rel=0.08, abs=0.1)


def test_the_distribution_is_scipys():
    ours, theirs = SkewNormal(3.0, 2.0, 1.5), skewnorm(1.5, loc=3.0, scale=2.0)
    x = np.linspace(-4, 10, 50)
    np.testing.assert_allclose(ours.log_density(x), theirs.logpdf(x), atol=1e-9)
    np.testing.assert_allclose(ours.below(x), theirs.cdf(x), atol=2e-3)
    assert ours.log_below(1.0) == pytest.approx(math.log(theirs.cdf(1.0)), abs=1e-3)
    assert ours.log_below(-60.0) < -1000  # no float holds the probability itself


def test_a_space_that_looks_otherwise_is_doubted():
    two_heaps = np.concatenate(
        (np.random.default_rng(0).normal(0, 1, 1500), np.random.default_rng(1).normal(40, 1, 1500))
    )
    assert fit_tail(two_heaps).doubtful


def test_a_space_of_one_score_does_not_fail():
    assert fit_skew_normal(np.full(10, 3.0)).location == 3.0
    assert math.isfinite(fit_tail(np.full(50, 3.0)).p)

"""AUC, accuracy and rates: right on small cases, unbiased where there is nothing to tell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacks.rates import auc_of, mean_interval, roc_curve, separate, tpr_at
from discreet.errors import InputError

SCORES = st.lists(st.integers(-3, 3), min_size=1, max_size=12).map(lambda values: np.array(values, float))


@settings(derandomize=True, deadline=None, max_examples=80)
@given(SCORES, SCORES)
def test_the_auc_counts_pairs_and_is_the_area_under_the_curve(members, others):
    pairs = [(a > b) + 0.5 * (a == b) for a in members for b in others]
    assert auc_of(members, others) == pytest.approx(np.mean(pairs))
    false, true = roc_curve(members, others)
    assert np.trapezoid(true, false) == pytest.approx(np.mean(pairs))
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(SCORES, SCORES, st.sampled_from([0.0, 0.01, 0.25, 0.5]))
def test_true_positives_are_counted_at_a_threshold_that_keeps_the_rate(members, others, rate):
    best = max(
        (float((members > t).mean()) for t in [*others, *members] if (others > t).mean() <= rate + 1e-9), default=0.0
    )
    assert tpr_at(members, others, rate) == pytest.approx(best)


def test_groups_far_apart_are_told_apart_and_equal_ones_are_not():
    random = np.random.default_rng(0)
    apart = separate(random.normal(9, 1, 300), random.normal(0, 1, 300), resamples=50)
    assert apart.auc > 0.999
    assert apart.accuracy > 0.99
    assert apart.tpr == {"0.01": 1.0, "0.001": 1.0}
    same = separate(random.normal(0, 1, 2000), random.normal(0, 1, 2000), resamples=50)
    low, high = same.auc_interval
    assert low < 0.5 < high
    assert abs(same.accuracy - 0.5) < 0.04  # 4 standard errors and more


def test_accuracy_is_not_flattered_by_few_texts():
    """A threshold chosen on what it is judged by would find some 60 % of twenty texts right."""
    random = np.random.default_rng(1)
    found = [separate(random.normal(size=20), random.normal(size=20), resamples=10).accuracy for _ in range(60)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.04)


def test_intervals_cover_the_truth():
    """Of 60 intervals at 95 % at least 49 cover: fewer has a chance below 1e-4."""
    random = np.random.default_rng(2)
    truth, covered = 0.7602, 0  # P[N(1, 1) > N(0, 1)]
    for seed in range(60):
        low, high = separate(random.normal(1, 1, 80), random.normal(0, 1, 80), seed, resamples=50).auc_interval
        covered += low <= truth <= high
    assert covered >= 49


def test_scores_that_are_no_numbers_rank_last_and_nothing_at_all_is_refused():
    assert separate(np.array([np.nan, 1.0]), np.array([0.0, 0.5]), resamples=10).auc == 0.5
    with pytest.raises(InputError, match="some of both"):
        separate(np.array([]), np.array([1.0]))


def test_the_interval_of_a_mean():
    assert mean_interval([3.0]) is None
    low, high = mean_interval([1.0, 2.0, 3.0, 4.0]) or (0.0, 0.0)
    assert 1 <= low < 2.5 < high <= 4

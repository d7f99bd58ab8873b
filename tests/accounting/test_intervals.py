"""Exact intervals of a counted share."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.accounting.intervals import clopper_pearson, lower_limit, upper_limit
from discreet.errors import SettingError


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.99))
def test_at_the_limits_the_count_is_just_too_surprising(counted, confidence):
    count, total = counted
    low, high = clopper_pearson(count, total, confidence)
    assert 0 <= low <= count / total <= high <= 1
    side = (1 - confidence) / 2
    if count < total:
        assert binom.cdf(count, total, high) == pytest.approx(side, rel=1e-6)
    if count > 0:
        assert binom.sf(count - 1, total, low) == pytest.approx(side, rel=1e-6)


def test_nothing_and_everything():
    assert lower_limit(0, 10) == 0.0
    assert upper_limit(10, 10) == 1.0


@pytest.mark.parametrize(("count", "total", "confidence"), [(3, 2, 0.95), (-1, 5, 0.95), (0, 0, 0.95), (1, 5, 1.0)])
def test_what_is_no_share_is_refused(count, total, confidence):
    with pytest.raises(SettingError):
        upper_limit(count, total, confidence)

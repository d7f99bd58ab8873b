"""Groups: the walk from neighbour to neighbour, and copies by their own loss table."""

import math

import pytest

from discreet.accounting.gaussian import Gaussian
from discreet.accounting.group import Chained, copies, group, group_delta
from discreet.accounting.pld import poisson
from discreet.errors import SettingError


def test_a_group_sums_a_geometric_series():
    assert group_delta(0.5, 1e-6, 4) == pytest.approx(1e-6 * sum(math.exp(0.5 * i) for i in range(4)))
    assert group(2.0, 1e-5, 1) == pytest.approx((2.0, 1e-5))
    assert group_delta(0.0, 1e-5, 7) == pytest.approx(7e-5)
    assert group_delta(3.0, 0.0, 7) == 0.0


def test_a_delta_never_exceeds_one():
    assert group_delta(5.0, 1e-3, 50) == 1.0
    assert group_delta(100.0, 1e-300, 50) == 1.0


def test_an_empty_group_is_refused():
    with pytest.raises(SettingError, match="at least one"):
        group_delta(1.0, 1e-5, 0)


def test_the_walk_never_understates_what_a_gaussian_group_really_costs():
    one, three = Gaussian(0.4), Gaussian(1.2)
    for epsilon in (0.5, 2.0, 5.0):
        assert Chained(one, 3).delta(epsilon) >= three.delta(epsilon)


def test_one_copy_is_one_record():
    single = poisson(1.0, 0.02, 200, False, 1e-3)
    assert copies(1.0, 0.02, 200, 1, 1e-3).epsilon(1e-5) == pytest.approx(single.epsilon(1e-5), rel=1e-6)


def test_copies_that_are_always_drawn_move_the_sum_together():
    always = copies(6.0, 1.0, 9, 4, 1e-3)
    assert always.epsilon(1e-5) == pytest.approx(Gaussian(4 * 3 / 6.0).epsilon(1e-5), rel=1e-4)


def test_copies_cost_less_than_the_walk_says():
    single = poisson(2.0, 0.05, 100, False, 1e-3)
    together = copies(2.0, 0.05, 100, 5, 1e-3).epsilon(1e-5)
    assert 5 * single.epsilon(1e-5) < together < Chained(single, 5).epsilon(1e-5)

"""Loss tables: equal to dp-accounting's own, pessimistic on coarser grids, honest about floating point."""

import math

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution as library

from discreet.accounting import pld
from discreet.accounting.gaussian import Gaussian
from discreet.engine.plan import Plan
from discreet.errors import RefusedError

RELATIONS = {True: NeighboringRelation.REPLACE_ONE, False: NeighboringRelation.ADD_OR_REMOVE_ONE}


@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.01), (0.7, 1e-4), (2.0, 0.5), (3.0, 1.0), (8.0, 0.2)])
@pytest.mark.parametrize("replace", [False, True])
def test_one_step_is_tabulated_as_dp_accounting_does(sigma, rate, replace):
    grid = 1e-3
    ours = pld.step(sigma, rate, replace, grid)
    theirs = library.from_gaussian_mechanism(
        sigma, sampling_prob=rate, neighboring_relation=RELATIONS[replace], value_discretization_interval=grid
    )
    for side in ("_pmf_remove", "_pmf_add"):
        a, b = getattr(ours, side).to_dense_pmf(), getattr(theirs, side).to_dense_pmf()
        assert (a._lower_loss, a.size) == (b._lower_loss, b.size)
        np.testing.assert_allclose(a._probs, b._probs, atol=2e-12)
        assert a._infinity_mass == pytest.approx(b._infinity_mass, abs=1e-15)


@pytest.mark.parametrize(("replace", "cap"), [(False, 12), (True, 16)])
def test_truncated_batches_are_mixed_as_dp_accounting_does(replace, cap):
    plan = Plan(
        rate=0.01,
        steps=50,
        noise=1.0,
        neighbours="replace" if replace else "add-remove",
        sampling="truncated-poisson",
        population=1000,
        max_batch=cap,
    )
    theirs = library.from_truncated_subsampled_gaussian_mechanism(
        1000, 0.01, cap, 1.0, value_discretization_interval=1e-3, neighboring_relation=RELATIONS[replace]
    ).self_compose(50)
    ours = pld.truncated_poisson(plan, replace, 1e-3)
    assert ours.epsilon(1e-5) == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=1e-6)


def test_without_sampling_the_table_agrees_with_the_closed_form():
    table = pld.poisson(5.0, 1.0, 20, True)
    exact = Gaussian(2 * math.sqrt(20) / 5.0)
    for delta in (1e-3, 1e-6, 1e-9):
        assert table.epsilon(delta) == pytest.approx(exact.epsilon(delta), rel=1e-5)
        assert table.epsilon(delta) >= exact.epsilon(delta) * (1 - 1e-9)


def test_a_coarser_grid_only_overstates():
    fine, coarse = (pld.poisson(1.0, 0.02, 500, True, grid).epsilon(1e-6) for grid in (1e-4, 3.2e-3))
    assert fine <= coarse <= 1.05 * fine


def test_the_grid_is_coarser_where_the_table_would_not_fit():
    assert pld.grid_for(1.0, 0.01, 1000, True) == pld.GRID
    wide = pld.grid_for(0.05, 0.01, 100, True)
    assert wide > pld.GRID
    assert math.log2(wide / pld.GRID) == pytest.approx(round(math.log2(wide / pld.GRID)))


def test_a_delta_below_the_floating_point_error_is_refused():
    profile = pld.poisson(2.0, 0.001, 100_000, False, 1e-3)
    with pytest.raises(RefusedError, match="take at least"):
        profile.epsilon(1e-11)
    assert profile.delta(50.0) >= profile.error


def test_epsilons_beyond_the_range_of_floats_are_still_found():
    for mu in (33.5, 38.0, 60.0):  # e^-loss underflows in the middle of the first table and in all of the last
        exact = Gaussian(mu).epsilon(1e-5)
        assert exact <= pld.gaussian(mu, 1e-2).epsilon(1e-5) <= exact * 1.002

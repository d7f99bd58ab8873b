"""Renyi divergences: a looser count that must never undercut the loss tables."""

import math

import numpy as np
import pytest

from discreet.accounting import rdp
from discreet.accounting.samplers import profile_of
from discreet.engine.plan import Plan


def test_without_sampling_the_divergences_are_those_of_gaussians():
    orders = (1.5, 2, 8, 32)
    added = rdp.poisson_divergences(0.8, 1.0, False, orders)
    replaced = rdp.poisson_divergences(0.8, 1.0, True, orders)
    np.testing.assert_allclose(added, np.array(orders) / (2 * 0.8**2), rtol=1e-9)
    np.testing.assert_allclose(replaced, 4 * added, rtol=1e-9)


def test_divergences_with_sampling_agree_with_dp_accounting():
    import dp_accounting

    orders = [2, 3, 5, 10, 20]
    accountant = dp_accounting.rdp.RdpAccountant(orders)
    accountant.compose(dp_accounting.PoissonSampledDpEvent(0.03, dp_accounting.GaussianDpEvent(0.9)))
    np.testing.assert_allclose(rdp.poisson_divergences(0.9, 0.03, False, tuple(orders)), accountant.rdp, rtol=1e-9)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("rate", "steps", "noise"), [(0.01, 500, 1.0), (0.2, 50, 3.0), (0.001, 5000, 0.8)])
def test_the_cross_check_is_never_below_the_loss_table(neighbours, rate, steps, noise):
    plan = Plan(rate=rate, steps=steps, noise=noise, neighbours=neighbours)
    check = rdp.cross_check(noise, rate, steps, neighbours == "replace", 1e-6)
    assert profile_of(plan).epsilon(1e-6) <= check <= 3 * profile_of(plan).epsilon(1e-6)


def test_a_renyi_profile_inverts_itself():
    profile = rdp.fixed_size(4.0, 0.01, 100)
    epsilon = profile.epsilon(1e-5)
    assert profile.delta(epsilon) == pytest.approx(1e-5, rel=1e-6)
    assert profile.epsilon(0.0) == math.inf

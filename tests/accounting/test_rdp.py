"""Renyi divergences: a looser count that must never undercut the loss tables."""

import math

import numpy as np
import pytest

from discreet.accounting import rdp
from discreet.accounting.dp import DifferentialPrivacy
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


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("rate", [0.001, 0.1, 0.9])
def test_divergences_in_closed_form_bound_the_integral_and_are_near_it_with_little_noise(replace, rate):
    for sigma in (0.06, 0.2, 1.0):
        exact = rdp.poisson_divergences(sigma, rate, replace, rdp.ORDERS)
        bound = rdp.bounded_divergences(sigma, rate, replace, rdp.ORDERS)
        assert (bound >= exact * (1 - 1e-9)).all()
        if sigma == 0.06 and rate < 0.9:
            assert bound[20:] == pytest.approx(exact[20:], rel=0.02)


def test_hardly_any_noise_is_accounted_without_much_memory():
    """A table of the integral for this noise would have 10^8 points."""
    plan = Plan(rate=0.01, steps=10, noise=0.001, neighbours="replace")
    found = DifferentialPrivacy(phases=(plan,), delta=1e-3, spent={plan.fingerprint(): 10}).guarantee()
    assert found.epsilon is not None
    assert found.cross_check is not None
    assert found.cross_check.epsilon is not None
    assert 1e4 < found.epsilon < found.cross_check.epsilon
    assert rdp.poisson_divergences(1e-4, 0.01, True, rdp.ORDERS)[0] > 1e6

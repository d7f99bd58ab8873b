"""Renyi divergences: a second, looser count. Used as a labelled cross-check, for fixed-size batches, and to repeat the
papers' own numbers; never as the number we report for a Poisson plan.

    >>> round(cross_check(sigma=1.0, rate=0.01, steps=1000, replace=False, delta=1e-5), 3)
    2.101

Sharp edges of dp-accounting 0.6 that this module walks around (ACCOUNTING.md, "library traps"): its RDP accountant
does not double the sensitivity for `REPLACE_ONE` and refuses Poisson sampling with it. The divergence of the
replace-one pair is integrated here instead.
"""

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import logsumexp

from discreet.accounting.profile import Profile, check_delta

ORDERS = (*(1 + x / 10 for x in range(1, 100)), *range(12, 64))
"""Orders of the pre-2020 tools whose numbers the papers print."""
LITTLE_NOISE = 0.05
"""Below it divergences are bounded in closed form: the integral would need millions of points."""
MORE_ORDERS = (*sorted({*ORDERS, *(1 + x / 100 for x in range(2, 100, 2))}), 128, 256)


@dataclass(frozen=True)
class Renyi(Profile):
    """A profile read off Renyi divergences at some orders."""

    orders: tuple[float, ...]
    divergences: tuple[float, ...]

    def delta(self, epsilon: float) -> float:
        from dp_accounting.rdp.rdp_privacy_accountant import compute_delta

        return float(compute_delta(self.orders, self.divergences, epsilon)[0])

    def epsilon(self, delta: float) -> float:
        from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

        return float(compute_epsilon(self.orders, self.divergences, check_delta(delta))[0])

    def with_(self, other: "Renyi") -> "Renyi":
        both = zip(self.divergences, other.divergences, strict=True)
        return Renyi(self.orders, tuple(a + b for a, b in both))


def cross_check(sigma: float, rate: float, steps: int, replace: bool, delta: float) -> float:
    """The epsilon of Poisson-sampled steps by Renyi divergences: an upper bound that PLD must not exceed."""
    if replace:
        divergences = steps * poisson_divergences(sigma, rate, True, MORE_ORDERS)
        return Renyi(MORE_ORDERS, tuple(divergences)).epsilon(delta)
    import dp_accounting

    accountant = dp_accounting.rdp.RdpAccountant()
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    with _without_warnings():
        return float(accountant.compose(step, steps).get_epsilon(delta))


@contextmanager
def _without_warnings() -> Iterator[None]:
    """An order that dp-accounting cannot sum is left out, which only loosens the count; it warns of each."""
    logger = logging.getLogger("absl")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def as_the_papers_count(sigma: float, rate: float, steps: float, delta: float) -> float:
    """Add/remove RDP with the conversion in use before 2020: how the S-DP paper's code arrives at its epsilon."""
    divergences = steps * poisson_divergences(sigma, rate, False, ORDERS)
    return float(np.min(divergences - math.log(delta) / (np.array(ORDERS) - 1)))


def fixed_size(sigma: float, rate: float, steps: int) -> Renyi:
    """Batches of fixed size without replacement, replace-one (Wang, Balle and Kasiviswanathan 2019, Theorem 27).

    Replacing a drawn unit moves the sum by two clip norms, and dp-accounting does not double it: sigma is halved here.
    """
    orders, divergences = _fixed_size_step(sigma / 2, rate)
    return Renyi(orders, tuple(steps * divergence for divergence in divergences))


@lru_cache(maxsize=64)
def _fixed_size_step(sigma: float, rate: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    import dp_accounting

    whole = 10**9
    step = dp_accounting.SampledWithoutReplacementDpEvent(
        whole, math.ceil(rate * whole - 1e-3), dp_accounting.GaussianDpEvent(sigma)
    )
    accountant = dp_accounting.rdp.RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    accountant.compose(step)
    return tuple(map(float, accountant.orders)), tuple(map(float, accountant.rdp))


@lru_cache(maxsize=64)
def poisson_divergences(sigma: float, rate: float, replace: bool, orders: Sequence[float]) -> Any:
    """Renyi divergences of one Poisson step, by the trapezoid rule.

    Integrated is P^order Q^(1-order) for the pair of `discreet.accounting.pld`. The rule converges geometrically for
    such functions once the spacing is well below both sigma and the distance sigma^2 pi of the nearest pole.
    """
    if sigma < LITTLE_NOISE:
        return bounded_divergences(sigma, rate, replace, orders)
    apart = 2 if replace else 1
    reach = apart * max(orders) + 12 * sigma
    spacing = min(sigma / 4, sigma**2 / 2)
    x = np.arange(-reach, reach + spacing, spacing)
    log_p = _log_mixture(-x, sigma, rate)
    log_q = _log_mixture(x, sigma, rate) if replace else -(x**2) / (2 * sigma**2)
    log_unit = math.log(spacing) - math.log(sigma) - 0.5 * math.log(2 * math.pi)
    divergences = [(logsumexp(a * log_p + (1 - a) * log_q) + log_unit) / (a - 1) for a in orders]
    return np.maximum(divergences, 0.0)


def bounded_divergences(sigma: float, rate: float, replace: bool, orders: Sequence[float]) -> Any:
    """Upper bounds of the same in closed form, close where there is little noise.

    Minkowski's inequality for the two parts of P = (1-q) N(0) + q N(-1), measured in L_order(Q):

        (order - 1) / order * D  <=  log(1 - q + q exp((order - 1) / (2 sigma^2)))            against Q = N(0)

    and at most -log(1-q) more in D for `replace`, whose Q is at least (1-q) N(0). Nor is it ever above the divergence
    of the unsampled step: parts that two mixtures have in common make them no easier to tell apart.
    """
    order = np.array(orders)
    unsampled = order * (2 if replace else 1) ** 2 / (2 * sigma**2)
    if rate == 1:
        return unsampled
    sampled = np.logaddexp(math.log1p(-rate), math.log(rate) + (order - 1) / (2 * sigma**2)) * order / (order - 1)
    return np.minimum(sampled - (math.log1p(-rate) if replace else 0.0), unsampled)


def _log_mixture(x: Any, sigma: float, rate: float) -> Any:
    """log of (1-q) exp(-x^2 / 2 s^2) + q exp(-(x-1)^2 / 2 s^2)."""
    stay = -(x**2) / (2 * sigma**2) + (math.log1p(-rate) if rate < 1 else -math.inf)
    return np.logaddexp(stay, -((x - 1) ** 2) / (2 * sigma**2) + math.log(rate))

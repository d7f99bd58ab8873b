"""Gaussian releases in closed form: no sampling, no grid, no approximation.

A release with noise sigma on a sum that two neighbours change by at most Delta is a test between N(0, 1) and N(mu, 1)
with mu = Delta / sigma; several releases, also adaptive ones, add up as mu^2 = sum mu_k^2. Everything follows from

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)

(Balle and Wang 2018; ACCOUNTING.md, section 1). This is exact for formula A of selective training and for shuffled
epochs without amplification. Terms are kept as logarithms: at mu = 60 both are far outside of what a float holds.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln, log_ndtr, xlog1py, xlogy

from discreet.accounting.profile import Profile, check_delta
from discreet.errors import SettingError


def delta_of(mu: Any, epsilon: float) -> Any:
    """delta(epsilon) of a Gaussian release of mean distance mu (a number or an array of them)."""
    mu = np.asarray(mu, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = log_ndtr(mu / 2 - epsilon / mu)
        second = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        delta = np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))
    return np.where(mu > 0, delta, 0.0)[()]


def epsilon_of(mu: float, delta: float) -> float:
    """The epsilon of a Gaussian release at delta."""
    return Gaussian(mu).epsilon(delta)


def mu_for(epsilon: float, delta: float) -> float:
    """The largest mean distance that stays within (epsilon, delta)."""
    if epsilon < 0 or not 0 < delta < 1:
        raise SettingError(
            f"No Gaussian release reaches epsilon {epsilon:g} at delta {delta:g}; delta must be in (0, 1)."
        )
    low, high = 0.0, 1.0
    while delta_of(high, epsilon) <= delta:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon) <= delta else (low, middle)
    return low


@dataclass(frozen=True)
class Gaussian(Profile):
    """The profile of Gaussian releases of total mean distance mu."""

    mu: float

    def delta(self, epsilon: float) -> float:
        return float(delta_of(self.mu, epsilon))

    def epsilon(self, delta: float) -> float:
        if check_delta(delta) == 0 and self.mu > 0:
            return math.inf  # Gaussian noise never gives pure differential privacy
        return super().epsilon(delta)


@dataclass(frozen=True)
class Participations(Profile):
    """Gaussian releases whose number is drawn, and known to the attacker: delta averages over the number.

    What formula A charges for Poisson batches whose members the public updates give away: a record takes part k times
    with binomial probability, and k takings-part are a Gaussian release of mean distance mu * sqrt(k).
    """

    mu: float
    """Mean distance of one participation."""
    rate: float
    steps: int

    @cached_property
    def _numbers(self) -> tuple[Any, Any, float]:
        mean, width = self.rate * self.steps, 12 * math.sqrt(self.rate * self.steps) + 80
        low, high = max(0, math.floor(mean - width)), min(self.steps, math.ceil(mean + width))
        number = np.arange(low, high + 1)
        log_mass = (
            gammaln(self.steps + 1)
            - gammaln(number + 1)
            - gammaln(self.steps - number + 1)
            + xlogy(number, self.rate)
            + xlog1py(self.steps - number, -self.rate)
        )
        mass = np.exp(log_mass)
        # gammaln loses digits at a million steps; scaling the masses to one undoes the common part of the error.
        return self.mu * np.sqrt(number), mass / mass.sum(), 1e-15

    def delta(self, epsilon: float) -> float:
        mus, mass, outside = self._numbers
        return min(1.0, float(mass @ delta_of(mus, epsilon)) + outside)

    def epsilon(self, delta: float) -> float:
        if check_delta(delta) <= 1e-14:
            return math.inf
        return super().epsilon(delta)

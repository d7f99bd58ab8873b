"""Privacy loss distributions of noisy, sampled steps: dp-accounting's numbers, with the slow loop taken out.

    >>> round(poisson(sigma=1.0, rate=0.01, steps=1000, replace=True).epsilon(1e-5), 3)
    2.843

One step is dominated by a pair of distributions on the line (docs/accounting.md, "one Poisson step"):

    add/remove   (1-q) N(0, s^2) + q N(-1, s^2)   against   N(0, s^2), and the same swapped
    replace      (1-q) N(0, s^2) + q N(-1, s^2)   against   (1-q) N(0, s^2) + q N(+1, s^2)

`step` tabulates the losses of such a pair on a grid with connect-the-dots rounding, which never understates delta;
dp-accounting convolves them. Its own constructor inverts the loss one grid point at a time; here that is one numpy
expression, so that a million steps take a second. tests/accounting/test_pld.py holds the two equal.

Sharp edges. Sigma is never halved for `replace`: the pair already is two apart. The grid stays at dp-accounting's
1e-4 also for a million steps, where a finer one is *less* accurate (float noise); it is only made coarser, which is
pessimistic, where the table would not fit. The transform leaves errors of about 1e-16 per step in delta: they are
added, and a delta they would drown is refused.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import bdtrc, log_ndtr, ndtr

from discreet.accounting.profile import Profile, check_delta
from discreet.engine.plan import Plan
from discreet.errors import RefusedError, SettingError

GRID = 1e-4
MOST_POINTS = 3_000_000
FLOAT_ERROR = 2.0**-50
"""Error that one composed step may leave in delta (measured: about 2^-52)."""


@dataclass(frozen=True)
class Losses(Profile):
    """A tabulated privacy loss distribution and the number of steps whose rounding errors it carries."""

    table: Any
    steps: int
    grid: float = GRID

    @property
    def error(self) -> float:
        return self.steps * FLOAT_ERROR

    def delta(self, epsilon: float) -> float:
        return min(1.0, float(self.table.get_delta_for_epsilon(epsilon)) + self.error)

    def epsilon(self, delta: float) -> float:
        if check_delta(delta) < 2 * self.error:
            raise RefusedError(
                f"Delta {delta:g} is below what {self.steps:,} steps can be accounted to in floating point; "
                f"take at least {2 * self.error:.1g}."
            )
        with np.errstate(over="ignore"):
            epsilon = float(self.table.get_epsilon_for_delta(delta - self.error))
        if math.isinf(epsilon):  # above 700 the library's e^-loss underflows; the other direction does not
            return super().epsilon(delta)
        return max(0.0, epsilon)

    def with_(self, other: "Losses") -> "Losses":
        """Both phases, one after the other; the second may depend on what the first released."""
        return Losses(self.table.compose(other.table), self.steps + other.steps, self.grid)


@lru_cache(maxsize=3)
def poisson(sigma: float, rate: float, steps: int, replace: bool, grid: float = GRID) -> Losses:
    """Poisson-sampled steps: each unit is in each batch by its own coin of probability `rate`."""
    return Losses(step(sigma, rate, replace, grid).self_compose(steps), steps, grid)


def truncated_poisson(plan: Plan, replace: bool, grid: float = GRID) -> Losses:
    """Poisson steps whose batches are cut to `plan.max_batch` units chosen at random (the bound of dp-accounting 0.6).

    Given that a unit was drawn, its batch is cut with probability `cut`. A cut batch of one corpus and that of its
    neighbour may differ in two units, one gone and one come in its place: noise counts half there.
    """
    if plan.population is None or plan.max_batch is None:
        raise SettingError("Truncated Poisson sampling needs max_batch and population.")
    whole = step(plan.noise, plan.rate, replace, grid)
    cut = float(bdtrc(plan.max_batch - 1, plan.population - 1, plan.rate)) if plan.population > 1 else 0.0
    if cut > 0:
        kept = float(bdtrc(plan.max_batch, plan.population, plan.rate)) * plan.max_batch / plan.population / cut
        if kept > 0:
            whole = step(plan.noise / 2, kept, True, grid).compute_mixture(whole, cut)
    return Losses(whole.self_compose(plan.steps), plan.steps, grid)


def gaussian(mu: float, grid: float = GRID) -> Losses:
    """An unsampled Gaussian release as a table, to be composed with sampled phases."""
    return Losses(step(1 / mu, 1.0, False, grid), 1, grid)


@lru_cache(maxsize=4)
def step(sigma: float, rate: float, replace: bool, grid: float = GRID) -> Any:
    """The loss table of one Poisson step, as dp-accounting's PrivacyLossDistribution."""
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    if replace:
        return PrivacyLossDistribution(_table(sigma, rate, "REPLACE", grid))
    if rate == 1:
        return PrivacyLossDistribution(_table(sigma, rate, "REMOVE", grid))
    return PrivacyLossDistribution(_table(sigma, rate, "REMOVE", grid), _table(sigma, rate, "ADD", grid))


def grid_for(sigma: float, rate: float, steps: int, replace: bool, finest: float = GRID) -> float:
    """The finest grid, `finest` times a power of two, on which the table of all steps has no more than MOST_POINTS."""
    from dp_accounting.pld import common

    bounds = _loss(sigma, rate, "REPLACE" if replace else "REMOVE").connect_dots_bounds()
    width = bounds.epsilon_upper - bounds.epsilon_lower
    if width * steps > MOST_POINTS * finest and steps > 1:
        sketch = max(finest, width / 2000)  # the spread of the composed losses, from a small table of one step
        _, masses, _ = _masses(sigma, rate, "REPLACE" if replace else "REMOVE", sketch)
        low, high = common.compute_self_convolve_bounds(masses, steps, 1e-15)
        width = max(width, (high - low) * sketch)
    else:
        width *= steps
    return float(finest * 2 ** max(0, math.ceil(math.log2(width / (MOST_POINTS * finest)))))


def _loss(sigma: float, rate: float, adjacency: str) -> Any:
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss

    return GaussianPrivacyLoss(sigma, sampling_prob=rate, adjacency_type=AdjacencyType[adjacency])


def _table(sigma: float, rate: float, adjacency: str, grid: float) -> Any:
    return tabulated(*_masses(sigma, rate, adjacency, grid), grid)


def _masses(sigma: float, rate: float, adjacency: str, grid: float) -> tuple[int, Any, float]:
    bounds = _loss(sigma, rate, adjacency).connect_dots_bounds()
    low, high = math.floor(bounds.epsilon_lower / grid), math.ceil(bounds.epsilon_upper / grid)
    return low, *dots(_deltas(np.arange(low, high + 1) * grid, sigma, rate, adjacency), grid)


def dots(deltas: Any, grid: float) -> tuple[Any, float]:
    """Connect the dots (Doroshenko et al. 2022): masses on the grid, and at infinity, whose profile joins the deltas.

    A profile is convex in e^epsilon, so the chords between exact deltas lie above it: delta is never understated.
    """
    deltas = np.minimum.accumulate(deltas)
    falls = -np.diff(deltas)
    masses = (np.append(0.0, falls) * math.exp(grid) - np.append(falls, 0.0)) / math.expm1(grid)
    masses[0] += 1 - deltas[0]
    return np.maximum(masses, 0.0), float(deltas[-1])


def tabulated(low: int, masses: Any, infinite: float, grid: float) -> Any:
    """Masses at the losses grid * low, grid * (low + 1), ... as dp-accounting keeps them."""
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    return DensePLDPmf(grid, low, masses, infinite, True)


def _deltas(epsilons: Any, sigma: float, rate: float, adjacency: str) -> Any:
    """Hockey-stick divergence of the dominating pair at many epsilons.

    The loss falls from left to right, so the divergence is P(x < t) - e^epsilon Q(x < t) with t the point where the
    loss equals epsilon; `_threshold` finds it.
    """
    deltas = np.zeros_like(epsilons)
    edge = math.log1p(-rate) if rate < 1 else -math.inf
    if adjacency == "REMOVE":  # below the edge the loss is never reached: all mass counts
        inside = epsilons > edge
        deltas[~inside] = -np.expm1(epsilons[~inside])
    else:
        inside = epsilons < -edge if adjacency == "ADD" else np.ones(len(epsilons), dtype=bool)
    epsilons = epsilons[inside]
    at = _threshold(epsilons, sigma, rate, adjacency)
    upper = ndtr(at / sigma) if adjacency == "ADD" else (1 - rate) * ndtr(at / sigma) + rate * ndtr((at + 1) / sigma)
    lower = log_ndtr(at / sigma)
    if adjacency != "REMOVE":
        stay = lower + (math.log1p(-rate) if rate < 1 else -math.inf)
        lower = np.logaddexp(stay, log_ndtr((at - 1) / sigma) + math.log(rate))
    deltas[inside] = upper - np.exp(epsilons + lower)
    return np.clip(deltas, 0, 1)


def _threshold(epsilons: Any, sigma: float, rate: float, adjacency: str) -> Any:
    if adjacency == "REMOVE":
        return -0.5 - sigma**2 * _unsampled(epsilons, rate)
    if adjacency == "ADD":
        return 0.5 + sigma**2 * _unsampled(-epsilons, rate)
    if rate == 1:
        return -epsilons * sigma**2 / 2
    # e^epsilon = (1 + a e^(-x/s^2)) / (1 + a e^(x/s^2)) is quadratic in e^(x/s^2); its root, kept in logarithms.
    half = np.abs(epsilons) / 2
    with np.errstate(divide="ignore"):
        log_sinh = half + np.log(-np.expm1(-2 * half)) - math.log(2)
    log_term = log_sinh + 0.5 / sigma**2 + math.log1p(-rate) - math.log(rate)
    arsinh = np.logaddexp(0.5 * np.logaddexp(0, 2 * log_term), log_term)
    return -(sigma**2) * np.sign(epsilons) * (arsinh + half)


def _unsampled(epsilons: Any, rate: float) -> Any:
    """The loss a step would have without sampling, where with sampling it is epsilon: log((e^epsilon - 1 + q) / q)."""
    if rate == 1:
        return epsilons
    with np.errstate(divide="ignore"):
        return epsilons + np.log(rate - (1 - rate) * np.expm1(-epsilons)) - math.log(rate)

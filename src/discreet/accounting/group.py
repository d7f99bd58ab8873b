"""Groups: what k copies of a secret, or k records of one author, cost together.

Three answers, from general to exact:

- `group_delta`: any (epsilon, delta) mechanism is (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1)) for groups
  of k.
- `Chained`: the same walk from neighbour to neighbour along a whole profile, so that epsilon can be had at a *fixed*
  delta.
- `copies`: add/remove of k units under Poisson sampling by their own loss distribution; for copies of one record
  exact.

    >>> epsilon, delta = group(1.0, 1e-5, 3)
    >>> (epsilon, round(delta, 8))
    (3.0, 0.00011107)

Sharp edge: at fixed delta a group costs more than k epsilon (ten copies take 1.83 to 27.9 at q = .01, sigma = 1, T =
1000).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, log_ndtr, xlog1py, xlogy

from discreet.accounting.pld import GRID, Losses, dots, tabulated
from discreet.accounting.profile import Profile
from discreet.errors import SettingError

MOST_POINTS = 400_000
"""Points of one step's table; the losses of a group spread widely, so the grid is made coarser (pessimistically)."""


def group(epsilon: float, delta: float, number: int) -> tuple[float, float]:
    """(epsilon, delta) of a group of `number`, by walking from neighbour to neighbour."""
    return number * epsilon, group_delta(epsilon, delta, number)


def group_delta(epsilon: float, delta: float, number: int) -> float:
    """delta * (1 + e^epsilon + ... + e^((number-1) epsilon)), at most 1."""
    if number < 1:
        raise SettingError(f"A group has at least one member, not {number}.")
    if delta == 0:
        return 0.0
    if epsilon == 0:
        return min(1.0, number * delta)
    if number * epsilon > 700:
        return 1.0
    return min(1.0, delta * math.expm1(number * epsilon) / math.expm1(epsilon))


@dataclass(frozen=True)
class Chained(Profile):
    """The profile of a group of `number` neighbours, from the profile of one."""

    one: Profile
    number: int

    def delta(self, epsilon: float) -> float:
        return group_delta(epsilon / self.number, self.one.delta(epsilon / self.number), self.number)


def copies(sigma: float, rate: float, steps: int, number: int, grid: float = GRID) -> Losses:
    """Add/remove of `number` units at once under Poisson sampling: the sum moves by a binomial number of clip norms."""
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    drawn = np.arange(number + 1.0)
    log_chance = (
        gammaln(number + 1)
        - gammaln(drawn + 1)
        - gammaln(number - drawn + 1)
        + xlogy(drawn, rate)
        + xlog1py(number - drawn, -rate)
    )
    moves = Moves(sigma, drawn[log_chance > -700], log_chance[log_chance > -700])
    removed, added = moves.ends(1), moves.ends(-1)
    widest = max(removed[1] - removed[0], added[1] - added[0])
    grid = grid * 2 ** max(0, math.ceil(math.log2(widest / (MOST_POINTS * grid))))
    table = PrivacyLossDistribution(moves.table(1, *removed, grid), moves.table(-1, *added, grid))
    return Losses(table.self_compose(steps), steps, grid)


@dataclass(frozen=True)
class Moves:
    """A group's part in one step: the sum moves by `moves[i]` clip norms with log-probability `log_chance[i]`.

    The pair of distributions is the mixture of N(-move, sigma^2) and N(0, sigma^2), as it is when the group is removed
    (sign 1), mirrored when it is added (sign -1). The loss falls from left to right in both.
    """

    sigma: float
    moves: Any
    log_chance: Any

    def reach(self, sign: int) -> tuple[float, float]:
        """Where the mass is: beyond 10 standard deviations lies less than 1e-22 of any part."""
        return -10 * self.sigma - float(self.moves[-1]) * (sign > 0), 10 * self.sigma

    def ends(self, sign: int) -> tuple[float, float]:
        """The smallest and the largest loss."""
        high, low = self.loss(np.array(self.reach(sign)), sign)[0]
        return float(low), float(high)

    def loss(self, x: Any, sign: int) -> tuple[Any, Any]:
        """The privacy loss at x and its slope."""
        total = np.full_like(x, -np.inf)
        for move, log_p in zip(self.moves, self.log_chance, strict=True):
            total = np.logaddexp(total, log_p - move * (2 * sign * x + move) / (2 * self.sigma**2))
        slope = np.zeros_like(x)
        for move, log_p in zip(self.moves, self.log_chance, strict=True):
            slope -= move * np.exp(log_p - move * (2 * sign * x + move) / (2 * self.sigma**2) - total)
        return sign * total, slope / self.sigma**2

    def threshold(self, epsilons: Any, sign: int) -> Any:
        """Where the loss equals epsilon: read off a coarse table, then corrected once along the slope.

        Delta is a maximum over thresholds, so what error remains enters it squared.
        """
        x = np.linspace(*self.reach(sign), 20_001)
        guess = np.interp(epsilons, self.loss(x, sign)[0][::-1], x[::-1])
        loss, slope = self.loss(guess, sign)
        return np.clip(guess + (epsilons - loss) / np.minimum(slope, -1e-12), *self.reach(sign))

    def table(self, sign: int, low: float, high: float, grid: float) -> Any:
        first, last = math.floor(low / grid), math.ceil(high / grid)
        epsilons = np.arange(first, last + 1) * grid
        at = self.threshold(epsilons, sign)
        mass, log_mass = np.zeros_like(at), np.full_like(at, -np.inf)
        for move, log_p in zip(self.moves, self.log_chance, strict=True):
            log_part = log_p + log_ndtr((at + sign * move) / self.sigma)
            mass, log_mass = mass + np.exp(log_part), np.logaddexp(log_mass, log_part)
        log_still = log_ndtr(at / self.sigma)
        deltas = mass - np.exp(epsilons + log_still) if sign > 0 else np.exp(log_still) - np.exp(epsilons + log_mass)
        return tabulated(first, *dots(np.clip(deltas, 0, 1), grid), grid)

"""Privacy profiles: the smallest delta for every epsilon, the one curve that all notions are read from.

    >>> from discreet.accounting.gaussian import Gaussian
    >>> round(Gaussian(1.0).epsilon(1e-5), 4)
    4.3772

A profile answers `delta(epsilon)` and its inverse `epsilon(delta)`; `math.inf` means that no epsilon will do. Both are
upper bounds: where a number must be rounded, it is rounded to the unfavourable side.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.errors import SettingError

MOST_EPSILON = 1e6
"""Beyond this no epsilon says anything; profiles answer infinity."""


class Profile(ABC):
    """How indistinguishable two neighbouring corpora are, as a curve."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """The smallest delta proved at this epsilon."""

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon proved at this delta; infinity where there is none."""
        return smallest_epsilon(self.delta, check_delta(delta))


@dataclass(frozen=True)
class Unseen(Profile):
    """The phase never saw the secret: nothing to distinguish."""

    def delta(self, epsilon: float) -> float:
        return 0.0


@dataclass(frozen=True)
class Open(Profile):
    """The phase used the secret without noise: nothing is promised."""

    def delta(self, epsilon: float) -> float:
        return 1.0


@dataclass(frozen=True)
class Mixed(Profile):
    """One of several profiles applies, by a coin that does not depend on the secret: delta is the average.

    Sound because the hockey-stick divergence is jointly convex (docs/accounting.md, "average over misses").
    """

    parts: Sequence[tuple[float, Profile]]

    def delta(self, epsilon: float) -> float:
        return min(1.0, math.fsum(weight * part.delta(epsilon) for weight, part in self.parts))


def smallest_epsilon(delta_at: Callable[[float], float], delta: float, relative: float = 1e-10) -> float:
    """Inverts a decreasing delta(epsilon) by bisection, from above, so that the answer is never too small."""
    if delta_at(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while delta_at(high) > delta:
        low, high = high, 2 * high
        if high > MOST_EPSILON:
            return math.inf
    while high - low > relative * high:
        middle = (low + high) / 2
        if delta_at(middle) > delta:
            low = middle
        else:
            high = middle
    return high


def check_delta(delta: float) -> float:
    if not 0 <= delta < 1:
        raise SettingError(f"Delta is a probability, at least 0 and below 1, not {delta:g}.")
    return delta

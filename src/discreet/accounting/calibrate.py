"""Calibration: the noise, the number of steps or the sampling rate at which epsilon comes out as asked.

    noise = calibrate(lambda x, finest: notion_with(noise=x).headline(finest), epsilon=3.0, start=1.0, falling=True)

The answer never exceeds the target and is within one in ten thousand of it. Most of the search is on a coarser grid
of the accountant, which is quick and almost parallel to the fine one; the last steps, and the answer, are on the fine
grid. Where epsilon is a closed form (`exact`) there is no grid, and the answer is good to seven digits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.accounting.pld import GRID
from discreet.errors import SettingError

TOLERANCE = 1e-4
EXACT = 1e-7
COARSE = 16 * GRID
EpsilonAt = Callable[[float, float], float]
"""Epsilon as a function of the open setting and the accountant's finest grid."""


def calibrate(
    epsilon_at: EpsilonAt,
    epsilon: float,
    *,
    what: str,
    falling: bool,
    start: float = 1.0,
    most: float = 1e7,
    least: float = 1e-3,
    whole: bool = False,
    exact: bool = False,
) -> float:
    """The setting whose epsilon is the target, or just below it; the largest whole one where it counts things.

    `falling` says whether epsilon falls as the setting grows (noise) or rises (steps, rate).
    """
    if not 0 < epsilon < math.inf:
        raise SettingError(f"The target epsilon must be a positive number, not {epsilon:g}.")
    search = Search(epsilon_at, epsilon, what, falling, most, least, whole)
    if exact:
        return search.solve(GRID, start, epsilon, EXACT)
    guess = search.solve(COARSE, start, epsilon, 0.03)
    for turn in range(6):
        if search.accepts(guess):
            return guess
        ratio = search.at(guess, GRID) / max(search.at(guess, COARSE), 1e-12)
        if turn < 2 and abs(ratio - 1) < (0.3, 0.05)[turn]:  # the grids are nearly parallel: the coarse one leads
            closer = search.solve(COARSE, guess, epsilon / ratio * (1 - TOLERANCE / 4), TOLERANCE / 4)
        else:
            closer = search.step(guess)
        if closer == guess:
            break
        guess = closer
    return search.solve(GRID, guess, epsilon, TOLERANCE)


@dataclass
class Search:
    """One search, remembering what it has computed."""

    epsilon_at: EpsilonAt
    target: float
    what: str
    falling: bool
    most: float
    least: float
    whole: bool
    known: dict[tuple[float, float], float] = field(default_factory=dict)

    def at(self, x: float, finest: float) -> float:
        if (x, finest) not in self.known:
            self.known[x, finest] = self.epsilon_at(x, finest)
        return self.known[x, finest]

    def accepts(self, x: float) -> bool:
        """Whether x meets the target on the fine grid, and nothing noticeably better does."""
        reached = self.at(x, GRID)
        if reached > self.target:
            return False
        if reached >= self.target * (1 - TOLERANCE) or (not self.falling and x >= self.most):
            return True
        return self.whole and self.at(x + 1, GRID) > self.target

    def step(self, x: float) -> float:
        """One secant step on the fine grid, in logarithms; the first takes its slope from the coarse grid."""
        fine = sorted((x for x, grid in self.known if grid == GRID), key=lambda y: abs(math.log(y / x)))
        other, grid = (fine[1], GRID) if len(fine) > 1 else (self._clip(x * 1.05), COARSE)
        here, there = self.at(x, grid), self.at(other, grid)
        reached = self.at(x, GRID)
        if min(here, there, reached) <= 0 or not math.isfinite(here + there + reached) or here == there or other == x:
            return x
        slope = math.log(here / there) / math.log(x / other)
        aim = self.target * (1 - TOLERANCE / 2)
        moved = math.log(aim / reached) / slope if (slope < 0) == self.falling else 0.0
        return self._clip(x * math.exp(min(1.0, max(-1.0, moved))))

    def solve(self, finest: float, start: float, target: float, tolerance: float) -> float:
        """The safe end of a bracket whose epsilon lies within tolerance below the target."""
        safe, unsafe = self._bracket(finest, start, target)
        if unsafe is None:
            return safe
        for turn in range(200):
            if self.at(safe, finest) >= target * (1 - tolerance) or (self.whole and abs(unsafe - safe) <= 1):
                break
            if abs(unsafe - safe) <= 1e-12 * safe:
                break
            middle = self._between(safe, unsafe, finest, target * (1 - tolerance / 2), bisect=turn % 3 == 2)
            if self.at(middle, finest) <= target:
                safe = middle
            else:
                unsafe = middle
        return safe

    def _between(self, safe: float, unsafe: float, finest: float, aim: float, bisect: bool) -> float:
        """A point of the bracket: where the chord of log epsilon over log x meets the aim, or the middle."""
        low, high = self.at(safe, finest), self.at(unsafe, finest)
        share = 0.5
        if not bisect and low > 0 and math.isfinite(high) and high > low:
            share = min(0.98, max(0.02, math.log(aim / low) / math.log(high / low)))
        x = math.exp(math.log(safe) + share * (math.log(unsafe) - math.log(safe)))
        if not self.whole:
            return x
        inner = sorted((safe, unsafe))
        return min(max(round(x), inner[0] + 1), inner[1] - 1)

    def _bracket(self, finest: float, start: float, target: float) -> tuple[float, float | None]:
        """A setting that meets the target and a neighbouring one that does not; None where none fails."""
        grow = 2.0 if self.falling else 0.5  # towards the safe side
        safe = self._clip(start)
        unsafe: float | None = None
        while self.at(safe, finest) > target:
            unsafe, nearer = safe, self._clip(safe * grow)
            if nearer == safe:
                raise SettingError(f"No {self.what} reaches epsilon {self.target:g} in this setting.")
            safe = nearer
        while unsafe is None:
            farther = self._clip(safe / grow)
            if farther == safe:
                return safe, None
            if self.at(farther, finest) > target:
                unsafe = farther
            else:
                safe = farther
        return safe, unsafe

    def _clip(self, x: float) -> float:
        x = min(max(x, self.least), self.most)
        return math.floor(x) if self.whole else x

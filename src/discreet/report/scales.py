"""Axes: where a value stands between two edges, and which round numbers are written beside the line.

    scale = scale_of([3.1, 8.4, 41.0], 0, 300, log=True)
    scale(8.4), scale.ticks

A linear axis has ticks at 1, 2 or 5 times a power of ten, a logarithmic one at powers of ten or, where there are few,
at 1, 2 and 5 times them. All values stand inside the edges.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """From values to places on an axis."""

    low: float
    high: float
    begin: float
    """Where `low` stands, in units of the drawing; an axis that points up begins below and ends above."""
    end: float
    ticks: tuple[float, ...]
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self._own(self.low), self._own(self.high)
        return self.begin + (self._own(value) - low) / (high - low) * (self.end - self.begin)

    def _own(self, value: float) -> float:
        return math.log(value) if self.log else value


def scale_of(
    values: Iterable[float], begin: float, end: float, *, log: bool = False, zero: bool = False, ticks: int = 5
) -> Scale:
    """A scale that holds all values between its first and last tick; `zero` has it begin at 0."""
    found = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    low, high = min(found, default=1.0), max(found, default=1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if log:
        marks = log_ticks(low, high, ticks)
        return Scale(min(low, marks[0]), max(high, marks[-1]), begin, end, marks, True)
    if low == high:
        low, high = (low, low + 1) if low == 0 or zero else (low - abs(low) / 2, high + abs(high) / 2)
    marks = linear_ticks(low, high, ticks)
    return Scale(min(low, marks[0]), max(high, marks[-1]), begin, end, marks)


def linear_ticks(low: float, high: float, wanted: int = 5) -> tuple[float, ...]:
    """Round numbers at even distances, from at most `low` to at least `high`."""
    rough = (high - low) / max(1, wanted)
    exponent = math.floor(math.log10(rough))
    step = next((step for step in STEPS if step * 10.0**exponent >= rough * (1 - 1e-9)), 10.0) * 10.0**exponent
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return tuple(round(number * step, -exponent) for number in range(first, last + 1))


def log_ticks(low: float, high: float, wanted: int = 5) -> tuple[float, ...]:
    """Powers of ten around the values; with 2 and 5 times them where that makes no more than about `wanted`."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    fine = [_clean(step * 10.0**power) for power in range(first, max(last, first + 1) + 1) for step in (1, 2, 5)]
    below = max((at for at, tick in enumerate(fine) if tick <= low * (1 + 1e-9)), default=0)
    above = min((at for at, tick in enumerate(fine) if tick >= high * (1 - 1e-9)), default=len(fine) - 1)
    inside = fine[below : max(above, below + 1) + 1]
    if len(inside) <= 2 * wanted:
        return tuple(inside)
    every = max(1, math.ceil((last - first) / (2 * wanted)))
    powers = range(first, last + every, every)
    return tuple(10.0**power for power in powers)


def shown(value: float) -> str:
    """A tick as it is written."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-4:
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{value:,.10g}" if abs(value) < 1000 else f"{value:,.0f}"


def _clean(value: float) -> float:
    """Without the dust of binary fractions: 0.30000000000000004 is 0.3."""
    return float(f"{value:.10g}")

"""Shares and their 95 % intervals: exact ones for independent trials, and ones that draw whole records.

    >>> low, high = clopper_pearson(18, 20)
    >>> round(low, 3), round(high, 3)
    (0.683, 0.988)

What stands in one record is found or missed together more often than not, and neighbouring characters nearly always.
`bootstrap` and `Replicates` therefore resample records, not secrets and not characters.
"""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

REPLICATES = 1000

Interval = tuple[float, float]


def ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def f1(precision: float | None, recall: float | None) -> float | None:
    if precision is None and recall is None:
        return None
    precision, recall = precision or 0.0, recall or 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def clopper_pearson(hits: int, trials: int, level: float = 0.95) -> Interval | None:
    """The exact binomial interval: covers the true share with at least this probability, whatever it is."""
    from scipy.special import betaincinv

    if not trials:
        return None
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1, tail))
    high = 1.0 if hits == trials else float(betaincinv(hits + 1, trials - hits, 1 - tail))
    return low, high


def bootstrap(per_record: Counter[tuple[int, int]], seed: int, level: float = 0.95) -> Interval | None:
    """Percentiles of recall over resamples of whole records.

    Drawing n records with replacement and counting them is a multinomial draw over the distinct (found, marked)
    pairs, so the cost depends on how many of those there are and not on the number of records.
    """
    pairs = sorted(per_record)
    if not any(total for _, total in pairs):
        return None
    counts = np.array([per_record[pair] for pair in pairs])
    found, total = np.array(pairs).T
    random = np.random.default_rng(seed)
    recalls: list[float] = []
    for _ in range(REPLICATES):
        drawn = random.multinomial(counts.sum(), counts / counts.sum())
        if marks := int(drawn @ total):
            recalls.append(float(drawn @ found) / marks)
    low, high = np.quantile(recalls, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


class Replicates:
    """Totals of any number of counts in resamples of whole records, for a stream of them.

    Each record counts a Poisson number of times in each replicate, which is the bootstrap of a stream.
    """

    BATCH = 256

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng((seed, 1))
        self._columns: dict[Hashable, int] = {}
        self._totals = np.zeros((REPLICATES, 0))
        self._records: Counter[Hashable] = Counter()
        self._waiting: list[Mapping[Any, int]] = []

    def add(self, counts: Mapping[Any, int]) -> None:
        """One record, by what is counted in it; a count that is not there is zero."""
        self._waiting.append(counts)
        if len(self._waiting) == self.BATCH:
            self._draw()

    def _draw(self) -> None:
        if not self._waiting:
            return
        times = self._random.poisson(1.0, (REPLICATES, len(self._waiting)))
        for counts in self._waiting:
            for name, count in counts.items():
                self._columns.setdefault(name, len(self._columns))
                self._records[name] += count > 0
        drawn = np.zeros((len(self._waiting), len(self._columns)))
        for row, counts in zip(drawn, self._waiting, strict=True):
            for name, count in counts.items():
                row[self._columns[name]] = count
        new = len(self._columns) - self._totals.shape[1]
        self._totals = np.pad(self._totals, ((0, 0), (0, new))) + times @ drawn
        self._waiting.clear()

    def interval(self, part: Hashable, whole: Hashable, level: float = 0.95) -> Interval | None:
        """Percentiles of the share of one count in another; None where fewer than two records have any of it."""
        self._draw()
        if self._records[whole] < 2:
            return None
        parts, wholes = self._totals[:, self._columns[part]], self._totals[:, self._columns[whole]]
        there = wholes > 0
        low, high = np.quantile(parts[there] / wholes[there], [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)

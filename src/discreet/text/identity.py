"""Whether an id was seen before, for any number of records in little memory.

    seen = SeenIds()
    seen.first_time("mail-1")    # True
    seen.first_time("mail-1")    # False

Kept of each id are the 64 bits of Python's string hash (SipHash under a key drawn when the process starts): the latest
in a set, older ones in sorted arrays of 8 bytes an id behind a Bloom filter of 1.5 to 3 bytes an id, which answers for
nearly every new id by itself. Two ids may share their 64 bits: among n different ids the odds that any one is taken for
another are below n²/2⁶⁵, 3 in a million for ten million ids. A repeated id is never missed.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

assert sys.hash_info.width == 64, "the odds above are for 64-bit Python"

RECENT = 1 << 17
"""So many ids are kept as Python numbers before they move to an array."""
FALSE_POSITIVES = 0.003


class SeenIds:
    """Remembers ids; grows by about 10 bytes an id."""

    def __init__(self, recent: int = RECENT) -> None:
        self._most_recent = recent
        self._recent: set[int] = set()
        self._runs: list[NDArray[np.int64]] = []
        """Sorted, each more than twice as long as the next, so there are few."""
        self._filter: Any = frozenset()
        self._room = 0

    def first_time(self, id: str) -> bool:
        """Whether this id was never given before."""
        key = hash(id)
        if key in self._recent or (key in self._filter and self._in_runs(key)):
            return False
        self._recent.add(key)
        if len(self._recent) >= self._most_recent:
            self._put_away()
        return True

    def _in_runs(self, key: int) -> bool:
        return any(bool(run[min(int(run.searchsorted(key)), len(run) - 1)] == key) for run in self._runs)

    def _put_away(self) -> None:
        """Moves the recent ids into a run."""
        import numpy as np

        run = np.fromiter(self._recent, np.int64, len(self._recent))
        run.sort()
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = np.concatenate([self._runs.pop(), run])
            run.sort(kind="stable")  # two sorted halves: a merge
        self._runs.append(run)
        self._fill_filter()
        self._recent = set()

    def _fill_filter(self) -> None:
        from rbloom import Bloom

        stored = sum(map(len, self._runs))
        if stored <= self._room:
            self._filter.update(self._recent)
            return
        self._room = 2 * stored
        self._filter = Bloom(self._room, FALSE_POSITIVES)
        for run in self._runs:
            for start in range(0, len(run), self._most_recent):
                self._filter.update(run[start : start + self._most_recent].tolist())

"""Whether a text was seen before, for many texts at once and in little memory.

    seen = SeenTexts()
    seen.later(["a b", "c", "a b"])     # array([False, False,  True])
    seen.later(["c", "d"])              # array([ True, False])

`SeenTexts` keeps the first 128 bits of each text's SHA-256, 16 bytes a distinct text: among n different texts the
odds that any is taken for another are below n²/2¹²⁹. `BloomTexts` keeps a Bloom filter whose size is settled
beforehand: a text seen before is always known again, and a new one is taken for an old one with the stated
probability (as long as there are no more texts than it was made for).
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SettingError

Words = NDArray[np.uint64]
BUCKETS = 32
"""By the top bits of the hash, so that what is merged at one time is a small part of it all."""


class Seen(Protocol):
    """Remembers texts."""

    def later(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """For each text, whether it came before: earlier in this list or in one given earlier."""


def digests(texts: Sequence[str]) -> NDArray[np.uint64]:
    """The first 128 bits of the SHA-256 of every text, as two columns of words."""
    sha = hashlib.sha256
    joined = b"".join([sha(text.encode("utf-8", "surrogatepass")).digest()[:16] for text in texts])
    return np.frombuffer(joined, ">u8").astype(np.uint64).reshape(-1, 2)


def first_of(high: Words, low: Words) -> NDArray[np.bool_]:
    """For each pair of words, whether it is the first of its kind in the list."""
    order = np.lexsort((low, high))  # stable: equal pairs stay in the order they came in
    sorted_high, sorted_low = high[order], low[order]
    first = np.ones(len(high), np.bool_)
    first[order[1:]] = (sorted_high[1:] != sorted_high[:-1]) | (sorted_low[1:] != sorted_low[:-1])
    return first


class SeenTexts:
    """Remembers texts exactly."""

    def __init__(self) -> None:
        self._buckets = [Bucket() for _ in range(BUCKETS)]

    def later(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        return self.later_digests(digests(texts))

    def later_digests(self, found: NDArray[np.uint64]) -> NDArray[np.bool_]:
        high, low = found[:, 0], found[:, 1]
        later = ~first_of(high, low)
        bucket_of = high >> np.uint64(64 - BUCKETS.bit_length() + 1)
        for number in np.unique(bucket_of[~later]).tolist():
            mine = np.flatnonzero((bucket_of == number) & ~later)
            later[mine] = self._buckets[number].known_or_add(high[mine], low[mine])
        return later


class Bucket:
    """Sorted runs of hashes, each more than twice as long as the next, so there are few."""

    def __init__(self) -> None:
        self.runs: list[tuple[Words, Words]] = []

    def known_or_add(self, high: Words, low: Words) -> NDArray[np.bool_]:
        """Which of these (all different) are known already; the others are from now on."""
        known = np.zeros(len(high), np.bool_)
        for run in self.runs:
            known |= _in_run(run, high, low)
        self._add(high[~known], low[~known])
        return known

    def _add(self, high: Words, low: Words) -> None:
        if not len(high):
            return
        order = np.argsort(high, kind="stable")
        high, low = high[order], low[order]
        while self.runs and len(self.runs[-1][0]) <= 2 * len(high):
            more_high, more_low = self.runs.pop()
            high, low = np.concatenate([more_high, high]), np.concatenate([more_low, low])
            order = np.argsort(high, kind="stable")  # two sorted halves: a merge
            high, low = high[order], low[order]
        self.runs.append((high, low))


def _in_run(run: tuple[Words, Words], high: Words, low: Words) -> NDArray[np.bool_]:
    run_high, run_low = run
    place = np.searchsorted(run_high, high)
    inside = np.minimum(place, len(run_high) - 1)
    same_high = run_high[inside] == high
    found: NDArray[np.bool_] = same_high & (run_low[inside] == low)
    for number in np.flatnonzero(same_high & ~found).tolist():  # two texts that share 64 bits: once in a lifetime
        stop = int(np.searchsorted(run_high, high[number], side="right"))
        found[number] = bool((run_low[inside[number] : stop] == low[number]).any())
    return found


class BloomTexts:
    """Remembers texts in a filter of fixed size: never forgets one, and now and then knows one it never saw."""

    def __init__(self, expected: int, error: float) -> None:
        if expected < 1 or not 0 < error < 1:
            raise SettingError("A Bloom filter needs at least 1 expected text and an error between 0 and 1.")
        from rbloom import Bloom

        self._filter: Any = Bloom(expected, error, _number)
        self.expected = expected

    @property
    def bytes(self) -> int:
        return int(self._filter.size_in_bits) // 8

    @property
    def overfull(self) -> bool:
        """Whether it has taken in more than it was made for, so that its errors are more frequent than stated."""
        return bool(self._filter.approx_items > 1.02 * self.expected)

    def later(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        later = np.zeros(len(texts), np.bool_)
        add, known = self._filter.add, self._filter.__contains__
        for number, text in enumerate(texts):
            if known(text):
                later[number] = True
            else:
                add(text)
        return later


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16], "big", signed=True)

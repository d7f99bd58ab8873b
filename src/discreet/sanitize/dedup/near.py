"""Near duplicates: texts that share most of their shingles with one that was kept before.

    near = NearTexts(threshold=0.8, shingle="words:3")
    near.later(["the parcel for ann lee is late today", "nothing", "the parcel for ann lee is late today again"])

Signatures (see `minhash`) are cut into bands of r numbers; two texts that agree in all numbers of one band are
compared, by the share of their signatures that agrees, which estimates their similarity. r is the largest for which a
pair right at the threshold is compared with probability 0.95 or more. A text is a copy if it is like a text that was
*kept*: chains of slightly changed texts do not swallow each other one by one.

What is estimated can be wrong: near the threshold, pairs fall on either side of it. Texts that are equal are always
found. Kept of each text that stays are its signature cut to 16 bits a number and its bands: with 128 permutations and
a threshold of 0.8 about 0.7 KB.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SettingError
from discreet.sanitize.dedup.minhash import Signatures, read_shingle, signatures

COMPARED = 0.95
"""With what probability a pair right at the threshold is compared at least."""
FULL = 0.6


class Bands(NamedTuple):
    """How a signature is cut."""

    bands: int
    rows: int

    def compared(self, similarity: float) -> float:
        """The probability that two texts of this similarity are compared."""
        return 1 - (1 - similarity**self.rows) ** self.bands


def bands_for(threshold: float, permutations: int) -> Bands:
    """The widest bands that still find a pair at the threshold."""
    for rows in range(permutations, 1, -1):
        found = Bands(permutations // rows, rows)
        if found.compared(threshold) >= COMPARED:
            return found
    return Bands(permutations, 1)


class Signed(NamedTuple):
    """What is compared of texts: the keys of their bands, and their signatures in short."""

    bands: NDArray[np.uint64]
    short: NDArray[np.uint16]


class NearTexts:
    """Remembers the texts that were kept, and knows those that are like one of them."""

    def __init__(self, threshold: float = 0.8, shingle: str = "words:3", permutations: int = 128) -> None:
        if not 0 < threshold <= 1:
            raise SettingError("The threshold is a similarity above 0 and at most 1.")
        if not 16 <= permutations <= 4096:
            raise SettingError("The number of permutations is from 16 to 4096.")
        read_shingle(shingle)
        self.shingle, self.permutations = shingle, permutations
        self.bands = bands_for(threshold, permutations)
        self._needed = math.ceil(threshold * permutations - 1e-9)
        self._count = 0
        self._entries = 0
        self._keys = np.zeros(1 << 10, np.uint64)
        self._items = np.full(1 << 10, -1, np.int32)
        self._kept = np.zeros((256, permutations), np.uint16)
        self._stamps = np.zeros(256, np.int64)

    @property
    def kept(self) -> int:
        """How many texts stayed."""
        return self._count

    def later(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        return self.later_signed(self.sign(texts))

    def sign(self, texts: Sequence[str]) -> Signed:
        """What is compared of the texts; depends on nothing else, so that many machines can do it."""
        from discreet.sanitize.dedup import loops

        made: Signatures = signatures(texts, self.shingle, self.permutations)
        return Signed(loops.band_keys(made, *self.bands), made.astype(np.uint16))

    def later_signed(self, signed: Signed) -> NDArray[np.bool_]:
        from discreet.sanitize.dedup import loops

        later = np.zeros(len(signed.bands), np.bool_)
        for start in range(0, len(later), 4096):
            bands, short = signed.bands[start : start + 4096], signed.short[start : start + 4096]
            self._make_room(len(bands))
            found, self._count = loops.find_later(
                bands, short, self._needed, self._keys, self._items, self._kept, self._stamps, self._count
            )
            later[start : start + 4096] = found
        return later

    def _make_room(self, more: int) -> None:
        """Grows the tables so that so many texts more can be kept."""
        from discreet.sanitize.dedup import loops

        if self._count + more > len(self._kept):
            size = max(2 * len(self._kept), self._count + more)
            self._kept = np.concatenate([self._kept, np.zeros((size - len(self._kept), self.permutations), np.uint16)])
            self._stamps = np.concatenate([self._stamps, np.zeros(size - len(self._stamps), np.int64)])
        needed = (self._count + more) * self.bands.bands
        if needed > FULL * len(self._keys):
            size = 1 << math.ceil(math.log2(needed / FULL))
            keys, items = np.zeros(size, np.uint64), np.full(size, -1, np.int32)
            loops.grow(self._keys, self._items, keys, items)
            self._keys, self._items = keys, items

"""How often each secret stands in a corpus, before deduplication and after.

    counts = SecretCounts()
    counts.add("My code is 4711.", secrets=[Secret(11, 15, "CODE")], parts=[Part(0, 16)], gone=[])
    counts.summary()["most_after"]      # 1

What is counted is the number of *parts* (sentences, turns, records) that hold the secret: after exact deduplication
these are all different, and their number is the size of the group that a guarantee for this secret is about
(ACCOUNTING.md, section 4, Prop. 7). A secret twice in a sentence counts once; the same text as two kinds is two
secrets.

Kept of a secret are 64 bits of a keyed hash of its text (case and spacing aside), 16 bytes in all; the key is drawn
when the process starts, so nothing that is kept can be looked up in a list of names.
"""

import hashlib
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.sanitize.dedup.parts import Part, normalised
from discreet.text.records import Secret

HELD = 1 << 18
"""So many sightings are held as Python values before they are added up in arrays."""
SHOWN = 20


class Often(NamedTuple):
    """A secret that still stands in many parts."""

    kind: str
    before: int
    after: int
    key: int


class SecretCounts:
    """Counts the parts that hold each secret."""

    def __init__(self, key: bytes | None = None) -> None:
        self.key = os.urandom(16) if key is None else key
        self._held: list[tuple[int, bool]] = []
        self._keys = np.zeros(0, np.uint64)
        self._counts = np.zeros((0, 2), np.int64)
        self.kinds: list[str] = []
        self.used = False

    def add(self, text: str, secrets: Sequence[Secret], parts: Sequence[Part], gone: Sequence[Part]) -> None:
        """Takes in a record with its secrets, its parts, and those of them that were later copies."""
        self.used = True
        lost = set(gone)
        sightings: dict[tuple[int, int], bool] = {}
        for secret in secrets:
            number, inside = _part_of(secret, parts)
            left = not (inside and parts[number] in lost)
            sightings[self.key_of(text[secret.start : secret.end], secret.kind), number] = left
        self._held += [(key, left) for (key, _), left in sightings.items()]
        if len(self._held) >= HELD:
            self._settle()

    def key_of(self, text: str, kind: str) -> int:
        """The 64 bits kept of a secret: the lowest 8 say the kind."""
        if kind not in self.kinds:
            self.kinds.append(kind)
        data = f"{kind}\0{normalised(text)}".encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, key=self.key, digest_size=8).digest()
        return int.from_bytes(digest, "big") & ~0xFF | min(self.kinds.index(kind), 255)

    def merge(self, other: "SecretCounts") -> None:
        """Takes in what another count with the same key has seen."""
        other._settle()
        mine = {kind: number for number, kind in enumerate(self.kinds)}
        for kind in other.kinds:
            if kind not in mine:
                mine[kind] = len(self.kinds)
                self.kinds.append(kind)
        renumber = np.array([min(mine[kind], 255) for kind in other.kinds] or [0], np.uint64)
        keys = (other._keys & ~np.uint64(0xFF)) | renumber[(other._keys & np.uint64(0xFF)).astype(np.int64)]
        self.used = self.used or other.used
        self._settle(keys, other._counts)

    def arrays(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Each secret's key, with the number of parts that held it before and that hold it after."""
        self._settle()
        return self._keys, self._counts

    def summary(self) -> dict[str, Any]:
        """Counts that name no secret."""
        _, counts = self.arrays()
        after = counts[:, 1]
        return {
            "distinct": len(counts),
            "parts_before": int(counts[:, 0].sum()),
            "parts_after": int(after.sum()),
            "most_before": int(counts[:, 0].max(initial=0)),
            "most_after": int(after.max(initial=0)),
            "after": {str(times): count for times, count in sorted(Counter(after.tolist()).items())},
            "most": [{"kind": o.kind, "before": o.before, "after": o.after} for o in self.most(SHOWN)],
        }

    def most(self, count: int = SHOWN) -> list[Often]:
        """The secrets that still stand in the most parts, the most frequent first."""
        keys, counts = self.arrays()
        order = np.lexsort((keys & np.uint64(0xFF), -counts[:, 0], -counts[:, 1]))[:count]
        found = [(int(keys[n]), *counts[n].tolist()) for n in order]
        return [Often(self.kinds[key & 0xFF], before, after, key) for key, before, after in found]

    def _settle(self, keys: NDArray[np.uint64] | None = None, counts: NDArray[np.int64] | None = None) -> None:
        """Adds what is held (or given) to the arrays."""
        held_keys = np.array([key for key, _ in self._held], np.uint64)
        held = np.array([(1, left) for _, left in self._held], np.int64).reshape(-1, 2)
        self._held = []
        more_keys = [held_keys] if keys is None else [held_keys, keys]
        more = [held] if counts is None else [held, counts]
        all_keys, inverse = np.unique(np.concatenate([self._keys, *more_keys]), return_inverse=True)
        total = np.zeros((len(all_keys), 2), np.int64)
        np.add.at(total, inverse, np.concatenate([self._counts, *more]))
        self._keys, self._counts = all_keys, total


def _part_of(secret: Secret, parts: Sequence[Part]) -> tuple[int, bool]:
    """The part in which a secret begins (-1: none), and whether all of it is in there."""
    number = bisect_right(parts, secret.start, key=attrgetter("start")) - 1
    if number < 0 or secret.start >= parts[number].end:
        return -1, False
    return number, secret.end <= parts[number].end

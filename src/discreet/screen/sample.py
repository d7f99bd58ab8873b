"""Drawing the sample that a person will screen, by position alone and never by what a record says.

    >>> from discreet.text.records import Record
    >>> records = [Record(id=str(n), text="...") for n in range(1000)]
    >>> [record.id for record in draw(records, size=3, seed=7).records]
    ['811', '121', '495']

Each position gets a key, SHA-256 of the seed and the position, and the records with the smallest keys are the sample,
in the order of their keys. That makes it

- **blind**: neither text nor id has a say, so a record that is exchanged for another leaves the choice as it is. JFT's
  screened form is free for all secrets only if the subset was chosen so (ACCOUNTING.md, section 3);
- **repeatable**: the seed and the number of records say it all;
- **safe to stop**: the first records in this order are a random sample too, so one that ends early still counts.
"""

import hashlib
import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.errors import InputError, SettingError
from discreet.text.corpus import SPLITS, split_of
from discreet.text.records import Record


@dataclass(frozen=True)
class Sample:
    """Records drawn without looking at them, in the order in which they were drawn."""

    records: tuple[Record, ...]
    positions: tuple[int, ...]
    """Where each stands among the records of its split, counted from 0."""
    size: int
    """How many were asked for; a small corpus has fewer."""
    seed: int
    split: str
    population: int
    """How many there are to draw from."""
    fingerprint: str
    """SHA-256 over all records that could have been drawn: another corpus, another fingerprint."""


def draw(records: Iterable[Record], size: int = 200, seed: int = 0, split: str = "all") -> Sample:
    """Draws so many records of one split, or of all, in one walk; only the sample is kept in memory."""
    if size < 1:
        raise SettingError(f"A sample has at least one record, not {size}.")
    if split not in (*SPLITS, "all"):
        raise SettingError(f"There is no split '{split}'; it is train, valid, test or all.")
    digest = hashlib.sha256()
    smallest: list[tuple[int, int, Record]] = []
    """A heap with the largest key of the sample on top (keys are negated)."""
    position = -1
    others: set[str] = set()
    for record in records:
        if split != "all" and (found := split_of(record)) != split:
            others.add(found)
            continue
        position += 1
        digest.update(_print_of(record))
        entry = (-_key(seed, position), position, record)
        if len(smallest) < size:
            heapq.heappush(smallest, entry)
        elif entry[0] > smallest[0][0]:
            heapq.heapreplace(smallest, entry)
    if not smallest:
        raise InputError(f"There are no records in the split '{split}'; choose {' or '.join(sorted(others)) or 'all'}.")
    drawn = sorted(smallest, key=lambda entry: -entry[0])
    return Sample(
        records=tuple(record for _, _, record in drawn),
        positions=tuple(place for _, place, _ in drawn),
        size=size,
        seed=seed,
        split=split,
        population=position + 1,
        fingerprint=digest.hexdigest(),
    )


def _key(seed: int, position: int) -> int:
    return int.from_bytes(hashlib.sha256(f"screen {seed} {position}".encode()).digest(), "big")


def _print_of(record: Record) -> bytes:
    seen = (record.id, record.text, record.pair, record.author, record.label, record.split)
    return hashlib.sha256(repr(seen).encode("utf-8", "surrogatepass")).digest()

"""Batches of records: padded rows that never hold two records, in an order that a seed and an epoch decide.

    for rows in plan_batches(train, batch_size=16, max_tokens=512, seed=1, epoch=0):
        batch = make_batch(train, rows)
        batch["input_ids"], batch["targets"]            # [16, T], T the longest row

A record is the unit of privacy, so a row holds tokens of one record. A record that is too long for `max_tokens` becomes
several *windows*, cut after whole sentences or turns where there are any, each of which begins with the token the one
before ended with: every target is predicted exactly once. Rows of the same record have the same number in
`batch["records"]`; what clips per record must add them up first.

The plan of an epoch is a plain list: step k of a resumed training is `plan[k]`, the same as before.

Sharp edge: these batches are shuffled, not Poisson samples. No amplification by sampling may be claimed for them
(ACCOUNTING.md, section 1).
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, SettingError
from discreet.text.tokenize import Encoded

NO_TARGET = -100
"""The target where there is none: the number that torch's cross entropy ignores."""
POOL_BATCHES = 50
"""Windows are sorted by length among so many batches: enough to make rows alike, few enough to keep order random."""

CALLS = 12
"""What a batch costs beside its tokens, in rows: steps over time and calls are made for all rows at once."""

Rows = NDArray[np.int64]
"""Windows, one a row: record, start, end."""
Batch = dict[str, NDArray[Any]]
"""[rows, T]: `input_ids`, `targets`, `secret` (the target is), `input_secret`; [rows]: `lengths`, `records`."""


class Window(NamedTuple):
    """Loss positions of one record: the model reads tokens start to end - 1 and predicts tokens start + 1 to end."""

    record: int
    start: int
    end: int


def windows(encoded: Encoded, max_tokens: int | None = None, *, at_sentences: bool = True) -> Rows:
    """All windows of a split in the order of its records; one for each record where max_tokens is None.

    A record that is too long is cut after the last token of a sentence, line or turn, if there is one in the second
    half of a window; without `at_sentences` every window but the last is full.
    """
    if max_tokens is not None and max_tokens < 1:
        raise SettingError(f"max_tokens is {max_tokens}; a window needs at least one token.")
    positions = np.diff(encoded.starts) - 1
    size = max_tokens or int(positions.max(initial=1))
    counts = (positions > 0).astype(np.int64)
    cuts = {int(record): _cuts(encoded, int(record), size, at_sentences) for record in np.flatnonzero(positions > size)}
    for long, own in cuts.items():
        counts[long] = len(own) + 1
    record = np.repeat(np.arange(len(encoded)), counts)
    start, end = np.zeros(len(record), np.int64), positions[record]
    first = np.cumsum(counts) - counts
    for long, own in cuts.items():
        start[first[long] + 1 :][: len(own)] = end[first[long] :][: len(own)] = own
    return np.stack([record, start, end], axis=1)


def _cuts(encoded: Encoded, record: int, size: int, at_sentences: bool) -> list[int]:
    """Where a long record's windows end and the next begin: token numbers, all but the last end."""
    ids = encoded.ids[encoded.starts[record] : encoded.starts[record + 1]]
    last = len(ids) - 1
    if not at_sentences:
        return list(range(size, last, size))
    good = np.flatnonzero(encoded.sentence_ends[ids])
    cuts, start = list[int](), 0
    while last - start > size:
        fitting = good[np.searchsorted(good, start + size // 2, "right") : np.searchsorted(good, start + size, "right")]
        start = int(fitting[-1]) if len(fitting) else start + size
        cuts.append(start)
    return cuts


def plan_batches(
    encoded: Encoded,
    *,
    batch_size: int | None = None,
    batch_tokens: int | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    epoch: int = 0,
    shuffle: bool = True,
    bucket: bool = True,
    one_author: bool = False,
    at_sentences: bool = True,
) -> list[Rows]:
    """The batches of an epoch, each window in exactly one of them.

    A batch has `batch_size` windows, or as many as fit into `batch_tokens` with their padding. `bucket` puts windows of
    like length together; `one_author` keeps authors apart. Without `shuffle` the order is that of the records
    (or of their lengths), every epoch the same.
    """
    rows = windows(encoded, max_tokens, at_sentences=at_sentences)
    lengths = rows[:, 2] - rows[:, 1]
    _check_size(batch_size, batch_tokens, int(lengths.max(initial=0)))
    random = np.random.default_rng([seed, epoch]) if shuffle else None
    plan: list[NDArray[np.int64]] = []
    for group in _by_author(encoded, rows) if one_author else [np.arange(len(rows))]:
        group = group if random is None else random.permutation(group)
        for pool in _pools(group, lengths, batch_size, batch_tokens, whole=random is None) if bucket else [group]:
            order = pool[np.argsort(lengths[pool], kind="stable")] if bucket else pool
            plan += _by_count(order, batch_size) if batch_size else _by_tokens(order, lengths, batch_tokens or 0)
    if random is not None:
        plan = [plan[number] for number in random.permutation(len(plan))]
    return [rows[chosen] for chosen in plan]


def alike(rows: NDArray[np.int64], lengths: NDArray[np.int64], most: int) -> list[NDArray[np.int64]]:
    """Units of so many rows of such a length in batches of at most `most` tokens, padding counted, at the least cost.

    A batch's rows are as many for each unit, and as long, as its largest unit needs. Few large batches pad much, many
    small ones make many calls: of all ways to cut the units in the order of their sizes, this is the cheapest. A unit
    that is larger than `most` is a batch of its own.
    """
    order = np.lexsort((lengths, rows))
    rows, lengths = rows[order], lengths[order]
    cost, begins = np.zeros(len(order) + 1), np.zeros(len(order) + 1, np.int64)
    for end in range(1, len(order) + 1):
        first = max(0, end - max(1, most // int(rows[end - 1] * lengths[end - 1])))
        units = np.arange(end - first, 0, -1)
        longest = np.maximum.accumulate(lengths[first:end][::-1])[::-1]
        costs = cost[first:end] + (units * rows[end - 1] + CALLS) * longest
        costs[:-1][(units * rows[end - 1] * longest > most)[:-1]] = np.inf
        begins[end] = first + int(costs.argmin())
        cost[end] = costs[begins[end] - first]
    cuts, end = list[int](), len(order)
    while end:
        end = int(begins[end])
        cuts.append(end)
    return np.split(order, cuts[-2::-1]) if len(order) else []


def make_batch(encoded: Encoded, rows: Rows | Sequence[Window], pad: int | None = None) -> Batch:
    """The windows as padded arrays; padding is on the right and has no target."""
    record, start, end = np.asarray(rows, np.int64).reshape(-1, 3).T
    lengths = end - start
    steps = np.arange(int(lengths.max(initial=0)))
    real = steps < lengths[:, None]
    at = np.where(real, (encoded.starts[record] + start)[:, None] + steps, 0)
    after = np.where(real, at + 1, 0)
    pad = encoded.special.pad if pad is None else pad
    return {
        "input_ids": np.where(real, encoded.ids[at], pad).astype(np.int64),
        "targets": np.where(real & ~encoded.ignored[after], encoded.ids[after], NO_TARGET).astype(np.int64),
        "secret": encoded.secret[after] & real,
        "input_secret": encoded.secret[at] & real,
        "lengths": lengths,
        "records": record,
    }


def batches(encoded: Encoded, plan: Sequence[Rows], start: int = 0) -> Iterator[Batch]:
    """The batches of a plan from step `start` on."""
    return (make_batch(encoded, rows) for rows in plan[start:])


def _check_size(batch_size: int | None, batch_tokens: int | None, longest: int) -> None:
    if (batch_size is None) == (batch_tokens is None):
        raise SettingError("Give either batch_size (windows a batch) or batch_tokens (tokens a batch, with padding).")
    if batch_size is not None and batch_size < 1:
        raise SettingError(f"batch_size is {batch_size}; a batch needs at least one window.")
    if batch_tokens is not None and batch_tokens < longest:
        raise SettingError(
            f"batch_tokens is {batch_tokens}, but a window has {longest} tokens; raise it, or set max_tokens."
        )


def _by_author(encoded: Encoded, rows: Rows) -> list[NDArray[np.int64]]:
    """The windows of each author."""
    authors = encoded.authors[rows[:, 0]]
    if (authors < 0).any():
        nameless = encoded.record_ids[rows[authors < 0][0, 0]]
        raise InputError(
            f"Batches of one author need an author for every record, and record {nameless} has none; "
            "name the author field of the file, or leave such records out."
        )
    order = np.argsort(authors, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(authors[order])) + 1) if len(order) else []


def _pools(
    group: NDArray[np.int64], lengths: NDArray[np.int64], batch_size: int | None, batch_tokens: int | None, whole: bool
) -> list[NDArray[np.int64]]:
    """Parts of a shuffled group, each large enough for many batches; the whole group where order need not be random."""
    if whole or not len(group):
        return [group]
    windows_a_batch = batch_size or max(1, int((batch_tokens or 0) / lengths[group].mean()))
    size = POOL_BATCHES * windows_a_batch
    return [group[begin : begin + size] for begin in range(0, len(group), size)]


def _by_count(order: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    return [order[begin : begin + size] for begin in range(0, len(order), size)]


def _by_tokens(order: NDArray[np.int64], lengths: NDArray[np.int64], most: int) -> list[NDArray[np.int64]]:
    """Takes windows in order for as long as rows times the longest row stays within `most`."""
    cuts: list[int] = []
    begin = longest = 0
    for number, length in enumerate(lengths[order].tolist()):
        longest = max(longest, length)
        if longest * (number - begin + 1) > most:
            cuts.append(number)
            begin, longest = number, length
    return np.split(order, cuts) if len(order) else []

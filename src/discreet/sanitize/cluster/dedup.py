"""Deduplication on a cluster, with the outcome of the local engine.

Exact: every shard emits the hashes of its parts, which are brought together by their first bits (a hash shuffle);
within a bucket, all but the first of equal hashes are later copies. Near: every shard emits the keys of its parts'
bands; only parts that share a key with another can matter, so only their signatures go on to the one place that
decides in the order of the corpus, as the local engine does. Then each shard is read once more and written without
its copies.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SettingError
from discreet.files import canonical_json
from discreet.policy.contract import Policy
from discreet.sanitize.cluster.engine import Cluster, Columns
from discreet.sanitize.cluster.rows import Done, Joined, policy_of
from discreet.sanitize.cluster.shards import Shard, Walk, cut_for
from discreet.sanitize.dedup.near import NearTexts, Signed
from discreet.sanitize.dedup.run import Compared, Dedup, Tally, chunks, without
from discreet.sanitize.dedup.seen import digests
from discreet.sanitize.dedup.surviving import SecretCounts
from discreet.text.reading import RecordFile
from discreet.text.writing import row_of, write_rows

BUCKETS = 64
Numbers = NDArray[np.int64]


class Later(NamedTuple):
    """A shard, and which of its parts are later copies."""

    shard: Shard
    parts: Numbers


def dedup_file(
    cluster: Cluster, records: RecordFile, output: str | Path, settings: Dedup, policy: Policy | None
) -> tuple[Tally, int]:
    """Writes a copy without later copies; returns what was done, and how many bad rows were skipped."""
    if settings.method == "bloom":
        raise SettingError("A Bloom filter bounds the memory of one process; with --engine ray use --method exact.")
    cut, on_bad = cut_for(records, cluster.cores), records.on_bad
    find = _near if settings.method == "near" else _exact
    later = find(cluster, cut, on_bad, settings)
    fields = records.fields
    spec = canonical_json(policy.spec()) if policy is not None else None
    total = Tally()
    key = total.secrets.key

    def work(item: Later) -> Done:
        walk, tally = Walk(item.shard, on_bad), Tally(secrets=SecretCounts(key))
        policy = policy_of(spec) if spec is not None else None
        rows, gone, number = [], set(item.parts.tolist()), 0
        for compared in _compared(walk, settings):
            copies = [part for at, part in enumerate(compared.parts, number) if at in gone]
            number += len(compared.parts)
            kept = without(compared, copies, settings, tally, policy)
            if kept is not None:
                rows.append(row_of(kept, fields))
        return Done(rows, walk.ids, tally, sum(walk.skipped.values()))

    joined = Joined(records.path, total.merge)
    items = [Later(shard, parts) for shard, parts in zip(cut, later, strict=True)]
    write_rows(output, joined.rows(cluster.map(items, work)), records)
    return total, joined.skipped


def _compared(walk: Walk, settings: Dedup) -> Iterator[Compared]:
    for chunk in chunks(walk, settings):
        yield from chunk


def _texts(shard: Shard, on_bad: str, settings: Dedup) -> list[str]:
    return [text for compared in _compared(Walk(shard, on_bad), settings) for text in compared.texts]


def _exact(cluster: Cluster, cut: Sequence[Shard], on_bad: str, settings: Dedup) -> list[Numbers]:
    def emit(shard: Shard) -> Columns:
        found = digests(_texts(shard, on_bad, settings))
        return _located(shard.number, np.arange(len(found)), high=found[:, 0], low=found[:, 1])

    found = cluster.shuffle(cut, emit, later_copies)
    return _by_shard(found, len(cut))


def later_copies(group: Columns) -> Columns:
    """Of equal hashes all but the first in the order of the corpus."""
    order = np.lexsort((group["part"], group["shard"], group["low"], group["high"]))
    high, low = group["high"][order], group["low"][order]
    again = np.zeros(len(order), np.bool_)
    again[1:] = (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    return {"shard": group["shard"][order][again], "part": group["part"][order][again]}


def _near(cluster: Cluster, cut: Sequence[Shard], on_bad: str, settings: Dedup) -> list[Numbers]:
    def fresh() -> NearTexts:
        return NearTexts(settings.threshold, settings.shingle, settings.permutations)

    def emit(shard: Shard) -> Columns:
        near = fresh()
        bands = near.sign(_texts(shard, on_bad, settings)).bands
        parts = np.repeat(np.arange(len(bands)), near.bands.bands)
        keys = bands.reshape(-1)
        return _located(shard.number, parts, high=keys, low=np.zeros(len(keys), np.uint64))

    meeting = _by_shard(cluster.shuffle(cut, emit, meetings), len(cut))

    def sign(item: Later) -> Signed:
        if not len(item.parts):
            return fresh().sign([])
        texts = _texts(item.shard, on_bad, settings)
        return fresh().sign([texts[part] for part in item.parts.tolist()])

    near = fresh()
    items = [Later(shard, parts) for shard, parts in zip(cut, meeting, strict=True)]
    signed = cluster.map(items, sign)
    return [parts[near.later_signed(one)] for parts, one in zip(meeting, signed, strict=True)]


def meetings(group: Columns) -> Columns:
    """The parts that share the key of a band with another part."""
    order = np.argsort(group["high"], kind="stable")
    keys = group["high"][order]
    same = keys[1:] == keys[:-1]
    shared = np.zeros(len(order), np.bool_)
    shared[1:] |= same
    shared[:-1] |= same
    return {"shard": group["shard"][order][shared], "part": group["part"][order][shared]}


def _located(shard: int, parts: Numbers, **hashes: NDArray[np.uint64]) -> Columns:
    """Hashes with where they come from, and the bucket they go to."""
    bucket = (hashes["high"] % np.uint64(BUCKETS)).astype(np.int64)
    return {"bucket": bucket, "shard": np.full(len(parts), shard, np.int64), "part": parts.astype(np.int64), **hashes}


def _by_shard(found: Sequence[Columns], count: int) -> list[Numbers]:
    """For each shard the numbers of the parts that were found, in order and once."""
    empty: Numbers = np.zeros(0, np.int64)
    shard = np.concatenate([empty, *(columns["shard"] for columns in found)])
    part = np.concatenate([empty, *(columns["part"] for columns in found)])
    order = np.argsort(shard, kind="stable")
    edges = np.searchsorted(shard[order], np.arange(count + 1))
    return [np.unique(part[order[edges[n] : edges[n + 1]]]) for n in range(count)]

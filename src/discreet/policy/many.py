"""One policy in several processes: records in, records with their secrets out, in the same order.

    for record, secrets in secrets_on_all_cores(policy, records): ...

Each process makes the policy again from its spec, so what works here works for every policy that has one. Records
stream: no more than a few chunks for each process are under way. Chunks end by their characters as well as by their
number, so that long texts spread as evenly as short ones.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from discreet.policy.contract import Policy
from discreet.policy.specs import policy as make_policy
from discreet.text.records import Record, Secret, Turn

MOST_RECORDS = 512
MOST_CHARACTERS = 400_000
AHEAD = 3
"""Chunks under way for each process."""

Seen = tuple[str, tuple[Turn, ...], tuple[Secret, ...] | None]
"""What a policy looks at: text, turns and marks."""


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def secrets_on_all_cores(
    policy: Policy, records: Iterable[Record], workers: int | None = None
) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
    """Every record with its secrets; one worker (or one core) works in this process."""
    workers = cores() if workers is None else workers
    if workers <= 1:
        yield from policy.secrets_of_all(records)
        return
    waiting: deque[tuple[list[Record], Future[list[tuple[Secret, ...]]]]] = deque()
    # Not forked: the parent may have threads, and a forked child of those can hang.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin, initargs=(policy.spec(),))
    try:
        for chunk in _chunks(records):
            seen = [(record.text, record.turns, record.secrets) for record in chunk]
            waiting.append((chunk, pool.submit(_secrets, seen)))
            if len(waiting) > AHEAD * workers:
                yield from _finished(waiting.popleft())
        while waiting:
            yield from _finished(waiting.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _finished(
    part: tuple[list[Record], Future[list[tuple[Secret, ...]]]],
) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
    return zip(part[0], part[1].result(), strict=True)


def _chunks(records: Iterable[Record]) -> Iterator[list[Record]]:
    chunk: list[Record] = []
    size = 0
    for record in records:
        chunk.append(record)
        size += len(record.text)
        if len(chunk) == MOST_RECORDS or size >= MOST_CHARACTERS:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


_policy: Policy | None = None
"""The policy of a worker process, made once."""


def _begin(spec: Any) -> None:
    global _policy
    os.environ["OMP_NUM_THREADS"] = "1"  # one thread in each: the processes are the parallelism
    _policy = make_policy(spec)


def _secrets(seen: list[Seen]) -> list[tuple[Secret, ...]]:
    assert _policy is not None
    records = (Record(id="", text=text, turns=turns, secrets=marks) for text, turns, marks in seen)
    return [secrets for _, secrets in _policy.secrets_of_all(records)]

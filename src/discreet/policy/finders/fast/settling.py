"""Findings of a page made secrets of its texts, as `scored.merged` makes them: sorted, those that overlap made one."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.policy.finders.fast.compiled import ZERO, Array, Number, compiled, kept
from discreet.policy.finders.fast.findings import KINDS, PARTS, SCORES, numbered
from discreet.policy.finders.fast.loading import VERSION
from discreet.text.records import Secret

START, END, KIND, SCORE = range(PARTS)
NO_ROW = -1
SCORE_OF = np.array(SCORES)


@compiled
def _is_before(rows: Array, one: Number, other: Number) -> bool:
    """Whether of two findings with the same start one comes first."""
    for column in range(END, PARTS):
        if rows[one, column] != rows[other, column]:
            return bool(rows[one, column] < rows[other, column])
    return False


@compiled
def _in_order(rows: Array, thresholds: Array, letters: int) -> Array:
    """The findings that reach the threshold of their kind, sorted: there are few at one place, so each has a list."""
    first, after = np.full(letters + 1, NO_ROW, np.int32), np.empty(len(rows), np.int32)
    count = ZERO
    last: Number
    at: Number
    for row in range(len(rows)):
        if rows[row, SCORE] < thresholds[np.int64(rows[row, KIND])]:
            continue
        count += 1
        start = np.int64(rows[row, START])
        last, at = ZERO + NO_ROW, np.int64(first[start])
        while at != NO_ROW and _is_before(rows, at, row):
            last, at = at, np.int64(after[at])
        after[row] = at
        if last == NO_ROW:
            first[start] = row
        else:
            after[last] = row
    order = np.empty(count, np.int64)
    count = ZERO
    for place in range(letters + 1):
        at = np.int64(first[place])
        while at != NO_ROW:
            order[count] = at
            count += 1
            at = np.int64(after[at])
    return order


def _settled_of(version: int) -> Any:
    @kept
    def settled(
        sure: Array, rest: Array, thresholds: Array, starts: Array, ends: Array, letters: int
    ) -> tuple[Array, Array, Array]:
        """Secrets in rows (start, end, kind), counted from the beginning of their text; their scores; and how many
        there are up to each text.

        sure: findings with the numbers of their scores; rest: others, with scores as they are.
        """
        assert version
        rows = np.empty((len(sure) + len(rest), PARTS), np.float64)
        for row in range(len(sure)):
            rows[row, START], rows[row, END], rows[row, KIND] = sure[row, START], sure[row, END], sure[row, KIND]
            rows[row, SCORE] = SCORE_OF[sure[row, SCORE]]
        for row in range(len(rest)):
            for column in range(PARTS):
                rows[len(sure) + row, column] = rest[row, column]
        order = _in_order(rows, thresholds, letters)
        spans, scores = np.empty((len(order), 3), np.int64), np.empty(len(order), np.float64)
        most = ZERO
        reach: Number = ZERO
        length: Number = ZERO
        best = 0.0
        for row in order:
            start, end = np.int64(rows[row, START]), np.int64(rows[row, END])
            kind, score = np.int64(rows[row, KIND]), rows[row, SCORE]
            if start >= reach:
                if start < end:
                    spans[most, START], spans[most, END], spans[most, KIND], scores[most] = start, end, kind, score
                    most += 1
                    reach, best, length = end, score, end - start
            elif score > best or (score == best and end - start > length):
                best, length, reach = score, end - start, max(end, reach)
                spans[most - 1, END], spans[most - 1, KIND], scores[most - 1] = reach, kind, score
            elif end > reach:
                reach = end
                spans[most - 1, END] = end
        bounds = np.zeros(len(starts) + 1, np.int64)
        at = ZERO
        for part in range(len(starts)):
            while at < most and spans[at, START] < ends[part]:
                spans[at, START] -= starts[part]
                spans[at, END] -= starts[part]
                at += 1
            bounds[part + 1] = at
        return spans[:most], scores[:most], bounds

    return settled


settled = _settled_of(VERSION)
_made = partial(tuple.__new__, Secret)


def secrets_of_texts(
    sure: Sequence[Array],
    rest: Iterable[Secret],
    threshold: float,
    kinds: Mapping[str, float],
    starts: Array,
    ends: Array,
    letters: int,
) -> list[tuple[Secret, ...]]:
    """The secrets of each text from start to end of a page of so many letters; rows and secrets, in any order."""
    thresholds = np.full(len(KINDS), threshold)
    for number, kind in enumerate(KINDS):
        if kind in kinds:
            thresholds[number] = kinds[kind]
    spans, scores, bounds = settled(np.concatenate(sure), numbered(rest), thresholds, starts, ends, letters)
    firsts, lasts, numbers = spans.T.tolist()
    named = map(KINDS.__getitem__, numbers)
    made: tuple[Secret, ...] = tuple(map(_made, zip(firsts, lasts, named, scores.tolist(), strict=True)))
    return [made[begin:end] for begin, end in pairwise(bounds.tolist())]

"""Scores of very many continuations of one text: a walk through the tree of their shared beginnings.

    scores = log_probabilities(reader, start, rows)      # log p(row | start), float64, one a row

A million six-digit numbers have 111,111 beginnings. Each is read once, by carrying the model's state from its parent
(`discreet.attacks.reading`), and gives the probabilities of all its children from one distribution. The tree is
walked depth first in blocks, so that no more than a block of states is held for each level.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.attacks.merges import Ids
from discreet.attacks.reading import AnyReader, Reading
from discreet.errors import SettingError

BLOCK = 512
"""Beginnings read at a time."""

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Told = Callable[[int, int], None]
"""Told how many rows are scored, of how many."""


@dataclass(frozen=True, eq=False)
class Level:
    """The distinct beginnings of one length, in the order of the sorted rows."""

    first: Indices
    """The first row that begins so."""
    token: Tensor
    parent: Indices
    """Its beginning without the last token: a number in the level above."""
    children: Indices
    """Where its continuations begin in the level below; one more entry than beginnings."""


@torch.inference_mode()
def log_probabilities(reader: AnyReader, start: Ids, rows: Ids, told: Told | None = None) -> Floats:
    """log p(row | start) of every row, padded on the right with -1; start includes the begin token."""
    longest = len(start) + rows.shape[1]
    if reader.context is not None and longest > reader.context:
        raise SettingError(f"A candidate has {longest} tokens with its prefix and the model can read {reader.context}.")
    order = _order(rows)
    levels = _levels(rows[order])
    scores = [np.zeros(len(level.first)) for level in levels]
    done = 0
    waiting: list[tuple[int, Indices, Reading, Tensor | None]] = []
    if levels[0].children[-1]:
        root = reader.read(torch.from_numpy(start.astype(np.int64))[None])
        waiting.append((0, np.zeros(1, np.int64), root, None))
    while waiting:
        depth, nodes, reading, rows_of_parents = waiting.pop()
        level, below = levels[depth], levels[depth + 1]
        if rows_of_parents is not None:
            reading = reader.read_on(reading, rows_of_parents, level.token[torch.from_numpy(nodes)])
        counts = level.children[nodes + 1] - level.children[nodes]
        parents = np.repeat(np.arange(len(nodes)), counts)
        children = _ranges(level.children[nodes], counts)
        asked = torch.from_numpy(parents)
        chances = reader.log_probabilities(reading, asked, below.token[torch.from_numpy(children)])
        scores[depth + 1][children] = scores[depth][nodes[parents]] + chances.double().numpy()
        going = below.children[children + 1] > below.children[children]
        ahead, rows_ahead = children[going], asked[torch.from_numpy(going)]
        for begin in range(0, len(ahead), BLOCK):
            block = slice(begin, begin + BLOCK)
            waiting.append((depth + 1, ahead[block], reading, rows_ahead[block]))
        done += len(children) - len(ahead)
        if told:
            told(done, len(rows))
    return _of_rows(rows, order, levels, scores)


def _order(rows: Ids) -> Indices:
    """The order of the rows as words of tokens, by one sort of one number each where that number fits."""
    key, room = np.zeros(len(rows), np.int64), 1
    for column in rows.T:
        distinct, codes = np.unique(column, return_inverse=True)
        if room > 2**62 // len(distinct):
            return np.lexsort(rows.T[::-1])
        key, room = key * len(distinct) + codes, room * len(distinct)
    return np.argsort(key, kind="stable")


def _levels(rows: Ids) -> list[Level]:
    """The tree of sorted rows, from the empty beginning down."""
    differs = rows[1:] != rows[:-1]
    apart = np.where(differs.any(1), differs.argmax(1), rows.shape[1]) if rows.shape[1] else np.zeros(len(rows) - 1)
    firsts = [np.zeros(1, np.int64)]
    for depth in range(rows.shape[1]):
        begins = np.append(True, apart <= depth) & (rows[:, depth] >= 0)
        firsts.append(np.flatnonzero(begins))
    levels: list[Level] = []
    for depth, first in enumerate(firsts):
        token = rows[first, depth - 1] if depth else np.zeros(1, np.int32)
        parent = np.searchsorted(firsts[depth - 1], first, "right") - 1 if depth else np.zeros(1, np.int64)
        after = firsts[depth + 1] if depth + 1 < len(firsts) else np.empty(0, np.int64)
        children = np.append(np.searchsorted(after, first), len(after))
        levels.append(Level(first, torch.from_numpy(token.astype(np.int64)), parent, children))
    return levels


def _of_rows(rows: Ids, order: Indices, levels: list[Level], scores: list[Floats]) -> Floats:
    """From the scores of beginnings to those of rows: each row is a beginning as long as itself."""
    lengths = (rows[order] >= 0).sum(1)
    found = np.zeros(len(rows))
    for depth in range(len(levels)):
        own = np.flatnonzero(lengths == depth)
        found[order[own]] = scores[depth][np.searchsorted(levels[depth].first, own, "right") - 1]
    return found


def _ranges(starts: Indices, counts: Indices) -> Indices:
    """start, start + 1, ... for each start and count, one after the other."""
    ends = np.cumsum(counts)
    found: Indices = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - counts), counts)
    return found

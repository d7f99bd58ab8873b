"""A record cut into public and private segments, as Selective-DPSGD reads it (Shi et al. 2022, Algorithm 1).

    tokens        my   name  is   ANN  LEE  thanks
    positions       0     1    2    3     4            position i reads token i and predicts token i + 1
    private                    x    x     x

A position is private when it predicts a secret token or reads one. So a private segment begins one token before the
secret, covers the first prediction after it, and swallows a single public token between two secrets.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from discreet.text.tokenize import Encoded


class Segment(NamedTuple):
    """Positions of one record that are all private or all public."""

    record: int
    start: int
    end: int
    private: bool


def segments(encoded: Encoded, record: int, most: int) -> Iterator[Segment]:
    """The segments of a record in order, none longer than `most` positions."""
    secret = encoded.secret[encoded.starts[record] : encoded.starts[record + 1]]
    private = secret[1:] | secret[:-1]
    edges = np.flatnonzero(np.diff(private)) + 1
    for start, end in pairwise([0, *edges.tolist(), len(private)]):
        for first in range(start, end, most):
            yield Segment(record, first, min(first + most, end), bool(private[first]))


def private_segments(encoded: Encoded, most: int) -> int:
    """The largest number of private segments that any record has."""
    counts = (sum(s.private for s in segments(encoded, record, most)) for record in range(len(encoded)))
    return max(counts, default=0)

"""Which way to a layer's norms is cheaper for its shape: measured once for each shape, or by a fixed rule.

    costs = Costs()                    # times both ways when a shape is first seen, remembers the faster
    costs = Costs(measure=False)       # a fixed rule: the same choice, bit for bit the same sums, on every machine

Instantiating a gradient costs memory traffic in proportion to p * d but saves the product of the clipped sum; Gram
matrices cost T^2 * (p + d) multiplications. Small layers and long records favour the first, wide layers the second.
Both are exact; sums differ in the last bits only.
"""

import math
import time
from typing import NamedTuple

import torch
from torch import Tensor

from discreet.engine.clipping.products import (
    add_product,
    add_weighted,
    flat,
    gram_squares,
    instantiate,
    precision_of,
    squares_of_rows,
    wide,
)


class Way(NamedTuple):
    """How norms are found: by writing the gradients down (no blocks), or by Gram matrices cut into so many blocks."""

    blocks: int


INSTANTIATE = Way(0)
GRAMS = (Way(1), Way(2), Way(4))
REPETITIONS, RECORDS = 4, 8
ENOUGH = 0.5
"""Seconds after which a large shape is not timed again."""
GRAM_ADVANTAGE = 38
"""Multiplications of a Gram matrix done in the time an instantiated number is written, read for the norm and read for
the sum (measured with AVX2, single precision)."""


class Costs:
    """Remembers the faster way for each shape it has been asked about.

    Gradients are written down only where they take at most `room` times the memory of the layer's input and output
    gradient, which they replace: a vocabulary-sized layer never is. Batches are as large as the draw happens to be and
    records as long as they are, so timings are shared by all numbers of records and by lengths within a factor of 1.4.
    """

    def __init__(self, *, measure: bool = True, room: float = 2.0) -> None:
        self.measure, self.room = measure, room
        self.table: dict[tuple[object, ...], Way] = {}

    def way(self, rows: Tensor, columns: Tensor, dtype: torch.dtype | None = None) -> Way:
        """The way to take for rows [B, T, p] and columns [B, T, d], whose gradients are written down in `dtype`."""
        dtype = dtype or precision_of(rows, columns)
        ways = self._ways(rows, columns)
        if not self.measure:
            return self._fixed(rows, columns, ways)
        if len(ways) == 1:
            return ways[0]
        time_first = rows.stride(0) < rows.stride(1)
        key = (
            round(2 * math.log2(max(1, rows.shape[1]))),
            rows.shape[2],
            columns.shape[2],
            time_first,
            rows.dtype,
            dtype,
            rows.device,
        )
        if key not in self.table:
            self.table[key] = self._measured(rows[:RECORDS], columns[:RECORDS], dtype, ways)
        return self.table[key] if self.table[key] in ways else ways[-1]

    def _ways(self, rows: Tensor, columns: Tensor) -> list[Way]:
        length, p, d = rows.shape[1], rows.shape[2], columns.shape[2]
        grams = [way for way in GRAMS if way.blocks == 1 or length >= 8 * way.blocks]
        return [INSTANTIATE, *grams] if p * d <= self.room * length * (p + d) else grams

    def _fixed(self, rows: Tensor, columns: Tensor, ways: list[Way]) -> Way:
        """Instantiate where there is room and the multiplications of the Gram matrices would take longer."""
        length, p, d = rows.shape[1], rows.shape[2], columns.shape[2]
        cheaper = GRAM_ADVANTAGE * p * d <= length * length * (p + d)
        return INSTANTIATE if cheaper and INSTANTIATE in ways else ways[-1]

    def _measured(self, rows: Tensor, columns: Tensor, dtype: torch.dtype, ways: list[Way]) -> Way:
        random = torch.Generator(rows.device).manual_seed(0)
        rows, columns = (torch.empty_like(t).uniform_(-1, 1, generator=random) for t in (rows, columns))
        factors = wide(rows.new_ones(rows.shape[0]))
        total = factors.new_zeros(rows.shape[2], columns.shape[2])
        times: dict[Way, list[float]] = {way: [] for way in ways}
        start = time.perf_counter()
        for repetition in range(REPETITIONS):
            for way in ways:
                before = time.perf_counter()
                _take(way, rows, columns, dtype, factors, total)
                times[way].append(time.perf_counter() - before)
            if repetition and time.perf_counter() - start > ENOUGH:
                break
        return min(ways, key=lambda way: min(times[way][1:]))  # the first also pays for fresh memory


def _take(way: Way, rows: Tensor, columns: Tensor, dtype: torch.dtype, factors: Tensor, total: Tensor) -> None:
    """All the work one layer makes under one way: its norms and its clipped sum."""
    if way is INSTANTIATE:
        gradients = instantiate(rows, columns, dtype)
        squares_of_rows(gradients.flatten(1))
        add_weighted(total, gradients, factors)
    else:
        rows, columns = wide(rows), wide(columns)
        gram_squares(rows, columns, way.blocks)
        add_product(total, *flat(rows, columns, factors))

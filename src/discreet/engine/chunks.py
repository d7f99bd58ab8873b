"""Many buffers as a list of equal chunks, so that threads can share the work of filling them.

    >>> chunks_of([3, 2], at_most=4)
    [[Piece(buffer=0, start=0, stop=3), Piece(buffer=1, start=0, stop=1)], [Piece(buffer=1, start=1, stop=2)]]

The chunks depend on the sizes alone, never on the number of threads.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from discreet.errors import SettingError

Floats = npt.NDArray[np.floating[Any]]

CHUNK = 1 << 17
"""Coordinates per chunk: a chunk has a stream of its own, so that threads need not agree on anything."""


class Piece(NamedTuple):
    buffer: int
    start: int
    stop: int


Chunk = list[Piece]


def chunks_of(sizes: Sequence[int], at_most: int = CHUNK) -> list[Chunk]:
    """Cuts buffers of these sizes into chunks; many small buffers share one, a large one has many."""
    chunks: list[Chunk] = []
    room = 0
    for buffer, size in enumerate(sizes):
        start = 0
        while start < size:
            if room == 0:
                chunks.append([])
                room = at_most
            stop = min(size, start + room)
            chunks[-1].append(Piece(buffer, start, stop))
            room -= stop - start
            start = stop
    return chunks


def length(chunk: Chunk) -> int:
    return sum(piece.stop - piece.start for piece in chunk)


class Views:
    """Flat numpy views of buffers; those that cannot be viewed go through a float64 copy."""

    def __init__(self, buffers: Sequence[Tensor]) -> None:
        places = [buffer.data_ptr() for buffer in buffers if buffer.numel()]
        if len(set(places)) < len(places):
            raise SettingError("A buffer is given twice and would get noise twice; pass each parameter's sum once.")
        self.flat: list[Floats] = []
        self._copies: list[tuple[Tensor, Tensor]] = []
        for buffer in buffers:
            tensor = buffer.detach()
            plain = tensor.dtype in (torch.float32, torch.float64) and tensor.is_contiguous()
            if tensor.device.type != "cpu" or not plain:
                copy = tensor.to("cpu", torch.float64, copy=True).contiguous()
                self._copies.append((tensor, copy))
                tensor = copy
            self.flat.append(tensor.view(-1).numpy())
        self.sizes = [view.size for view in self.flat]

    def put_back(self) -> None:
        for tensor, copy in self._copies:
            tensor.copy_(copy)

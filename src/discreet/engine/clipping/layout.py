"""Where the records are in a tensor that passes through a layer.

Most layers see [records, time, width]. An LSTM may be time-major, some models flatten records and time into one
dimension, and GPT-2's position ids have no records at all. Sizes alone cannot tell: with 8 records of 8 tokens all look
alike. So the model is run on two records and on three, and whatever grew is the records.
"""

from collections.abc import Mapping, Sequence
from enum import Enum

import torch
from torch import Tensor


class Layout(Enum):
    """Where the records are."""

    FIRST = "records are dimension 0"
    SECOND = "records are dimension 1"
    FLAT = "records and time share dimension 0, record by record"
    SECOND_FLAT = "records and their parts share dimension 1, record by record"
    SHARED = "one for all records"


def infer(with_two: Sequence[int], with_three: Sequence[int]) -> Layout | None:
    """The layout of a tensor from its shapes in a run with two records and one with three; None if it has none."""
    if len(with_two) != len(with_three):
        return None
    grown = [dim for dim, (two, three) in enumerate(zip(with_two, with_three, strict=True)) if two != three]
    if not grown:
        return Layout.SHARED
    if len(grown) > 1 or grown[0] > 1 or 3 * with_two[grown[0]] != 2 * with_three[grown[0]]:
        return None
    if with_two[grown[0]] == 2:
        return Layout.SECOND if grown[0] else Layout.FIRST
    return Layout.SECOND_FLAT if grown[0] else Layout.FLAT


Layouts = Mapping[object, tuple[Layout, ...]]
"""For each place where a parameter is used, the layouts of what is kept there and of the output."""


def records_first(tensor: Tensor, layout: Layout, records: int) -> Tensor:
    """The same values as [records, ...], without a copy where that can be."""
    if layout is Layout.SECOND:
        return tensor.transpose(0, 1)
    if layout is Layout.SECOND_FLAT:
        return tensor.transpose(0, 1).reshape(records, -1, *tensor.shape[2:])
    if layout is Layout.FLAT:
        return tensor.reshape(records, -1, *tensor.shape[1:])
    if layout is Layout.SHARED:
        return spread(tensor, records)
    return tensor


def spread(tensor: Tensor, records: int) -> Tensor:
    """What was one for all records, once for each: [1, ...] or [...] becomes [records, ...] without a copy."""
    one = tensor if tensor.dim() and tensor.shape[0] == 1 else tensor.unsqueeze(0)
    return one.expand(records, *one.shape[1:])


def some_records(batch: Mapping[str, Tensor], chosen: Sequence[int]) -> dict[str, Tensor]:
    """The batch of a few of its records."""
    return {name: tensor[torch.tensor(chosen, device=tensor.device)] for name, tensor in batch.items()}

"""The matrix products behind per-record norms and clipped sums; [B, T, ...] tensors in any strides."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

STRETCH = 1024
LARGE_PRODUCT = 1 << 26
"""Multiplications from which on a record's product is taken by itself."""
BLOCK = 1 << 20
"""Numbers in half precision that are widened at a time: few enough to stay near the processor."""


def wide(tensor: Tensor) -> Tensor:
    """At least single precision: norms and sums are not taken in half precision."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


def precision_of(*tensors: Tensor) -> torch.dtype:
    """What the product of a layer's tensors is taken in: bfloat16 where one of them is."""
    return torch.bfloat16 if any(tensor.dtype == torch.bfloat16 for tensor in tensors) else wide(tensors[0]).dtype


def full_precision(device: torch.device) -> torch.autocast:
    """Within, products are taken in the precision of their tensors even where autocast is on."""
    return torch.autocast(device.type, enabled=False)


def widened(matrix: Tensor, dtype: torch.dtype) -> Iterator[tuple[slice, Tensor]]:
    """A matrix in `dtype`, some rows at a time in the same place; at once where it is in that precision."""
    if matrix.dtype == dtype:
        yield slice(None), matrix
        return
    step = max(1, BLOCK // max(1, matrix.shape[1]))
    room = matrix.new_empty(min(step, len(matrix)), matrix.shape[1], dtype=dtype)
    for start in range(0, len(matrix), step):
        own = slice(start, min(start + step, len(matrix)))
        yield own, room[: own.stop - start].copy_(matrix[own])


def squares_of_rows(matrix: Tensor) -> Tensor:
    """The squared norm of each row, in double precision.

    Short stretches in single precision at least, their sums in double: over a million numbers torch's norm comes out
    too small by several parts in a million, more than the slack of the clip can pay for.
    """
    squares = matrix.new_zeros(len(matrix), dtype=torch.double)
    for own, rows in widened(matrix, torch.promote_types(matrix.dtype, torch.float)):
        squares[own] = _squares(rows)
    return squares


def _squares(matrix: Tensor) -> Tensor:
    whole = matrix.shape[1] // STRETCH * STRETCH
    stretches = matrix[:, :whole].reshape(matrix.shape[0], -1, STRETCH)
    norms: Tensor = torch.linalg.vector_norm(stretches, dim=2)
    rest: Tensor = torch.linalg.vector_norm(matrix[:, whole:], dim=1)
    return norms.double().square_().sum(1) + rest.double().square_()


def gram_squares(rows: Tensor, columns: Tensor, blocks: int) -> Tensor:
    """|rows^T columns|^2 for each record as the sum of (rows rows^T) * (columns columns^T).

    Both Gram matrices are symmetric: cut into `blocks` bands of rows, everything left of a band's diagonal block is
    known from the bands before it, so each band starts at its own diagonal and counts what lies right of it twice.
    """
    length = rows.shape[1]
    step = -(-length // max(1, min(blocks, length)))
    squares = rows.new_zeros(rows.shape[0])
    for start in range(0, length, step):
        end = min(start + step, length)
        band = torch.bmm(rows[:, start:end], rows[:, start:].transpose(1, 2))
        band.mul_(torch.bmm(columns[:, start:end], columns[:, start:].transpose(1, 2)))
        if end < length:
            squares.add_(band.sum((1, 2)), alpha=2).sub_(band[:, :, : end - start].sum((1, 2)))
        else:
            squares.add_(band.sum((1, 2)))
    return squares


def instantiate(rows: Tensor, columns: Tensor, dtype: torch.dtype) -> Tensor:
    """rows^T columns for each record, multiplied in `dtype` and written down: [B, p, d].

    Large products are taken one by one, each by all threads; a batched product gives each thread records of its own,
    whose matrices then compete for the cache (up to a quarter slower for 1536 x 384 over 256 positions).
    """
    rows, columns = rows.to(dtype), columns.to(dtype)
    if len(rows) and rows.shape[1] * rows.shape[2] * columns.shape[2] >= LARGE_PRODUCT:
        return instantiate_each(list(zip(rows, columns, strict=True)), dtype)
    return torch.bmm(rows.transpose(1, 2), columns)


def instantiate_each(parts: Sequence[tuple[Tensor, Tensor]], dtype: torch.dtype) -> Tensor:
    """The same for records with different numbers of rows, given as (rows, columns)."""
    rows, columns = parts[0]
    gradients = rows.new_empty(len(parts), rows.shape[1], columns.shape[1], dtype=dtype)
    for own, (rows, columns) in zip(gradients, parts, strict=True):
        torch.mm(rows.to(dtype).t(), columns.to(dtype), out=own)
    return gradients


def add_weighted(total: Tensor, gradients: Tensor, factors: Tensor) -> None:
    """total += the sum over records of factor * gradient, for gradients that are written down."""
    factors = factors.to(total.dtype)
    for own, rows in widened(gradients.flatten(1), total.dtype):
        total.view(-1).addmv_(rows.t(), factors[own])


def add_product(total: Tensor, rows: Tensor, columns: Tensor, factors: Tensor) -> None:
    """total += rows^T diag(factors) columns, for matrices with one factor for each of their rows."""
    scale = factors.unsqueeze(1)
    if rows.shape[1] < columns.shape[1]:  # scale the narrower one: it has to be copied
        total.addmm_((rows * scale).t(), columns)
    else:
        total.addmm_(rows.t(), columns * scale)


def flat(rows: Tensor, columns: Tensor, factors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """[B, T, ...] as matrices with a factor for each row, in the order they lie in memory so that nothing is copied."""
    scale = factors.unsqueeze(1).expand(rows.shape[:2])
    if rows.stride(0) < rows.stride(1):
        rows, columns, scale = rows.transpose(0, 1), columns.transpose(0, 1), scale.transpose(0, 1)
    return rows.flatten(0, 1), columns.flatten(0, 1), scale.flatten()

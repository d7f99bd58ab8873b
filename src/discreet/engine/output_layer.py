"""The output layer of a language model and its cross-entropy, as one step in one reused block of memory.

    losses = output_loss(hidden, model.lm_head.weight, None, targets)     # [B, T], nats, 0 where targets are -100
    losses.sum(1)                                                         # one loss per record

For a vocabulary of 50,000 the logits are the largest tensor of the whole step, and the obvious code makes four of
them: logits, log-softmax, its gradient, and the gradient of the logits. Here there is one. It holds
E := exp(logit - logit of the target), so that no maximum has to be known before: of a large vocabulary a tile of logits
at a time is computed and used while it is in the processor's cache. Then the row sum Z of E is taken off at the target,
and E / Z is the gradient of the loss with respect to the logits. The division is never done; 1 / Z travels with the
[B, T] gradient of the losses and scales the much narrower hidden states instead. Z is 1 / Pr(target): where that is too
large, at losses beyond 69 nats, the block is made again with the maximum of each row in place of the target's logit.

Rows whose target is ignored are left out of every product. Plain and private training both use this function; inside
a private pass the tape receives (hidden, E) and finds the per-record norms from them (see `clipping.pieces`).

Sharp edges: first derivatives only. The block is lent to one forward at a time: two forwards before a backward are
right, but take two blocks.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from discreet.engine.allocator import borrow
from discreet.engine.clipping.contract import current_listener
from discreet.engine.clipping.pieces import Outer, Piece, Ragged, Whole
from discreet.errors import InputError

IGNORED = -100
TILE_ROWS, TILE_COLUMNS = 1152, 2048
WIDE = 16_384
"""Columns from which on the block is made in tiles."""
FEW, BAND, BANDS = 640, 1024, 8
"""Up to so many rows the block is made in bands, each so many columns wide, so many side by side."""
LARGEST = 1e30
"""The largest sum of a row of exponentials that is trusted."""


def output_loss(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
    """The cross-entropy [B, T] of `hidden` [B, T, d] through the output layer `weight` [V, d] and `bias` [V]."""
    if hidden.shape[:-1] != targets.shape or hidden.shape[-1] != weight.shape[1]:
        raise InputError(
            f"output_loss got hidden states {list(hidden.shape)}, weights {list(weight.shape)} and targets "
            f"{list(targets.shape)}; give [B, T, d], [V, d] and [B, T]."
        )
    work = _Work(hidden, weight, targets)
    losses: Tensor = _OutputLoss.apply(hidden, weight, bias, targets, work)  # type: ignore[no-untyped-call]
    listener = current_listener()
    if listener is None or not (listener.trains(weight) or listener.trains(bias)):
        return losses
    return listener.watch(weight, (work.places(targets),), losses, partial(work.pieces, weight, bias))


class _Work:
    """The block of memory of one call and what is needed to read it."""

    def __init__(self, hidden: Tensor, weight: Tensor, targets: Tensor) -> None:
        self.kept = _kept_rows(targets)
        self.dtype = _compute_dtype(hidden, weight)
        self.hidden = _take(hidden.detach().reshape(-1, hidden.shape[-1]), self.kept)
        """The hidden states of the rows of the block."""
        block_dtype = torch.promote_types(self.dtype, torch.float32)
        self.loan = borrow(len(self.hidden), len(weight), block_dtype, hidden.device)
        self.block = self.loan.matrix
        """In the end Z times the gradient of the losses with respect to the logits."""
        self.sums = hidden.new_empty(0)
        """Z, [N, 1]."""

    def places(self, targets: Tensor) -> Tensor:
        """For each target its row in the block, -1 where it is ignored."""
        rows = torch.arange(len(self.block), device=targets.device)
        return _put(rows + 1, self.kept, targets.numel()).sub_(1).view(targets.shape)

    def pieces(
        self, weight: Tensor, bias: Tensor | None, kept: tuple[Tensor, ...], grad: Tensor
    ) -> Iterator[tuple[Tensor, Piece]]:
        """The layer's pieces from the gradients of the losses and their places in the block, both [records, ...]."""
        places, grad = kept[0].flatten(1), grad.flatten(1)
        counted = places >= 0
        order = places[counted]
        scale = torch.empty_like(self.sums).index_copy_(0, order, grad[counted].to(self.sums.dtype).unsqueeze(1))
        yield from _pieces(weight, bias, self, order, counted.sum(1).tolist(), scale.div_(self.sums))


def _pieces(
    weight: Tensor, bias: Tensor | None, work: _Work, order: Tensor, counts: list[int], scale: Tensor
) -> Iterator[tuple[Tensor, Piece]]:
    """The block as rows and the scaled hidden states as columns; records are cut out of both where they lie."""
    rows, columns = work.block, work.hidden.to(scale.dtype) * scale
    records, length = len(counts), counts[0]
    lying = torch.arange(len(rows), device=order.device)
    if min(counts) == max(counts) and length:
        if torch.equal(order, lying):
            rows, columns, scale = (t.view(records, length, -1) for t in (rows, columns, scale))
        elif torch.equal(order, lying.view(length, records).t().flatten()):
            rows, columns, scale = (t.view(length, records, -1).transpose(0, 1) for t in (rows, columns, scale))
    if rows.dim() == 3:
        yield weight, Outer(rows, columns, dtype=work.dtype, keep=work.loan)
        if bias is not None:
            yield bias, Whole(torch.bmm(scale.transpose(1, 2), rows).squeeze(1))
        return
    if not torch.equal(order, lying):  # time before records, and records of different lengths
        rows, columns, scale = (t.index_select(0, order) for t in (rows, columns, scale))
    yield weight, Ragged(rows, columns, counts, dtype=work.dtype, keep=work.loan)
    if bias is not None:
        parts = zip(torch.split(rows, counts), torch.split(scale, counts), strict=True)
        yield bias, Whole(torch.stack([torch.mv(own.t(), factor.squeeze(1)) for own, factor in parts]))


def _compute_dtype(hidden: Tensor, weight: Tensor) -> torch.dtype:
    """What the matrix products run in: autocast's choice where it is on."""
    if torch.is_autocast_enabled(hidden.device.type):
        return torch.get_autocast_dtype(hidden.device.type)
    return torch.promote_types(hidden.dtype, weight.dtype)


class _OutputLoss(torch.autograd.Function):
    """See the module's text."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, work: _Work) -> Tensor:
        target = _take(targets.reshape(-1), work.kept).unsqueeze(1)
        losses, work.sums = _exponentials(work.hidden, weight, bias, target, work.dtype, work.block)
        work.block.scatter_add_(1, target, -work.sums)
        ctx.work, ctx.like = work, hidden.dtype
        ctx.save_for_backward(weight)
        return _put(losses, work.kept, targets.numel()).view(targets.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        work: _Work = ctx.work
        (weight,) = ctx.saved_tensors
        block = work.block.to(work.dtype)
        scale = _take(grad.reshape(-1), work.kept).unsqueeze(1) / work.sums
        d_hidden = d_weight = d_bias = None
        if ctx.needs_input_grad[0]:
            rows = (block @ weight.to(work.dtype)).mul_(scale)
            d_hidden = _put(rows, work.kept, grad.numel()).view(*grad.shape, -1).to(ctx.like)
        if ctx.needs_input_grad[1]:
            d_weight = (block.t() @ (work.hidden * scale).to(work.dtype)).to(weight.dtype)
        if ctx.needs_input_grad[2]:
            d_bias = torch.mv(work.block.t(), scale.squeeze(1))
        return d_hidden, d_weight, d_bias, None, None


def _exponentials(
    rows: Tensor, weight: Tensor, bias: Tensor | None, target: Tensor, dtype: torch.dtype, block: Tensor
) -> tuple[Tensor, Tensor]:
    """Fills the block with exp(logits), up to a factor for each row; the losses [N] and the sums of the rows [N, 1]."""
    rows, weight = rows.to(dtype), weight.to(dtype)
    aimed = (rows.to(block.dtype) * weight[target.squeeze(1)]).sum(1, keepdim=True)
    if bias is not None:
        aimed += bias[target]
    sums = torch.zeros_like(aimed)
    for own, tile in _tiles(rows, weight, bias, block):
        written = torch.exp(tile.sub_(aimed[own[0]]), out=block[own])
        sums[own[0]] += written.sum(1, keepdim=True)
    if bool((sums < LARGEST).all()):
        return (sums.log() - block.gather(1, target).log()).squeeze(1), sums
    for own, tile in _tiles(rows, weight, bias, block):
        block[own].copy_(tile)
    top, wanted = block.amax(1, keepdim=True), block.gather(1, target)
    sums = block.sub_(top).exp_().sum(1, keepdim=True)
    return (sums.log() + top - wanted).squeeze(1), sums


def _tiles(
    rows: Tensor, weight: Tensor, bias: Tensor | None, block: Tensor
) -> Iterator[tuple[tuple[slice, slice], Tensor]]:
    """The logits in tiles, in the block's precision, and where each belongs in the block.

    Matrix products that write a tile which stays in the cache run at the processor's full speed; one that writes a
    whole wide block does not (two thirds of it for 33,278 columns). A narrow block is one tile, written in its place,
    and so is a low one, which is made in bands.
    """
    whole = (slice(len(rows)), slice(len(weight)))
    if len(rows) <= FEW and rows.dtype == block.dtype and block.device.type == "cpu":
        yield whole, _in_bands(rows, weight, bias, block)
        return
    if len(weight) <= WIDE:
        out = block if rows.dtype == block.dtype else rows.new_empty(block.shape)
        yield whole, _product(rows, weight, bias, out, block.dtype)
        return
    height = -(-len(rows) // max(1, -(-len(rows) // TILE_ROWS)))  # tiles of like height
    room = rows.new_empty(height * TILE_COLUMNS)
    for high in range(0, len(rows), max(1, height)):
        across = slice(high, min(high + height, len(rows)))
        for left in range(0, len(weight), TILE_COLUMNS):
            down = slice(left, min(left + TILE_COLUMNS, len(weight)))
            shape = (across.stop - high, down.stop - left)
            out = room[: shape[0] * shape[1]].view(shape)
            own_bias = None if bias is None else bias[down]
            yield (across, down), _product(rows[across], weight[down], own_bias, out, block.dtype)


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, dtype: torch.dtype) -> Tensor:
    """Logits in `dtype`, multiplied into `out` in the precision of their factors."""
    logits = torch.mm(rows, weight.t(), out=out).to(dtype)
    return logits if bias is None else logits.add_(bias)


def _in_bands(rows: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> Tensor:
    """The logits of few rows, multiplied with several bands of the columns at once and then put into `out`.

    One product would spend a third of its time on getting the large matrix ready, with the threads in step; bands are
    left to a thread each. What remains behind the last whole band is a product by itself.
    """
    height, rest = len(rows), len(weight) // BAND * BAND
    room = rows.new_empty(min(BANDS, rest // BAND), height, BAND)
    for left in range(0, rest, BANDS * BAND):
        down = slice(left, min(left + BANDS * BAND, rest))
        bands = weight[down].reshape(-1, BAND, weight.shape[1])
        logits = torch.bmm(rows.expand(len(bands), -1, -1), bands.transpose(1, 2), out=room[: len(bands)])
        place = out[:, down].view(height, len(bands), BAND).transpose(0, 1)
        torch.add(logits, 0.0 if bias is None else bias[down].view(-1, 1, BAND), out=place)
    if rest < len(weight):
        _product(rows, weight[rest:], None if bias is None else bias[rest:], out[:, rest:], out.dtype)
    return out


def _kept_rows(targets: Tensor) -> Tensor | None:
    """Which of the flattened positions count; None when all do, which saves copying them."""
    kept = (targets.reshape(-1) != IGNORED).nonzero().squeeze(1)
    return None if len(kept) == targets.numel() else kept


def _take(rows: Tensor, kept: Tensor | None) -> Tensor:
    return rows if kept is None else rows.index_select(0, kept)


def _put(rows: Tensor, kept: Tensor | None, total: int) -> Tensor:
    """The inverse of `_take`, zero where nothing was taken."""
    return rows if kept is None else rows.new_zeros(total, *rows.shape[1:]).index_copy_(0, kept, rows)

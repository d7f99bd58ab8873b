"""The output layer of a language model and its cross-entropy, as one step in one reused block of memory.

    losses = output_loss(hidden, model.lm_head.weight, None, targets)     # [B, T], nats, 0 where targets are -100
    losses.sum(1)                                                         # one loss per record

For a vocabulary of 50,000 the logits are the largest tensor of the whole step, and the obvious code makes four of
them: logits, log-softmax, its gradient, and the gradient of the logits. Here there is one. It holds the logits, then
exp(logits - max) =: E, then E with its row sum Z taken off at the target: E / Z is now the gradient of the loss with
respect to the logits. The division is never done; 1 / Z travels with the [B, T] gradient of the losses and scales
the much narrower hidden states instead.

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
        """First the logits, in the end Z times the gradient of the losses with respect to them."""
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
        block = _logits(work.hidden, weight, bias, work.dtype, work.block)
        top = block.amax(1, keepdim=True)
        wanted = block.gather(1, target)
        work.sums = block.sub_(top).exp_().sum(1, keepdim=True)
        losses = (work.sums.log() + top - wanted).squeeze(1)
        block.scatter_add_(1, target, -work.sums)
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


def _logits(rows: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype, out: Tensor) -> Tensor:
    """The logits, written into `out`."""
    if dtype != out.dtype:  # half precision products, full precision softmax
        out.copy_(rows.to(dtype) @ weight.to(dtype).t())
        return out if bias is None else out.add_(bias)
    rows, weight = rows.to(dtype), weight.to(dtype)
    if bias is None:
        return torch.mm(rows, weight.t(), out=out)
    return torch.addmm(bias.to(dtype), rows, weight.t(), out=out)


def _kept_rows(targets: Tensor) -> Tensor | None:
    """Which of the flattened positions count; None when all do, which saves copying them."""
    kept = (targets.reshape(-1) != IGNORED).nonzero().squeeze(1)
    return None if len(kept) == targets.numel() else kept


def _take(rows: Tensor, kept: Tensor | None) -> Tensor:
    return rows if kept is None else rows.index_select(0, kept)


def _put(rows: Tensor, kept: Tensor | None, total: int) -> Tensor:
    """The inverse of `_take`, zero where nothing was taken."""
    return rows if kept is None else rows.new_zeros(total, *rows.shape[1:]).index_copy_(0, kept, rows)

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

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from discreet.engine.allocator import borrow
from discreet.errors import InputError

IGNORED = -100


def output_loss(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
    """The cross-entropy [B, T] of `hidden` [B, T, d] through the output layer `weight` [V, d] and `bias` [V]."""
    if hidden.shape[:-1] != targets.shape or hidden.shape[-1] != weight.shape[1]:
        raise InputError(
            f"output_loss got hidden states {list(hidden.shape)}, weights {list(weight.shape)} and targets "
            f"{list(targets.shape)}; give [B, T, d], [V, d] and [B, T]."
        )
    losses: Tensor = _OutputLoss.apply(hidden, weight, bias, targets)
    return losses


def _compute_dtype(hidden: Tensor, weight: Tensor) -> torch.dtype:
    """What the matrix products run in: autocast's choice where it is on."""
    if torch.is_autocast_enabled(hidden.device.type):
        return torch.get_autocast_dtype(hidden.device.type)
    return torch.promote_types(hidden.dtype, weight.dtype)


class _OutputLoss(torch.autograd.Function):
    """See the module's text; E is in `ctx.loan`, Z in `ctx.sums`."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
        ctx.kept = kept = _kept_rows(targets)
        ctx.dtype = _compute_dtype(hidden, weight)
        rows = _take(hidden.reshape(-1, hidden.shape[-1]), kept)
        target = _take(targets.reshape(-1), kept).unsqueeze(1)
        loan = borrow(len(rows), len(weight), torch.promote_types(ctx.dtype, torch.float32), hidden.device)
        block = _logits(rows, weight, bias, ctx.dtype, loan.matrix)

        top = block.amax(1, keepdim=True)
        wanted = block.gather(1, target)
        sums = block.sub_(top).exp_().sum(1, keepdim=True)
        losses = (sums.log() + top - wanted).squeeze(1)
        block.scatter_add_(1, target, -sums)

        ctx.loan, ctx.sums = loan, sums
        ctx.shape = hidden.shape
        ctx.save_for_backward(hidden, weight, bias)
        return _put(losses, kept, targets.numel()).view(targets.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        hidden, weight, bias = ctx.saved_tensors
        block: Tensor = ctx.loan.matrix.to(ctx.dtype)
        scale = _take(grad.reshape(-1), ctx.kept).unsqueeze(1) / ctx.sums
        d_hidden = d_weight = d_bias = None
        if ctx.needs_input_grad[0]:
            rows = (block @ weight.to(ctx.dtype)).mul_(scale)
            d_hidden = _put(rows, ctx.kept, grad.numel()).view(ctx.shape).to(hidden.dtype)
        if ctx.needs_input_grad[1]:
            rows = _take(hidden.reshape(-1, hidden.shape[-1]), ctx.kept)
            d_weight = (block.t() @ (rows * scale).to(ctx.dtype)).to(weight.dtype)
        if bias is not None and ctx.needs_input_grad[2]:
            d_bias = torch.mv(ctx.loan.matrix.t(), scale.squeeze(1)).to(bias.dtype)
        return d_hidden, d_weight, d_bias, None


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

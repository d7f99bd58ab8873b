"""LSTMs: the recurrence written out, so that the gradients of the gates can be seen.

torch's own LSTM is one closed operation. For a private pass the module's forward is replaced by one input projection
for all time steps and a recurrence with a hand-written backward. The gradient [T, B, 4H] of the projection is the g of
two ordinary linear layers, one on the inputs and one on the hidden states of the step before.

Any number of layers, one or two directions, batch first or not, with or without initial state, dropout between
layers. Not covered (the exact slow way is taken): projections, packed sequences, input without a batch dimension.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from discreet.engine.clipping.contract import LAYERS, Listener, NoRule, computes_as
from discreet.engine.clipping.pieces import Outer, Piece, Whole

State = tuple[Tensor, Tensor]


@LAYERS.register("lstm")
class LSTMRule:
    """Replaces the forward for the time of the pass."""

    def matches(self, module: nn.Module) -> bool:
        return computes_as(module, nn.LSTM) and getattr(module, "proj_size", 0) == 0

    def attach(self, module: Any, listener: Listener) -> Callable[[], None]:
        module.forward = lambda given, hx=None: _forward(module, listener, given, hx)
        return lambda: delattr(module, "forward")


def _forward(module: nn.LSTM, listener: Listener, given: Tensor, hx: State | None) -> tuple[Tensor, State]:
    """What `nn.LSTM.forward` computes, layer by layer and direction by direction."""
    if not isinstance(given, Tensor) or given.dim() != 3:
        raise NoRule("an LSTM is given a packed sequence or a single record without a batch dimension")
    directions = 2 if module.bidirectional else 1
    x = (given.transpose(0, 1) if module.batch_first else given).contiguous()
    if hx is None:
        zeros = torch.zeros(module.num_layers * directions, x.shape[1], module.hidden_size, device=x.device)
        hx = zeros, zeros
    last_h, last_c = [], []
    for layer in range(module.num_layers):
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            suffix = f"l{layer}_reverse" if direction else f"l{layer}"
            steps = x.flip(0) if direction else x
            out, h, c = _one_direction(module, suffix, listener, steps, hx[0][index], hx[1][index])
            outputs.append(out.flip(0) if direction else out)
            last_h.append(h)
            last_c.append(c)
        x = torch.cat(outputs, 2) if module.bidirectional else outputs[0]
        if module.dropout and layer + 1 < module.num_layers:
            x = F.dropout(x, module.dropout, module.training)
    output = x.transpose(0, 1) if module.batch_first else x
    return output, (torch.stack(last_h), torch.stack(last_c))


def _one_direction(
    module: nn.LSTM, suffix: str, listener: Listener, x: Tensor, h0: Tensor, c0: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One layer in one direction over x [T, B, I]: the outputs [T, B, H] and the last state."""
    weight, recurrent = getattr(module, f"weight_ih_{suffix}"), getattr(module, f"weight_hh_{suffix}")
    biases = [getattr(module, f"bias_{which}_{suffix}") for which in ("ih", "hh")] if module.bias else []
    notes: list[Tensor] = []  # the recurrence leaves its hidden states here

    def report(kept: tuple[Tensor, ...], g: Tensor) -> Iterator[tuple[Tensor, Piece]]:
        if g.dtype == torch.bfloat16:  # products in it take a record's gates by time: turned once for both weights
            g = g.transpose(1, 2).contiguous().transpose(1, 2)
        yield weight, Outer(g, kept[0])
        before = notes[0].transpose(0, 1)
        yield recurrent, Outer(g, before if len(before) == len(g) else before.reshape(len(g), -1, before.shape[2]))
        if biases:
            summed = Whole(g.sum(1))
            yield from ((bias, summed) for bias in biases)

    projected = listener.watch(module, (x,), F.linear(x, weight, sum(biases) if biases else None), report)
    out, h, c = _Recurrence.apply(projected, recurrent, h0, c0, notes)  # type: ignore[no-untyped-call]
    return out, h, c


class _Recurrence(torch.autograd.Function):
    """From projected inputs [T, B, 4H] to hidden states; gates lie in torch's order i, f, g, o.

    Under autocast to bfloat16, products are taken in it, as torch's own LSTM does; states and gates stay as they are.
    """

    @staticmethod
    def forward(ctx: Any, projected: Tensor, recurrent: Tensor, h0: Tensor, c0: Tensor, notes: list[Tensor]) -> Any:
        length, _, width = projected.shape
        hidden = width // 4
        ctx.precision = torch.bfloat16 if projected.dtype == torch.bfloat16 else recurrent.dtype
        projected = projected.to(ctx.precision)
        gates = recurrent.new_empty(projected.shape)
        history, cells = (gates.new_empty(length + 1, *h0.shape) for _ in range(2))
        tanh_cells = torch.empty_like(cells[1:])
        history[0], cells[0] = h0, c0
        transposed = recurrent.t().to(ctx.precision).contiguous()
        i, f, g, o = (gate.unbind() for gate in torch.split(gates, hidden, 2))
        both = gates[:, :, : 2 * hidden].unbind()
        for t in range(length):
            _add_product(projected[t], history[t], transposed, gates[t])
            both[t].sigmoid_(), g[t].tanh_(), o[t].sigmoid_()
            cell = torch.mul(f[t], cells[t], out=cells[t + 1]).addcmul_(i[t], g[t])
            torch.mul(o[t], torch.tanh(cell, out=tanh_cells[t]), out=history[t + 1])
        notes.append(history[:-1])
        ctx.kept = gates, cells[:-1], tanh_cells, history[:-1]
        ctx.save_for_backward(recurrent)
        return history[1:], history[-1].clone(), cells[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor, d_last_h: Tensor, d_last_c: Tensor) -> tuple[Tensor | None, ...]:
        (recurrent,) = ctx.saved_tensors
        gates, cells, tanh_cells, history = ctx.kept
        length, records, width = gates.shape
        i, f, g, o = gates.view(length, records, 4, width // 4).unbind(2)
        # derivatives of the cell and the gates with respect to their inputs, for all steps at once
        cell_slope = (1 - tanh_cells.square()).mul_(o)
        output_slope = (tanh_cells * o).mul_(1 - o)
        inner_slopes = torch.stack((g * i * (1 - i), cells * f * (1 - f), i * (1 - g.square())), 2)

        d_gates = torch.empty_like(gates)
        d_inner = d_gates.view(length, records, 4, -1)[:, :, :3].unbind()
        d_output = d_gates.view(length, records, 4, -1)[:, :, 3].unbind()
        d_h, d_c = d_last_h.to(gates.dtype), d_last_c.to(gates.dtype, copy=True)
        weight = recurrent.to(ctx.precision)
        for t in reversed(range(length)):
            d_h = d_h + d_out[t]
            d_c.addcmul_(d_h, cell_slope[t])
            torch.mul(d_c.unsqueeze(1), inner_slopes[t], out=d_inner[t])
            torch.mul(d_h, output_slope[t], out=d_output[t])
            d_c.mul_(f[t])
            d_h = (d_gates[t].to(ctx.precision) @ weight).to(gates.dtype)
        d_recurrent = None
        if ctx.needs_input_grad[1]:
            d_recurrent = d_gates.flatten(0, 1).t() @ history.flatten(0, 1)
        return d_gates, d_recurrent, d_h, d_c, None


def _add_product(given: Tensor, states: Tensor, weight: Tensor, out: Tensor) -> None:
    """out = given + states weight, multiplied in the precision of the weight."""
    if weight.dtype == out.dtype:
        torch.addmm(given, states, weight, out=out)
    else:
        out.copy_(torch.addmm(given, states.to(weight.dtype), weight))

"""An LSTM's steps through time, with a backward that leaves the gradients of the gates to be seen.

    out, last_h, last_c = recur(projected, recurrent, h0, c0, notes)     # [T, B, 4H], [4H, H], [B, H], [B, H]

`projected` is what the input adds to the gates, in torch's order i, f, g, o; its gradient is the gates' own. The hidden
states before each step, [T, B, H], are left in `notes`.

There are two ways, and both compute the same. `_Operations` is the plain one, of torch operations: every precision,
every device. `_Compiled` is for single precision on a processor, which is what training mostly is: one product and one
compiled call (`gates`) a step. It multiplies each gate by itself, because four small products on two threads take
about half as long as one wide product of a few rows; backward, each gives a part of the hidden state's gradient.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def recur(
    projected: Tensor, recurrent: Tensor, h0: Tensor, c0: Tensor, notes: list[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """The hidden states [T, B, H] and the last state, from where the first state and the inputs lead."""
    given = (projected, recurrent, h0, c0)
    way = _Compiled if all(t.dtype == torch.float32 and t.device.type == "cpu" for t in given) else _Operations
    out, h, c = way.apply(*given, notes)  # type: ignore[no-untyped-call]
    return out, h, c


class _Compiled(torch.autograd.Function):
    """A batched product over the gates and a compiled call for each step."""

    @staticmethod
    def forward(ctx: Any, projected: Tensor, recurrent: Tensor, h0: Tensor, c0: Tensor, notes: list[Tensor]) -> Any:
        from discreet.engine.gates import open_gates  # the compiler takes half a second to import

        length, records, hidden = len(projected), *h0.shape
        gates = projected.new_empty(length, 4, records, hidden)
        history, cells = (gates.new_empty(length + 1, records, hidden) for _ in range(2))
        tanh_cells = torch.empty_like(cells[1:])
        history[0], cells[0] = h0, c0
        weights = recurrent.view(4, hidden, hidden).transpose(1, 2)
        states, products = history.unsqueeze(1).expand(-1, 4, -1, -1).unbind(), gates.unbind()
        given = projected.detach().contiguous().view(length, records, 4, hidden).numpy()
        arrays = given, *(t.flatten(-2).numpy() for t in (gates, cells, tanh_cells, history))
        for t in range(length):
            torch.bmm(states[t], weights, out=products[t])
            open_gates(*arrays, t)
        notes.append(history[:-1])
        ctx.kept = gates, cells[:-1], tanh_cells, history[:-1]
        ctx.save_for_backward(recurrent)
        return history[1:], history[-1].clone(), cells[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor, d_last_h: Tensor, d_last_c: Tensor) -> tuple[Tensor | None, ...]:
        from discreet.engine.gates import close_gates

        (recurrent,) = ctx.saved_tensors
        gates, cells, tanh_cells, history = ctx.kept
        length, _, records, hidden = gates.shape
        weights = recurrent.view(4, hidden, hidden)
        d_gates = gates.new_empty(length, records, 4, hidden)
        by_gate = d_gates.transpose(1, 2).unbind()
        d_parts = gates.new_zeros(4, records, hidden)
        d_parts[0] = d_last_h
        d_cell = d_last_c.clone(memory_format=torch.contiguous_format)
        arrays = (*(t.flatten(-2).numpy() for t in (d_out.contiguous(), gates, cells, tanh_cells, d_parts, d_cell)),)
        for t in reversed(range(length)):
            close_gates(*arrays, d_gates.numpy(), t)
            torch.bmm(by_gate[t], weights, out=d_parts)
        d_gates = d_gates.flatten(2)
        return d_gates, _d_recurrent(ctx, d_gates, history), d_parts.sum(0), d_cell, None


class _Operations(torch.autograd.Function):
    """The same in torch operations.

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
        return d_gates, _d_recurrent(ctx, d_gates, history), d_h, d_c, None


def _d_recurrent(ctx: Any, d_gates: Tensor, history: Tensor) -> Tensor | None:
    """The weight's own gradient, where it is asked for: a private pass finds it record by record instead."""
    return d_gates.flatten(0, 1).t() @ history.flatten(0, 1) if ctx.needs_input_grad[1] else None


def _add_product(given: Tensor, states: Tensor, weight: Tensor, out: Tensor) -> None:
    """out = given + states weight, multiplied in the precision of the weight."""
    if weight.dtype == out.dtype:
        torch.addmm(given, states, weight, out=out)
    else:
        out.copy_(torch.addmm(given, states.to(weight.dtype), weight))

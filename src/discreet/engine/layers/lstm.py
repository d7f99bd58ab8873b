"""LSTMs: the recurrence written out, so that the gradients of the gates can be seen.

torch's own LSTM is one closed operation. For a private pass the module's forward is replaced by one input projection
for all time steps and a recurrence with a hand-written backward (`discreet.engine.recurrence`). The gradient [T, B, 4H]
of the projection is the g of two ordinary linear layers, one on the inputs and one on the hidden states of the step
before.

Any number of layers, one or two directions, batch first or not, with or without initial state, dropout between
layers. Not covered (the exact slow way is taken): projections, packed sequences, input without a batch dimension.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from discreet.engine.clipping.contract import LAYERS, Listener, NoRule, computes_as
from discreet.engine.clipping.pieces import Outer, Piece, Whole
from discreet.engine.recurrence import recur

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
    return recur(projected, recurrent, h0, c0, notes)

"""The tape of one private pass: which parameters were used, with what inputs, and the gradients that came back.

    tape = Tape(coverage, batch, layouts, costs)
    with coverage.watched_by(tape):
        losses = loss(model, batch)          # layer rules call `watch`
        losses.sum().backward()              # each watched layer reports its pieces
    tape.squares()                           # per parameter and record

A watched layer's output passes through an identity whose backward hands (kept tensors, gradient) to the layer's rule.
The kept tensors are saved the way autograd saves its own, so gradient checkpointing drops and recomputes them too. An
`anchor` that requires a gradient makes autograd come this far although every parameter is frozen.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from discreet.engine.clipping.contract import Listener, NoRule, Place, Report
from discreet.engine.clipping.costs import Costs
from discreet.engine.clipping.joined import join, squares_of
from discreet.engine.clipping.layout import Layout, Layouts, records_first, spread
from discreet.engine.clipping.pieces import Piece
from discreet.engine.clipping.products import full_precision

TOLERANCE, HALF_TOLERANCE = 1e-3, 5e-2


def tolerance_of(tensor: Tensor) -> float:
    """How far two ways of computing may be apart where tensors like this one are about."""
    return HALF_TOLERANCE if tensor.dtype in (torch.bfloat16, torch.float16) else TOLERANCE


class Tape(Listener):
    """Collects the pieces of one batch.

    `uses` is how often each parameter is known to be used: the norm of a parameter used once is taken as soon as its
    piece arrives, while its tensors are still in the processor's cache.
    """

    def __init__(
        self,
        trained: Mapping[Tensor, str],
        batch: Mapping[str, Tensor],
        layouts: Layouts,
        costs: Costs,
        uses: Mapping[Tensor, int] | None = None,
    ) -> None:
        self.trained, self.layouts, self.costs, self.uses = trained, layouts, costs, uses or {}
        self.records = len(next(iter(batch.values())))
        shapes = [tensor.shape for tensor in batch.values()]
        self.full_rows = {self.records * prod(shape[1:end]) for shape in shapes for end in range(2, len(shape) + 1)}
        self.anchor = torch.zeros((), requires_grad=True)
        self.tolerance = TOLERANCE
        self.rewind()

    def rewind(self) -> None:
        """Forgets what came back, to listen to another backward."""
        self.pieces: dict[Tensor, list[Piece]] = defaultdict(list)
        self.used: Counter[Tensor] = Counter()
        self.early: dict[Tensor, Tensor] = {}

    def watch(self, place: Place, kept: tuple[Tensor, ...], output: Tensor, report: Report) -> Tensor:
        if not torch.is_grad_enabled():
            return output
        if place not in self.layouts:
            raise NoRule(f"a {type(place).__name__} is called in this pass that was not called when it was surveyed")
        self.tolerance = max(self.tolerance, tolerance_of(output))
        *kept_layouts, layout = self.layouts[place]
        if layout is Layout.SHARED:  # from here on each record has its own, so that its gradient stays its own
            output, layout = spread(output, self.records), Layout.FIRST

        def receive(saved: tuple[Tensor, ...], grad: Tensor) -> None:
            # detached: pieces that hold on to the graph, which holds on to this tape, would never be freed
            own = tuple(self._own(tensor.detach(), where) for tensor, where in zip(saved, kept_layouts, strict=True))
            with full_precision(grad.device):
                for parameter, piece in report(own, self._own(grad, layout)):
                    self._add(parameter, piece)

        watched: Tensor = _Watch.apply(self.anchor, output, receive, *kept)  # type: ignore[no-untyped-call]
        return watched

    def squares(self) -> Tensor:
        """The squared norm of each trained parameter's gradient for each record, [parameters, records]."""
        found = []
        for parameter in self.trained:
            pieces = self.pieces.get(parameter, [])
            if not pieces:
                found.append(torch.zeros(self.records, device=parameter.device))
            elif len(pieces) == 1 and parameter in self.early:
                found.append(self.early[parameter])
            else:
                self.pieces[parameter] = pieces = join(pieces)
                found.append(squares_of(pieces, self.costs))
        return torch.stack([squares.double() for squares in found])

    def drop(self, dropped: Tensor) -> None:
        """Forgets what the marked records added."""
        for parameter, pieces in self.pieces.items():
            self.pieces[parameter] = [piece.without(dropped) for piece in pieces]

    def add_to(self, totals: Mapping[str, Tensor], factors: Tensor) -> None:
        """Adds each parameter's sum over records of factor * gradient; factors [parameters, records]."""
        for (parameter, name), own in zip(self.trained.items(), factors, strict=True):
            for piece in self.pieces.get(parameter, ()):
                piece.add_to(totals[name], own)

    def _add(self, parameter: Tensor, piece: Piece) -> None:
        if parameter not in self.trained:
            return
        self.pieces[parameter].append(piece)
        self.used[parameter] += 1
        if self.uses.get(parameter) == 1 and len(self.pieces[parameter]) == 1:
            self.early[parameter] = piece.squares(self.costs)

    def _own(self, tensor: Tensor, layout: Layout) -> Tensor:
        shared = {Layout.FLAT: 0, Layout.SECOND_FLAT: 1}.get(layout)
        if shared is not None and tensor.shape[shared] not in self.full_rows:
            raise NoRule("a layer is given a selection of the records' rows, so which row is whose cannot be known")
        return records_first(tensor, layout, self.records)


class _Watch(torch.autograd.Function):
    """The identity on `output`; its backward calls `receive(kept tensors, gradient)`."""

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, output: Tensor, receive: Any, *kept: Tensor) -> Tensor:
        ctx.receive = receive
        ctx.save_for_backward(*kept)
        return output.detach()  # not `output` itself: an in-place activation may follow

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        kept = ctx.saved_tensors  # once: reading them again would make a checkpoint compute them again
        ctx.receive(kept, grad)
        return None, grad, None, *[None] * len(kept)

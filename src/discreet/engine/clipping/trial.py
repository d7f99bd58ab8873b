"""Before rules are believed they are tried: on two records of the batch at hand, against autograd on the same graph.

A layer rule is a claim about code it did not write. A subclass may compute something else, a function may use a weight
behind its module's back, a model may hold time before records or mix records of a batch. None of this may pass unseen,
because a wrong norm is a wrong guarantee. So for each model, once:

1. `survey` runs it on two and on three records without gradients: which dimension holds the records at each layer, and
   whether the losses of the first two change when a third comes (then they are not losses of single records: refused).
2. `Trial` runs it on two records with the layers watched *and* the parameters asking for gradients. Each record's loss is
   pulled back by autograd; the pieces must give the same gradients and norms, parameter by parameter.

A parameter whose gradient happens to be zero there (half of a fresh LoRA layer) is not yet believed: `clipped` tries
again as soon as it contributes.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from discreet.engine.clipping.contract import Listener, NoRule, Place, Report
from discreet.engine.clipping.costs import Costs
from discreet.engine.clipping.coverage import Coverage
from discreet.engine.clipping.fallback import Loss, gradients
from discreet.engine.clipping.layout import Layout, infer, some_records
from discreet.engine.clipping.tape import Tape
from discreet.errors import RefusedError

TOLERANCE, HALF_TOLERANCE = 1e-3, 5e-2
NEGLIGIBLE = 1e-3
"""The share of a record's norm below which a parameter's piece need not be believed: the norm is then off by less than
half its square, which the slack of the clip (1e-6) pays for."""


class Survey(Listener):
    """Notes the shapes at each place and passes everything on."""

    def __init__(self, trained: Mapping[nn.Parameter, str]) -> None:
        self.trained = trained
        self.shapes: dict[Place, list[tuple[torch.Size, ...]]] = {}

    def watch(self, place: Place, kept: tuple[Tensor, ...], output: Tensor, report: Report) -> Tensor:
        self.shapes.setdefault(place, []).append((*(tensor.shape for tensor in kept), output.shape))
        return output


def survey(coverage: Coverage, batch: Mapping[str, Tensor], loss: Loss) -> dict[Place, tuple[Layout, ...]]:
    """The layouts at each place, or `NoRule`; refuses a loss whose records are not independent."""
    records = len(next(iter(batch.values())))
    shapes, losses = [], []
    with _as_in_evaluation(coverage.model), torch.no_grad(), torch.random.fork_rng():
        for count in (2, 3):
            notes = Survey(coverage.trained)
            with coverage.watched_by(notes, frozen=False):
                losses.append(loss(coverage.model, some_records(batch, [i % records for i in range(count)])))
            shapes.append(notes.shapes)
    _refuse_dependent(*losses)
    return {place: _layouts(coverage, place, shapes[0].get(place, []), shapes[1][place]) for place in shapes[1]}

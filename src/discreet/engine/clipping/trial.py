"""Before rules are believed they are tried: on two records of the batch at hand, against autograd on the same graph.

A layer rule is a claim about code it did not write. A subclass may compute something else, a function may use a weight
behind its module's back, a model may hold time before records or mix records of a batch. None of this may pass unseen,
because a wrong norm is a wrong guarantee. So for each model, once:

1. `survey` runs it on two and on three records without gradients: which dimension holds the records at each layer, and
   whether the losses of the first two change when a third comes (then they are not losses of single records: refused).
2. `trial` runs it on two records with the layers watched *and* the parameters asking for gradients. Each record's loss
   is pulled back by autograd; the pieces must give the same gradients and norms, parameter by parameter, and nothing
   for the other record.

A parameter whose gradient happens to be zero there (half of a fresh LoRA layer) is not yet believed: `clipped` tries
again as soon as it contributes.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from discreet.engine.clipping.contract import Listener, NoRule, Place, Report
from discreet.engine.clipping.costs import Costs
from discreet.engine.clipping.coverage import Coverage
from discreet.engine.clipping.fallback import Loss, gradients
from discreet.engine.clipping.layout import Layout, Layouts, infer, some_records
from discreet.engine.clipping.products import full_precision, squares_of_rows
from discreet.engine.clipping.tape import TOLERANCE, Tape, tolerance_of
from discreet.errors import InputError, RefusedError

NEGLIGIBLE = 1e-3
"""The share of a record's norm below which a parameter's piece need not be believed: the norm is then off by less than
half its square, which the slack of the clip (1e-6) pays for."""


class Verdict(NamedTuple):
    """What a trial found: how often each parameter is used, and the names of those whose rule was seen to be right."""

    uses: dict[Tensor, int]
    believed: set[str]


class Survey(Listener):
    """Notes the shapes at each place and passes everything on."""

    def __init__(self, trained: Mapping[Tensor, str]) -> None:
        self.trained = trained
        self.shapes: dict[Place, list[tuple[torch.Size, ...]]] = {}
        self.tolerance = TOLERANCE

    def watch(self, place: Place, kept: tuple[Tensor, ...], output: Tensor, report: Report) -> Tensor:
        self.shapes.setdefault(place, []).append((*(tensor.shape for tensor in kept), output.shape))
        self.tolerance = max(self.tolerance, tolerance_of(output))
        return output


def survey(coverage: Coverage, batch: Mapping[str, Tensor], loss: Loss) -> dict[object, tuple[Layout, ...]]:
    """The layouts at each place, or `NoRule`; refuses a loss whose records are not independent."""
    records = len(next(iter(batch.values())))
    surveys, losses = [], []
    with _evaluating(coverage.model), torch.no_grad(), _leaving_no_trace():
        for count in (2, 3):
            surveys.append(Survey(coverage.trained))
            with coverage.watched_by(surveys[-1], frozen=False):
                chosen = some_records(batch, [index % records for index in range(count)])
                losses.append(one_per_record(loss(coverage.model, chosen), count))
    if not torch.allclose(losses[0], losses[1][:2], rtol=surveys[0].tolerance, atol=1e-6, equal_nan=True):
        raise RefusedError(
            "The loss of a record changes when another record joins the batch, so its gradient cannot be clipped; "
            "return losses that depend on their own record only (no averages over the batch, no batch statistics)."
        )
    two, three = (survey.shapes for survey in surveys)
    return {place: _layouts(coverage.name(place), two.get(place, []), three.get(place, [])) for place in two | three}


def one_per_record(losses: Tensor, records: int) -> Tensor:
    """The losses, if they are what a loss must return."""
    if losses.shape != (records,):
        raise InputError(f"The loss must return one number for each of {records} records, not {list(losses.shape)}.")
    return losses


def _layouts(name: str, two: list[tuple[torch.Size, ...]], three: list[tuple[torch.Size, ...]]) -> tuple[Layout, ...]:
    if len(two) != len(three):
        raise NoRule(f"{name} is called more often when there are more records")
    seen = {tuple(infer(a, b) for a, b in zip(*shapes, strict=True)) for shapes in zip(two, three, strict=True)}
    only = seen.pop()
    known = tuple(layout for layout in only if layout is not None)
    if seen or len(known) < len(only):
        raise NoRule(f"{name} does not keep its records in one dimension")
    return known


def trial(coverage: Coverage, batch: Mapping[str, Tensor], layouts: Layouts, loss: Loss, costs: Costs) -> Verdict:
    """Compares rules with autograd on every record of a small batch; raises `NoRule` where they disagree."""
    tape = Tape(coverage.trained, batch, layouts, costs)
    used: Counter[Tensor] = Counter()
    believed: set[str] = set()
    with torch.enable_grad(), _leaving_no_trace(), coverage.watched_by(tape, frozen=False):
        losses = one_per_record(loss(coverage.model, dict(batch)), tape.records)
        for record in range(tape.records):
            tape.rewind()
            truth = gradients(losses[record], coverage.trained, again=True)
            with torch.no_grad(), full_precision(losses.device):
                believed |= _compare(tape, record, truth)
            used |= tape.used
            del truth  # as large as the model, and the next one is about to come
    for parameter, name in coverage.trained.items():
        if not used[parameter] and not coverage.speaks_for(parameter):
            raise NoRule(f"no rule speaks for the parameter {name}")
    return Verdict(dict(used), believed)


def _compare(tape: Tape, record: int, truth: list[Tensor]) -> set[str]:
    """Holds the pieces of one record's loss against its gradients.

    Returns the names of the parameters whose piece is right and not negligible.
    """
    sizes = [_norm(grad) for grad in truth]
    whole = math.hypot(*sizes)
    if not math.isfinite(whole):
        return set()
    norms = tape.squares().clamp_min(0).sqrt()
    believed = set()
    for (parameter, name), grad, size, own in zip(tape.trained.items(), truth, sizes, norms.tolist(), strict=True):
        found = sum((piece.of_record(record) for piece in tape.pieces[parameter]), torch.zeros_like(grad))
        error = abs(own.pop(record) - size) + _norm(found - grad)
        error += sum(filter(math.isfinite, own))  # the other may be a record that is not a number
        if not error <= tape.tolerance * (size + NEGLIGIBLE * whole):
            raise NoRule(f"the rule for {name} does not give what autograd gives; it may be used in some other way")
        if size > NEGLIGIBLE / 10 * whole:  # here the error was at most 1 %
            believed.add(name)
    return believed


def _norm(gradient: Tensor) -> float:
    """In double precision: torch's own norm of some forty million numbers is off by more than the tolerance."""
    return float(squares_of_rows(gradient.reshape(1, -1)).sqrt())


@contextmanager
def _leaving_no_trace() -> Iterator[None]:
    """Within, random numbers are drawn from a copy of the generator, and autocast does not remember its casts.

    It would hand out weights cast without gradients to a pass that needs them.
    """
    torch.clear_autocast_cache()
    with torch.random.fork_rng():
        yield
    torch.clear_autocast_cache()


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Within, dropout is off; afterwards every module is in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode

"""The sum of per-record gradients, each clipped: the one thing DP-SGD needs from a model.

    def loss(model, batch):                                  # one number for each record
        logits = model(batch["ids"]).logits[:, :-1]
        return F.cross_entropy(logits.transpose(1, 2), batch["ids"][:, 1:], reduction="none").sum(1)

    sums, norms = clipped_sum(model, {"ids": ids}, loss, clip=1.0)

`sums` maps the name of every trainable parameter to the sum over records of its gradient times min(1, C / norm);
`norms` are the unclipped norms over all trainable parameters. A loop over single records gives the same to 1e-5.

A training step keeps a `ClippedBackward`, which adds onto buffers that already hold the noise, over as many physical
batches as it takes, and tries the rules (`trial`) once instead of every time.

Sharp edges. A model the rules do not fit is done record by record with a warning, or refused with `strict=True`. Batch
normalisation is refused: its records have no gradients of their own. A record whose norm is not finite adds nothing
and is counted in `skipped`. In a model with dropout each record has its own masks, drawn in another order than a loop
would draw them.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from discreet.engine.clipping.contract import NoRule
from discreet.engine.clipping.costs import Costs
from discreet.engine.clipping.fallback import Loss, each_record
from discreet.engine.clipping.products import full_precision, squares_of_rows, wide
from discreet.engine.clipping.strategies import Clip, Strategy
from discreet.engine.clipping.tape import Tape
from discreet.engine.clipping.trial import one_per_record
from discreet.engine.clipping.trust import Knowledge, Trust
from discreet.errors import InputError


class Outcome(NamedTuple):
    """What a pass tells besides its sums; none of it is private unless it is released with noise."""

    norms: Tensor
    """Unclipped norms over all trainable parameters, [B]."""
    losses: Tensor
    skipped: int
    """Records left out because their norm was not a finite number."""


def clipped_sum(
    model: nn.Module,
    batch: Mapping[str, Tensor],
    loss: Loss,
    clip: float | Strategy,
    *,
    strict: bool = False,
    costs: Costs | None = None,
) -> tuple[dict[str, Tensor], Tensor]:
    """The clipped sum of each trainable parameter's per-record gradients, and the norms before clipping."""
    backward = ClippedBackward(model, loss, clip, strict=strict, costs=costs or Costs(measure=False))
    sums = backward.zeros()
    return sums, backward.add(batch, sums).norms


class ClippedBackward:
    """Adds clipped sums onto buffers, batch after batch; the model is an ordinary model before and after each."""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        clip: float | Strategy,
        *,
        strict: bool = False,
        costs: Costs | None = None,
    ) -> None:
        self.strategy: Strategy = Clip(clip) if isinstance(clip, (int, float)) else clip
        self._trust = Trust(model, loss, costs or Costs(), strict=strict)
        self._model, self._loss = model, loss

    def zeros(self) -> dict[str, Tensor]:
        """Empty buffers for `add`."""
        return {n: torch.zeros_like(wide(p.detach())) for n, p in self._model.named_parameters() if p.requires_grad}

    def add(self, batch: Mapping[str, Tensor], totals: Mapping[str, Tensor]) -> Outcome:
        """Adds the clipped sum of a batch to `totals`, by parameter name; an empty batch adds nothing."""
        if not _records(batch):
            return Outcome(torch.zeros(0), torch.zeros(0), 0)
        known = self._trust.knowledge(batch)
        if known.slow is None:
            try:
                return self._together(known, batch, totals)
            except NoRule as reason:  # raised before anything is added
                self._trust.give_up(known, str(reason))
        return self._one_by_one(known, batch, totals)

    def _together(self, known: Knowledge, batch: Mapping[str, Tensor], totals: Mapping[str, Tensor]) -> Outcome:
        """All records in one backward pass."""
        trained = known.coverage.trained
        tape = Tape(trained, batch, known.layouts, self._trust.costs, known.uses)
        with torch.enable_grad(), known.coverage.watched_by(tape):
            losses = one_per_record(self._loss(self._model, dict(batch)), tape.records)
            if losses.requires_grad:
                torch.autograd.backward(losses.sum())
        with torch.no_grad(), full_precision(losses.device):
            squares = tape.squares().clamp_min(0)
        self._trust.doubt(known, batch, squares)
        with torch.no_grad(), full_precision(losses.device):
            factors, skipped = self._factors(squares, list(trained.values()))
            if skipped.any():
                tape.drop(skipped)
            tape.add_to(totals, factors)
        return Outcome(squares.sum(0).sqrt().float(), losses.detach(), int(skipped.sum()))

    def _one_by_one(self, known: Knowledge, batch: Mapping[str, Tensor], totals: Mapping[str, Tensor]) -> Outcome:
        """Each record in a backward pass of its own."""
        trained = known.coverage.trained
        names = list(trained.values())
        norms, losses, skips = [], [], 0
        with torch.enable_grad():
            for value, grads in each_record(self._model, batch, self._loss, trained):
                squares = torch.stack([squares_of_rows(grad.reshape(1, -1)) for grad in grads])
                factors, skipped = self._factors(squares, names)
                skips += int(skipped)
                if not skipped:
                    for name, grad, factor in zip(names, grads, factors, strict=True):
                        totals[name].add_(grad, alpha=float(factor))
                norms.append(squares.sum().sqrt().float())
                losses.append(value)
        return Outcome(torch.stack(norms), torch.stack(losses), skips)

    def _factors(self, squares: Tensor, names: list[str]) -> tuple[Tensor, Tensor]:
        """Factors [parameters, records], and which records are left out because their norm is not a finite number."""
        skipped = ~torch.isfinite(squares.sum(0))
        factors = self.strategy.factors(squares.masked_fill(skipped, 0), names)
        return factors.masked_fill(skipped, 0).float(), skipped


def _records(batch: Mapping[str, Tensor]) -> int:
    """How many records the batch has, if its tensors agree."""
    if not batch:
        raise InputError("The batch has no tensors; give a mapping of names to tensors with records along dimension 0.")
    for name, tensor in batch.items():
        if not isinstance(tensor, Tensor) or not tensor.dim():
            raise InputError(f"'{name}' of the batch is not a tensor with records along dimension 0.")
    sizes = {name: len(tensor) for name, tensor in batch.items()}
    if len(set(sizes.values())) > 1:
        raise InputError(f"The tensors of the batch have different numbers of records: {sizes}.")
    return next(iter(sizes.values()))

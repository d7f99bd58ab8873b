"""Selective training, ours: public text teaches without noise, secrets teach through one noised update a step.

1. Plain training on redacted text: everything but the secrets is learned at no cost. With `redaction.style: surrogate`
   made-up secrets stand in it, and what secrets of each kind look like is learned at no cost too.
2. Joint steps. Each draws its own Poisson batch of records with secrets, takes the loss over their secret targets only
   (read in their real context), clips the gradient of each record, adds up, adds noise. To that comes the gradient of
   a batch of redacted text, which needs no noise. One optimizer step applies both.

Why joint: a step that only learns secrets pulls the weights away from the public text, and its noise does so in all
directions; the public gradient in the same step holds against both, for free. Why secret targets only: the clip norm
is then spent on what must be learned privately. One joint update over all secrets of a record is one release, where the
published algorithm (`selective-paper`) makes one for each segment.

The public part reads redacted text and weights that are private already, so it is post-processing: formula B
(ACCOUNTING.md, section 2). Nothing of a record's state is carried anywhere.
"""

from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.selective import SelectivePrivacy
from discreet.engine.precision import autocast, resolve
from discreet.errors import InputError
from discreet.mechanisms.contract import MECHANISMS
from discreet.mechanisms.existing import check_existing
from discreet.mechanisms.private import PrivateOptions, delta_of, planned, run_phase
from discreet.mechanisms.training import Training

CHECKS = ("public-updates", "own-batches", "targets", "tokens", "no-carry-between")


class SelectiveOptions(PrivateOptions):
    public_weight: Annotated[float, Field(ge=0)] = 1.0
    """Of the public gradient in a joint step."""
    public_batches: Annotated[int, Field(ge=1)] = 8
    """Of redacted text in a joint step, each of training.batch_size: few steps need a steady public gradient."""
    existing: str | None = None
    """A finished run of mechanism `redacted` on the same corpus and policy, in place of the plain training."""


@MECHANISMS.register("selective")
class Selective:
    """Learns public text plainly and secrets through noised updates of their own."""

    needs_policy = True
    Options = SelectiveOptions

    def train(self, training: Training, options: SelectiveOptions) -> Guarantee:
        training.must_be_language()
        redacted = training.redacted("train")
        if options.existing is None:
            training.fit_public(redacted, choose=options.validation == "public")
        else:
            check_existing(training, Path(options.existing))
        everything = training.encoded("train")
        examples = everything.with_secrets()
        if not len(examples):
            raise InputError("The policy finds no secrets in the training text; train with the mechanism 'none'.")
        if options.unit == "record":  # delta is one over ten times all records, not only those that hold secrets
            options = options.model_copy(update={"delta": delta_of(options, len(everything))})
        units = training.unit_count(examples, options.unit)
        plan = planned("selective", options, units, options.epochs or training.recipe.training.epochs)
        public = (
            PublicGradient(training, redacted, options.public_weight, options.public_batches)
            if options.public_weight
            else None
        )
        phase = run_phase(training, examples, plan, options, phase="secrets", secrets_only=True, public=public)
        notion = SelectivePrivacy(
            plan=plan,
            delta=delta_of(options, units),
            records=units,
            spent=phase.spent,
            checked=(*phase.checked, *CHECKS),
        )
        return notion.guarantee()


class PublicGradient:
    """Adds the gradient of redacted text to what is on the parameters; which text follows from the step."""

    def __init__(self, training: Training, redacted: Any, weight: float, batches: int = 1) -> None:
        self._training, self.weight, self.batches = training, weight, batches
        self._source = training.task.source(redacted, training.recipe.training, training.recipe.seed + 1)
        self._precision = resolve(training.recipe.training.precision)
        self._epoch, self._plan = -1, self._source.plan(0)

    def __call__(self, step: int) -> None:
        share = self.weight / self.batches
        for number in range(step * self.batches, (step + 1) * self.batches):
            with autocast(self._precision):
                total, count = self._training.task.loss(self._training.model, self._batch(number))
            if count:
                torch.autograd.backward(total * (share / count))

    def _batch(self, number: int) -> Any:
        epoch, within = divmod(number, len(self._plan))
        if epoch != self._epoch:
            self._epoch, self._plan = epoch, self._source.plan(epoch)
        return self._source.load(self._plan[within])

"""Selective-DPSGD as published (Shi et al. 2022, Algorithm 1), for LSTMs: here to be compared with.

A batch of records is read segment by segment. Public segments make ordinary updates. A private segment makes one
update from clipped, noised gradients; the state (h, c) it leaves is clipped and noised before it is handed on, or
reset.

What the paper counts as amplified by sampling is not: the public updates, which carry no noise, show who is in the
batch. The guarantee is formula A (ACCOUNTING.md, section 2), which is large; the paper's own count stands beside it,
labelled. `selective` protects the same secrets at a far smaller epsilon.

Sharp edges. All releases of a batch are paid for in one line of the ledger before the first of them: a kill in the
middle over-counts. The number of private segments of a record follows from where its secrets stand, which selective
privacy does not hide.
"""

from collections import deque
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.selective import SelectivePaper
from discreet.engine.output_layer import output_loss
from discreet.engine.plain import Batch, update
from discreet.engine.precision import resolve
from discreet.engine.private import PrivateStep, StepReport
from discreet.engine.sampling import Draw
from discreet.engine.settings import TrainingSettings
from discreet.errors import InputError, SettingError
from discreet.mechanisms.contract import MECHANISMS
from discreet.mechanisms.language import tensors
from discreet.mechanisms.private import PrivateOptions, delta_of, planned, run_phase
from discreet.mechanisms.segments import Segment, private_segments, segments
from discreet.mechanisms.training import Training
from discreet.models.language import output_layer
from discreet.models.lstm import LSTMLanguageModel
from discreet.text.batching import make_batch
from discreet.text.tokenize import Encoded

CHECKS = ("segments", "states", "targets", "tokens", "no-carry-between")


class SelectivePaperOptions(PrivateOptions):
    batch: Annotated[int, Field(ge=1)] = 7
    """Records a step: shuffled epochs, as in the paper."""
    reset: bool = False
    """Go on from a zero state after a private segment instead of from its noised one."""
    state_clip: Annotated[float, Field(gt=0)] | None = None
    """The norm that h and c are each clipped to; None: that of the gradients."""
    state_noise: Annotated[float, Field(gt=0)] | None = None
    """Noise multiplier of the states; None: that of the gradients."""


@MECHANISMS.register("selective-paper")
class SelectivePaperMechanism:
    """The published algorithm: noised gradients and states for private segments, plain steps for public ones."""

    needs_policy = True
    Options = SelectivePaperOptions

    def train(self, training: Training, options: SelectivePaperOptions) -> Guarantee:
        training.must_be_language()
        if not isinstance(training.model, LSTMLanguageModel):
            raise SettingError("'selective-paper' carries the state of an LSTM; take model: lstm, or 'selective'.")
        if options.unit != "record" or options.max_batch:
            raise SettingError("'selective-paper' goes by records in shuffled epochs; leave out unit and max_batch.")
        examples = training.encoded("train")
        settings = training.recipe.training
        count = private_segments(examples, settings.max_tokens)
        if not count:
            raise InputError("The policy finds no secrets in the training text; train with the mechanism 'none'.")
        state_noise: Any = "none" if options.reset else options.state_noise or "same"
        plan = planned(
            "selective-paper",
            options,
            len(examples),
            options.epochs or settings.epochs,
            shuffled=True,
            segments=count,
            state_noise=state_noise,
        )
        turn = SegmentBySegment(training.model, examples, options, settings)
        phase = run_phase(training, examples, plan, options, loss=segment_loss, turn=turn)
        notion = SelectivePaper(
            plan=plan,
            segments=count,
            state_noise=None if options.reset else options.state_noise or plan.noise,
            delta=delta_of(options, len(examples)),
            records=len(examples),
            spent=phase.spent,
            checked=(*phase.checked, *CHECKS),
        )
        return notion.guarantee()


class SegmentBySegment:
    """What is done with the records drawn for a step: lines 4 to 17 of Algorithm 1."""

    def __init__(
        self, model: LSTMLanguageModel, examples: Encoded, options: SelectivePaperOptions, settings: TrainingSettings
    ) -> None:
        self.model, self.examples, self.options, self.settings = model, examples, options, settings
        self.precision = resolve(settings.precision)

    def __call__(self, step: PrivateStep, optimizer: torch.optim.Optimizer, number: int, draw: Draw) -> StepReport:
        waiting = [deque(segments(self.examples, int(record), self.settings.max_tokens)) for record in draw.records]
        config = self.model.config
        state = torch.zeros(2, len(waiting), config.num_hidden_layers, config.hidden_size)  # h and c of each record
        reports: list[StepReport] = []
        step.pay(number)
        while any(waiting):
            if taken := _take(waiting, private=False):
                batch = self._batch(taken, state)
                update(self.model, batch, public_loss, optimizer, self.settings.gradient_clip, self.precision)
                state[:, list(taken)] = self._state_after(batch)
            if taken := _take(waiting, private=True):
                batch = self._batch(taken, state)
                left = self._state_after(batch)
                reports.append(step(number, [batch], paid=True))
                state[:, list(taken)] = self._released(left, step)
        return _together(reports, number, step.plan.steps, len(waiting), optimizer)

    def _batch(self, taken: dict[int, Segment], state: Tensor) -> dict[str, Tensor]:
        """Segments as rows, each with the state its record has come to."""
        rows = np.array([segment[:3] for segment in taken.values()], np.int64)
        made = tensors(make_batch(self.examples, rows))
        h, c = state[:, list(taken)]
        return {"input_ids": made["input_ids"], "targets": made["targets"], "lengths": made["lengths"], "h": h, "c": c}

    @torch.no_grad()
    def _state_after(self, batch: Batch) -> Tensor:
        """h and c, [2, rows, layers, width], after the last real token of each row."""
        model = self.model
        read = model.dropout(model.embedding(batch["input_ids"]))
        packed = nn.utils.rnn.pack_padded_sequence(read, batch["lengths"], batch_first=True, enforce_sorted=False)
        _, (h, c) = model.lstm(packed, _first(batch))
        return torch.stack((h, c)).transpose(1, 2)

    def _released(self, state: Tensor, step: PrivateStep) -> Tensor:
        """The state that leaves a private segment: h and c each clipped and noised, or nothing."""
        if self.options.reset:
            return torch.zeros_like(state)
        clip = self.options.state_clip or step.plan.clip
        norms = torch.linalg.vector_norm(state.double(), dim=(2, 3), keepdim=True)
        safe = torch.nan_to_num((clip * (1 - 1e-6) / norms).clamp(max=1.0), nan=0.0)
        clipped = (torch.nan_to_num(state.double(), posinf=0.0, neginf=0.0) * safe).float().contiguous()
        step.noise.add_([clipped], (self.options.state_noise or step.plan.noise) * clip)
        return clipped


def _take(waiting: list[deque[Segment]], *, private: bool) -> dict[int, Segment]:
    """The next segment of every record whose next segment is of this kind, by the record's place in the batch."""
    return {at: own.popleft() for at, own in enumerate(waiting) if own and own[0].private == private}


def _first(batch: Batch) -> tuple[Tensor, Tensor]:
    """The states rows begin with, as an LSTM takes them: [layers, rows, width]."""
    return batch["h"].transpose(0, 1).contiguous(), batch["c"].transpose(0, 1).contiguous()


def _losses(model: Any, batch: Batch) -> Tensor:
    weight, bias = output_layer(model)
    hidden, _ = model.hidden(batch["input_ids"], _first(batch))
    return output_loss(hidden, weight, bias, batch["targets"])


def segment_loss(model: nn.Module, batch: Batch) -> Tensor:
    """The mean loss over each row's targets; 0 for a row without any."""
    return _losses(model, batch).sum(1) / (batch["targets"] >= 0).sum(1).clamp(min=1)


def public_loss(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    return _losses(model, batch).sum(), int((batch["targets"] >= 0).sum())


def _together(
    reports: list[StepReport], step: int, steps: int, units: int, optimizer: torch.optim.Optimizer
) -> StepReport:
    """One report of all releases of a batch."""
    releases = max(1, len(reports))
    loss = sum(report.loss for report in reports) / releases
    clipped = sum(report.clipped for report in reports) / releases
    skipped = sum(report.skipped for report in reports)
    return StepReport(step, steps, units, loss, clipped, skipped, float(optimizer.param_groups[0]["lr"]))

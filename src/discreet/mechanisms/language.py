"""Language modelling for the loops of the engine: where batches come from, and what the loss is."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from discreet.engine.output_layer import output_loss
from discreet.engine.plain import Batch
from discreet.engine.sampling import Draw, IntArray
from discreet.engine.settings import TrainingSettings
from discreet.errors import InputError
from discreet.models.adapters import inner
from discreet.models.language import Scores, hidden_states, output_layer, score
from discreet.models.pretrained import context_of
from discreet.text.batching import NO_TARGET, Rows, alike, make_batch, plan_batches, windows
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoded, Encoder


@dataclass(frozen=True)
class LanguageTask:
    """Predicting the next token of records."""

    encoder: Encoder
    context: int | None = None
    """How many tokens the model can read at once, if there is a limit."""

    def encode(
        self,
        pairs: Iterable[tuple[Record, Sequence[Secret]]],
        masks: Callable[[Record], Sequence[Secret]] | None = None,
    ) -> Encoded:
        return self.encoder.encode_all(pairs, masks)

    def source(self, examples: Encoded, settings: TrainingSettings, seed: int) -> "LanguageBatches":
        return LanguageBatches(examples, settings, seed, self.context)

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        return language_loss(model, batch)

    def units(
        self, examples: Encoded, settings: TrainingSettings, physical_tokens: int, *, secrets_only: bool = False
    ) -> "LanguageUnits":
        max_tokens = min(settings.max_tokens, self.context or settings.max_tokens)
        return LanguageUnits(examples, max_tokens, physical_tokens, secrets_only)

    def unit_loss(self, model: nn.Module, batch: Batch) -> Tensor:
        return unit_loss(model, batch)

    def authors(self, examples: Encoded) -> list[IntArray]:
        return authors_of(examples)

    def mean_loss(self, model: nn.Module, examples: Encoded, *, public_only: bool = False) -> float:
        return mean_loss(model, examples, public_only=public_only)


class LanguageBatches:
    """Batches of an encoded split: the order is a function of the seed and the epoch."""

    def __init__(self, encoded: Encoded, settings: TrainingSettings, seed: int, context: int | None = None) -> None:
        """`context` is how many tokens the model can read at once, if there is a limit."""
        self._encoded, self._settings, self._seed = encoded, settings, seed
        self._max_tokens = min(settings.max_tokens, context or settings.max_tokens)

    def plan(self, epoch: int) -> Sequence[Any]:
        s = self._settings
        return plan_batches(
            self._encoded,
            batch_size=s.batch_size,
            max_tokens=self._max_tokens,
            seed=self._seed,
            epoch=epoch,
            bucket=s.bucket,
            one_author=s.one_author,
        )

    def load(self, item: Any) -> Batch:
        return tensors(make_batch(self._encoded, item))


class LanguageUnits:
    """The units of a draw as physical batches: a unit's windows stay together, because it is clipped as a whole.

    Batches are [units, T], or [units, windows, T] where units have several windows; missing ones are padding without
    targets. Units of like size are put together, up to `physical_tokens` with their padding.
    """

    def __init__(self, encoded: Encoded, max_tokens: int, physical_tokens: int, secrets_only: bool = False) -> None:
        self._encoded, self._physical, self._secrets_only = encoded, physical_tokens, secrets_only
        self._windows = windows(encoded, max_tokens)
        self._first = np.searchsorted(self._windows[:, 0], np.arange(len(encoded) + 1))

    def authors(self) -> list[IntArray]:
        return authors_of(self._encoded)

    def batches(self, draw: Draw) -> Iterator[Batch]:
        units = [self._rows(draw.records[draw.owners == unit]) for unit in range(len(draw.units))]
        lengths = [int((rows[:, 2] - rows[:, 1]).max(initial=1)) for rows in units]
        counts = [max(1, len(rows)) for rows in units]
        for chosen in alike(np.array(counts, np.int64), np.array(lengths, np.int64), self._physical):
            yield self._batch([units[unit] for unit in chosen])

    def _rows(self, records: IntArray) -> Rows:
        return np.concatenate([self._windows[self._first[r] : self._first[r + 1]] for r in records])

    def _batch(self, units: list[Rows]) -> Batch:
        most = max(len(rows) for rows in units)
        rows = np.zeros((len(units), most, 3), np.int64)
        for unit, own in zip(rows, units, strict=True):
            unit[: len(own)] = own
        batch = make_batch(self._encoded, rows.reshape(-1, 3))
        targets = np.where(batch["secret"], batch["targets"], NO_TARGET) if self._secrets_only else batch["targets"]
        made = tensors({"input_ids": batch["input_ids"], "targets": targets})
        return made if most == 1 else {name: value.view(len(units), most, -1) for name, value in made.items()}


def authors_of(encoded: Encoded) -> list[IntArray]:
    """The records of each author; every record needs one."""
    if (encoded.authors < 0).any():
        nameless = encoded.record_ids[int(np.flatnonzero(encoded.authors < 0)[0])]
        raise InputError(
            f"To protect authors every record needs one, and record {nameless} has none; name the author field of the "
            "file, or protect records."
        )
    order = np.argsort(encoded.authors, kind="stable")
    edges = np.flatnonzero(np.diff(encoded.authors[order])) + 1
    return [np.asarray(own, np.int64) for own in np.split(order, edges)] if len(order) else []


def unit_loss(model: nn.Module, batch: Batch) -> Tensor:
    """The mean loss over each unit's own targets; 0 for a unit without any."""
    targets = batch["targets"]
    units = len(targets)
    flat = {name: values.reshape(-1, values.shape[-1]) for name, values in batch.items()}
    # Several rows of one unit: positions that are one row for all would be taken for one row of each unit.
    losses = token_losses(model, flat, own_positions=targets.dim() == 3).reshape(units, -1).sum(1)
    return losses / (targets >= 0).reshape(units, -1).sum(1).clamp(min=1)


def tensors(batch: Any) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in batch.items()}


def token_losses(model: nn.Module, batch: Batch, *, own_positions: bool = False) -> Tensor:
    """The loss at each position of a batch; 0 where there is no target."""
    weight, bias = output_layer(model)
    states = hidden_states(model, batch["input_ids"], own_positions=own_positions)
    return output_loss(states, weight, bias, batch["targets"])


def language_loss(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """The sum of the losses over a batch's targets, and their number."""
    return token_losses(model, batch).sum(), int((batch["targets"] >= 0).sum())


SCORING_TOKENS = 16_384
"""Tokens a batch when scoring; a longer record makes a batch of its own."""


def scored(model: nn.Module, encoded: Encoded) -> Iterator[tuple[Batch, Scores]]:
    """Every token once, with the model's scores: records whole and from their beginning, or, where one is longer than
    the model can read at once, in windows as long as it can."""
    context = context_of(inner(model))
    longest = int(np.diff(windows(encoded, context, at_sentences=False)[:, 1:]).max(initial=1))
    most = max(SCORING_TOKENS, longest)
    for rows in plan_batches(encoded, batch_tokens=most, max_tokens=context, shuffle=False, at_sentences=False):
        batch = tensors(make_batch(encoded, rows))
        yield batch, score(model, batch["input_ids"], batch["targets"])


def mean_loss(model: nn.Module, encoded: Encoded, *, public_only: bool = False) -> float:
    """The mean loss over all targets, or over those outside secrets, for validation."""
    total, count = 0.0, 0
    for batch, scores in scored(model, encoded):
        chosen = batch["targets"] >= 0
        if public_only:
            chosen &= ~batch["secret"]
        total += float(scores.loss[chosen].double().sum())
        count += int(chosen.sum())
    return total / max(1, count)

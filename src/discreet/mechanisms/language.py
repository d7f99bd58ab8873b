"""Language modelling for the loops of the engine: where batches come from, and what the loss is."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from discreet.engine.output_layer import output_loss
from discreet.engine.plain import Batch
from discreet.engine.settings import TrainingSettings
from discreet.models.adapters import inner
from discreet.models.language import Scores, hidden_states, output_layer, score
from discreet.models.pretrained import context_of
from discreet.text.batching import make_batch, plan_batches, windows
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


def tensors(batch: Any) -> dict[str, Tensor]:
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in batch.items()}


def token_losses(model: nn.Module, batch: Batch) -> Tensor:
    """The loss at each position of a batch; 0 where there is no target."""
    weight, bias = output_layer(model)
    return output_loss(hidden_states(model, batch["input_ids"]), weight, bias, batch["targets"])


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

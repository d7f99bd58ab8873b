"""Classification for the loops of the engine: a sentence, or a pair of them, and one label."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from discreet.engine.plain import Batch
from discreet.engine.record_losses import class_loss
from discreet.engine.sampling import Draw
from discreet.engine.settings import TrainingSettings
from discreet.errors import InputError, RefusedError
from discreet.text.batching import alike
from discreet.text.labelled import Labelled, LabelledEncoder, padded
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoder

SCORING_RECORDS = 64
POOL_BATCHES = 50
"""Records are sorted by length among so many batches."""


@dataclass(frozen=True)
class ClassificationTask:
    """Predicting the label of records."""

    labelled: LabelledEncoder

    @property
    def encoder(self) -> Encoder:
        return self.labelled.encoder

    def encode(
        self,
        pairs: Iterable[tuple[Record, Sequence[Secret]]],
        masks: Callable[[Record], Sequence[Secret]] | None = None,
    ) -> Labelled:
        examples = self.labelled.encode_all(pairs, masks)
        if len(examples) and (examples.labels < 0).all():
            raise InputError("None of these records has a label; name the label field of the file.")
        return examples

    def source(self, examples: Labelled, settings: TrainingSettings, seed: int) -> "ClassificationBatches":
        return ClassificationBatches(examples, settings, seed)

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        return class_loss(model, batch).sum(), len(batch["labels"])

    def units(
        self, examples: Labelled, settings: TrainingSettings, physical_tokens: int, *, secrets_only: bool = False
    ) -> "ClassificationUnits":
        if secrets_only:
            raise RefusedError("A label is no secret token, so there is nothing to learn selectively; take jft.")
        return ClassificationUnits(examples, physical_tokens)

    def unit_loss(self, model: nn.Module, batch: Batch) -> Tensor:
        return class_loss(model, batch)

    def authors(self, examples: Labelled) -> list[Any]:
        raise RefusedError("Classifiers are trained privately on records, not on authors.")

    def mean_loss(self, model: nn.Module, examples: Labelled, *, public_only: bool = False) -> float:
        """Labels are targets of all mechanisms alike, so there is nothing else to do for `public_only`."""
        losses = [
            nn.functional.cross_entropy(logits, labels, reduction="none") for labels, logits in scored(model, examples)
        ]
        return float(torch.cat(losses).double().mean()) if losses else 0.0


class ClassificationBatches:
    """Batches of labelled examples: the order is a function of the seed and the epoch."""

    def __init__(self, examples: Labelled, settings: TrainingSettings, seed: int) -> None:
        self._examples, self._settings, self._seed = examples, settings, seed

    def plan(self, epoch: int) -> Sequence[Any]:
        random = np.random.default_rng([self._seed, epoch])
        order = random.permutation(np.flatnonzero(self._examples.labels >= 0))
        size, lengths = self._settings.batch_size, self._examples.lengths
        batches = []
        for begin in range(0, len(order), POOL_BATCHES * size):
            pool = order[begin : begin + POOL_BATCHES * size]
            if self._settings.bucket:
                pool = pool[np.argsort(lengths[pool], kind="stable")]
            batches += [pool[at : at + size] for at in range(0, len(pool), size)]
        return [batches[number] for number in random.permutation(len(batches))]

    def load(self, item: Any) -> Batch:
        return tensors(self._examples, item)


class ClassificationUnits:
    """The records of a draw in physical batches of like length."""

    def __init__(self, examples: Labelled, physical_tokens: int) -> None:
        if (examples.labels < 0).any():
            raise InputError("A record without a label cannot be trained on; leave such records out.")
        self._examples, self._physical = examples, physical_tokens

    def authors(self) -> list[Any]:
        raise RefusedError("Classifiers are trained privately on records, not on authors.")

    def batches(self, draw: Draw) -> Iterator[Batch]:
        lengths = self._examples.lengths[draw.records]
        for chosen in alike(np.ones_like(lengths), np.maximum(1, lengths), self._physical):
            yield tensors(self._examples, draw.records[chosen])


def tensors(examples: Labelled, rows: Any) -> dict[str, Tensor]:
    return {name: torch.from_numpy(values) for name, values in padded(examples, rows).items()}


@torch.no_grad()
def scored(model: nn.Module, examples: Labelled) -> Iterator[tuple[Tensor, Tensor]]:
    """Labels and logits of every labelled example, in batches of like length."""
    model.eval()
    rows = np.flatnonzero(examples.labels >= 0)
    rows = rows[np.argsort(examples.lengths[rows], kind="stable")]
    for begin in range(0, len(rows), SCORING_RECORDS):
        batch = tensors(examples, rows[begin : begin + SCORING_RECORDS])
        labels = batch.pop("labels")
        yield labels, model(**batch).logits.float()

"""What the privacy regularizers share: the attribute they hide, batches that know it, and the loss they add to.

A regularizer trains a language model whose hidden states do not tell an attribute of the text: its author, its label
or any field of the records (clinic, customer). Its loss is

    L = L_language + weight * L_privacy             (Mireshghallah et al. 2021, equation 1; weight is their lambda)

where L_privacy looks at one state for each text, taken from the forward pass that L_language is computed from. The
attribute takes the place of the author in the records that the mechanism reads, so that all that works by author works
by it. Nothing is proved: `privacy.json` holds measured leakage only.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from discreet.engine.output_layer import output_loss
from discreet.engine.plain import Batch
from discreet.engine.settings import TrainingSettings
from discreet.errors import InputError, SettingError
from discreet.mechanisms.contract import MechanismOptions
from discreet.mechanisms.language import LanguageBatches, tensors
from discreet.mechanisms.training import Training
from discreet.models.adapters import inner
from discreet.models.language import hidden_states, output_layer
from discreet.models.pretrained import context_of
from discreet.registry import nearest
from discreet.text.batching import NO_TARGET, Rows, make_batch
from discreet.text.corpus import Corpus
from discreet.text.records import Record
from discreet.text.tokenize import Encoded

SIGMOID = 10.0
"""How steeply the weight rises by the schedule `sigmoid` (Ganin et al. 2016)."""


class RegularizerOptions(MechanismOptions):
    """What to hide, and how much that counts."""

    protect: str = "author"
    """What the hidden states should not tell: `author`, `label`, or the name of another field of the records."""
    weight: Annotated[float, Field(ge=0)] = 1.0
    """The papers' lambda: how much hiding counts against predicting well."""
    schedule: Literal["constant", "linear", "sigmoid"] = "linear"
    """How the weight gets to its full value."""
    rise: Annotated[float, Field(gt=0, le=1)] = 0.2
    """Share of the training over which it rises."""
    state: Literal["last", "mean", "both", "prefix"] = "last"
    """The state that stands for a text: that of its last token, the mean over all tokens, these two side by side,
    or that of the last token of a beginning of it, drawn anew in each step: what hides the author there hides it
    wherever a text may break off."""
    batches: Literal["one", "mixed"] = "one"
    """Whether a batch holds texts of one author (of one value of the attribute) or of many."""
    redact: bool = False
    """Train on text whose secrets the policy has masked."""
    keep: Literal["last", "best"] = "last"
    """Which epoch's weights: `best` is the one with the best validation loss, which does not ask about hiding."""

    def weight_at(self, done: float) -> float:
        """The weight when so much of the training, from 0 to 1, is done."""
        risen = min(1.0, done / self.rise)
        if self.schedule == "linear":
            return self.weight * risen
        if self.schedule == "sigmoid":
            return self.weight * (2 / (1 + math.exp(-SIGMOID * risen)) - 1)
        return self.weight


def hiding(training: Training, options: RegularizerOptions) -> tuple[Training, Encoded]:
    """The training with the attribute in the place of the author, and its examples; refuses what cannot be hidden."""
    training.must_be_language()
    if options.redact and training.recipe.policy is None:
        raise SettingError("To train on redacted text (mechanism.redact) the recipe needs a policy.")
    training = replace(training, corpus=attributed(training.corpus, options.protect))
    examples: Encoded = training.redacted("train") if options.redact else training.encoded("train")
    _check_values(examples, options.protect)
    digest = hashlib.sha256(repr((options.protect, examples.author_names)).encode("utf-8", "surrogatepass"))
    digest.update(examples.authors.tobytes())
    training.run.remember(attribute=options.protect, attribute_fingerprint=digest.hexdigest())
    return training, examples


def attributed(corpus: Corpus, name: str) -> Corpus:
    """The corpus with another attribute of its records where their author stands."""
    if name == "author":
        return corpus

    def change(record: Record) -> Record:
        value = record.label if name == "label" else record.fields.get(name)
        if not isinstance(value, str | int | float | None):
            where = record.place or f"record {record.id}"
            raise InputError(f"{where}: '{name}' must be a string or a number to be protected; correct it.")
        return replace(record, author=None if value is None or value == "" else str(value))

    first = next(iter(corpus.records("train")), None)
    if name != "label" and first is not None and name not in first.fields:
        raise InputError(
            f"The records have no field '{name}' to protect (mechanism.protect); "
            f"{nearest(name, ['author', 'label', *first.fields])}"
        )
    return corpus.map(change)


def _check_values(examples: Encoded, name: str) -> None:
    if (examples.authors < 0).all():
        raise InputError(
            f"None of the records has an '{name}', so there is nothing to hide; name its field (data.fields.author) or "
            "another one (mechanism.protect)."
        )
    if (examples.authors < 0).any():
        nameless = examples.record_ids[int(np.flatnonzero(examples.authors < 0)[0])]
        raise InputError(
            f"Record {nameless} has no '{name}', which is what should be hidden; give every training record one, or "
            "leave such records out."
        )
    if len(examples.author_names) < 2:
        raise InputError(f"All records have the same '{name}', so there is nothing to hide; protect another field.")


class Item(NamedTuple):
    """What a step loads."""

    rows: Rows
    weight: float
    number: tuple[int, int]
    """Epoch and number of the batch: what is drawn for it is drawn from them."""


class AttributedBatches(LanguageBatches):
    """Batches that know the attribute of each text and the weight of their step; others may stand beside the texts.

    `beside` gives the windows to read along with a batch, for their states alone: nothing is predicted in them.
    """

    def __init__(
        self,
        training: Training,
        examples: Encoded,
        options: RegularizerOptions,
        beside: Callable[[Item], Rows] | None = None,
    ) -> None:
        one_author = {"one_author": options.batches == "one"}
        settings: TrainingSettings = training.recipe.training.model_copy(update=one_author)
        super().__init__(examples, settings, training.recipe.seed, context_of(inner(training.model)))
        self._options, self._beside = options, beside

    def plan(self, epoch: int) -> Sequence[Item]:
        batches = super().plan(epoch)
        share = 1 / (self._settings.epochs * len(batches))
        begun = epoch * len(batches)
        return [
            Item(rows, self._options.weight_at((begun + number) * share), (epoch, number))
            for number, rows in enumerate(batches)
        ]

    def load(self, item: Item) -> Batch:
        rows = item.rows if self._beside is None else np.concatenate([item.rows, self._beside(item)])
        batch = make_batch(self._encoded, rows)
        batch["targets"][len(item.rows) :] = NO_TARGET
        labels = self._encoded.authors[batch["records"]].astype(np.int64)
        return tensors(batch | {"labels": labels}) | {
            "weight": torch.tensor(item.weight),
            "texts": torch.tensor(len(item.rows)),
        }


def losses_and_states(model: nn.Module, batch: Batch, state: str) -> tuple[Tensor, Tensor]:
    """The language loss at each position, and the one state that stands for each text, from one forward pass."""
    states = hidden_states(model, batch["input_ids"])
    losses = output_loss(states, *output_layer(model), batch["targets"])
    lengths = prefix_lengths(batch["lengths"]) if state == "prefix" else batch["lengths"]
    return losses, text_states(states, lengths, state)


def prefix_lengths(lengths: Tensor) -> Tensor:
    """The length of a beginning of each text: from one token to all of it, each as likely."""
    drawn = (torch.rand(len(lengths)) * lengths).long()
    return 1 + torch.minimum(drawn, lengths - 1)


def state_width(model: nn.Module, state: str) -> int:
    """How many numbers the state of a text has."""
    width: int = output_layer(model).weight.shape[1]
    return 2 * width if state == "both" else width


def text_states(states: Tensor, lengths: Tensor, state: str) -> Tensor:
    """[rows, width] of [rows, T, width]: the state of each text's last token, the mean over its tokens, or both."""
    last = states[torch.arange(len(states)), lengths - 1].float()
    if state not in ("mean", "both"):
        return last
    real = torch.arange(states.shape[1]) < lengths[:, None]
    mean = (states.float() * real[:, :, None]).sum(1) / lengths[:, None]
    return mean if state == "mean" else torch.cat([last, mean], 1)


def joined(losses: Tensor, privacy: Tensor, batch: Batch) -> tuple[Tensor, int]:
    """L_language + weight * L_privacy in the form that the engine takes: a sum over targets, and their number.

    Its value is the language loss alone, so that trainings can be compared; the gradient is that of both.
    """
    count = int((batch["targets"] >= 0).sum())
    added = count * batch["weight"] * privacy
    return losses.sum() + added - added.detach(), count


class Tally(nn.Module):
    """Means of an epoch's figures over its steps; a module, so that a checkpoint holds what has been added up."""

    sums: Tensor

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = names
        self.register_buffer("sums", torch.zeros(len(names) + 1, dtype=torch.float64))

    def add(self, *values: Tensor) -> None:
        """One step's figures, in the order of the names."""
        self.sums += torch.stack([*(value.detach().double() for value in values), torch.ones((), dtype=torch.float64)])

    @property
    def steps(self) -> int:
        """How many steps have been added since it began afresh."""
        return int(self.sums[-1])

    def take(self) -> dict[str, float]:
        """The means so far; begins afresh."""
        *sums, steps = self.sums.tolist()
        self.sums.zero_()
        return {name: value / max(1.0, steps) for name, value in zip(self.names, sums, strict=True)}

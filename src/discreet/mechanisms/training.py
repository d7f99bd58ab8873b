"""A training under way: corpus, policy, tokenizer and model in one place, with the steps mechanisms are made of."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from discreet.engine import plain
from discreet.engine.allocator import keep_buffers
from discreet.errors import InputError, SettingError
from discreet.mechanisms.epochs import keep_epoch
from discreet.mechanisms.recipe import Recipe
from discreet.mechanisms.run import Run
from discreet.mechanisms.task import Task
from discreet.policy.contract import Policy
from discreet.progress import TrainingBar
from discreet.sanitize.redact import Redaction, redact_all
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret
from discreet.text.vocabulary import masks_of

CURVE_POINTS = 200
"""Points on the curve of a plain training's loss."""


@dataclass
class Training:
    """What a mechanism is given to work with."""

    run: Run
    recipe: Recipe
    corpus: Corpus
    policy: Policy
    task: Task
    model: nn.Module
    bar: TrainingBar

    def must_be_language(self) -> None:
        """For mechanisms that go by secret tokens, which a classifier does not predict."""
        if self.recipe.task != "language":
            raise SettingError(
                f"The mechanism '{self.recipe.mechanism.name}' is for language models; for a classifier take dp-sgd, "
                "jft or redacted."
            )

    def encoded(self, split: str) -> Any:
        """A split as it is, each token knowing whether the policy calls it secret."""
        examples = self.task.encode(self.policy.secrets_of_all(self.corpus.records(split)))
        return self._filled(examples, f"the {split} split")

    def redacted(self, split: str) -> Any:
        """A split with every secret masked, or made up where the recipe asks for surrogates.

        Masks are context and never targets; surrogates are text like any other.
        """
        return self.redacted_of(self.corpus.records(split), self.policy, f"the {split} split")

    def redacted_of(self, records: Iterable[Record], policy: Policy, where: str) -> Any:
        """Any records, redacted as the recipe says."""
        redacted = redacted_records(records, policy, self.recipe)
        if self.recipe.redaction.style == "surrogate":
            mask = self.recipe.redaction.mask
            # Told to the encoder as secrets, so that tokens begin and end where those of real secrets do.
            pairs = ((record, made_up(record, mask)) for record in redacted)
            examples = self.task.encode(pairs, masks=lambda record: masks_of(record, mask))
        else:
            pairs = ((record, ()) for record in redacted)
            examples = self.task.encode(pairs, masks=lambda record: record.secrets or ())
        return self._filled(examples, where)

    def anonymized(self, split: str) -> Any:
        """A split with the kind of every secret in its place; the model reads it but never learns to say it."""
        kinds = self.recipe.redaction.model_copy(update={"style": "kind"})
        recipe = self.recipe.model_copy(update={"redaction": kinds})
        records = redacted_records(self.corpus.records(split), self.policy, recipe)
        examples = self.task.encode((record, record.secrets or ()) for record in records)
        return self._filled(examples.without_secret_targets(), f"the {split} split")

    def fit(self, examples: Any, *, public_only: bool = False) -> None:
        """Trains the model plainly on examples, validating on the untouched validation split if there is one.

        With `public_only` the best epoch is the one that predicts public targets best: a model that is shown no secrets
        gets worse at them for as long as it trains.
        """
        self._fit(self._source(examples), self.validation(public_only=public_only), self.run.checkpoint_folder, "train")

    def fit_otherwise(
        self,
        source: plain.Source,
        loss: plain.Loss,
        beside: plain.Beside,
        measured: Callable[[], Mapping[str, float]],
        *,
        public_only: bool = False,
        keep_best: bool = True,
    ) -> None:
        """Plain training with batches and a loss of the mechanism's own, and what the loss keeps and trains `beside`.

        `measured` gives further figures of an epoch, when it is over.
        """
        validate, folder = self.validation(public_only=public_only), self.run.checkpoint_folder
        self._fit(source, validate, folder, "train", loss, measured, beside=beside, keep_best=keep_best)

    def fit_public(self, examples: Any, *, choose: bool) -> None:
        """Plain training on redacted text as the first phase of a private mechanism.

        The best epoch is chosen on the validation split only where that is declared public (`choose`); else the last
        epoch's weights are taken.
        """
        validate = self.validation(public_only=True) if choose else None
        self._fit(self._source(examples), validate, self.run.checkpoint_folder / "public", "public")

    def unit_count(self, examples: Any, unit: str) -> int:
        """How many records or authors the examples are of."""
        return len(examples) if unit == "record" else len(self.task.authors(examples))

    def end_epoch(self, phase: str, step: int) -> None:
        """What is to be done with the weights after each pass over the data, of a phase that is at this step."""
        if self.recipe.training.keep_epochs:
            keep_epoch(self.run.path, self.model, phase, step)

    def _source(self, examples: Any) -> plain.Source:
        return self.task.source(examples, self.recipe.training, self.recipe.seed)

    def _fit(
        self,
        source: plain.Source,
        validate: Callable[[nn.Module], float] | None,
        folder: Path,
        phase: str,
        loss: plain.Loss | None = None,
        measured: Callable[[], Mapping[str, float]] = dict,
        **more: Any,
    ) -> None:
        keep_buffers()
        plain.fit(
            self.model,
            source,
            loss or self.task.loss,
            self.recipe.training,
            seed=self.recipe.seed,
            folder=folder,
            validate=validate,
            observer=RunObserver(self, phase, measured),
            **more,
        )

    def validation(self, *, public_only: bool) -> Callable[[nn.Module], float] | None:
        """The loss on the untouched validation split, as a function of the model; None where there is no such split."""
        if "valid" not in self.corpus:
            return None
        valid = self.encoded("valid")
        return lambda model: self.task.mean_loss(model, valid, public_only=public_only)

    def _filled(self, examples: Any, where: str) -> Any:
        if len(examples) == 0:
            raise InputError(f"There are no records in {where} of the corpus '{self.corpus.name}'.")
        return examples


def redacted_records(records: Iterable[Record], policy: Policy, recipe: Recipe) -> Iterable[Record]:
    """Records as a recipe's redaction writes them."""
    return redact_all(records, policy, Redaction(**recipe.redaction.model_dump()))


def made_up(record: Record, mask: str) -> tuple[Secret, ...]:
    """The surrogates in a redacted record: what redaction put there that is not a mask."""
    masks = set(masks_of(record, mask))
    return tuple(secret for secret in record.secrets or () if secret not in masks)


@dataclass(frozen=True)
class RunObserver:
    """Writes each epoch and the curve of the loss into the run and shows each step on the bar."""

    training: Training
    phase: str
    measured: Callable[[], Mapping[str, float]] = dict
    """Further figures of the epoch that is over."""
    since: list[plain.Step] = field(default_factory=list)
    """Steps that are not on the curve yet."""

    def step(self, step: plain.Step) -> None:
        self.training.bar.step(f"epoch {step.epoch + 1}", step.step, step.steps, step.loss, step.targets)
        self.since.append(step)
        if step.step % max(1, step.steps // CURVE_POINTS) == 0:
            targets = sum(own.targets for own in self.since)
            loss = sum(own.loss * own.targets for own in self.since) / max(1, targets)
            point = {"step": step.step, "loss": loss, "targets": targets, "rate": step.learning_rate}
            self.training.run.add_to_curve(point)
            self.since.clear()

    def epoch(self, end: plain.EpochEnd) -> None:
        measured = dict(self.measured())
        self.training.run.add_metrics(
            end._asdict() | {"tokens_per_second": end.targets / max(end.seconds, 1e-9)} | measured
        )
        valid = "" if end.valid_loss is None else f", validation {end.valid_loss:.4f}"
        more = "".join(f", {name.replace('_', ' ')} {value:.4f}" for name, value in measured.items())
        self.training.bar.say(f"epoch {end.epoch + 1}: loss {end.train_loss:.4f}{valid}{more} ({end.seconds:.0f} s)")
        self.training.end_epoch(self.phase, end.step)

"""A training under way: corpus, policy, tokenizer and model in one place, with the steps mechanisms are made of."""

from collections.abc import Iterable
from dataclasses import dataclass

from torch import nn

from discreet.engine import plain
from discreet.engine.allocator import keep_buffers
from discreet.errors import InputError
from discreet.mechanisms.language import LanguageBatches, language_loss, mean_loss
from discreet.mechanisms.recipe import Recipe
from discreet.mechanisms.run import Run
from discreet.models.adapters import inner
from discreet.models.pretrained import context_of
from discreet.policy.contract import Policy
from discreet.progress import TrainingBar
from discreet.sanitize.redact import Redaction, redact_all
from discreet.text.corpus import Corpus
from discreet.text.records import Record
from discreet.text.tokenize import Encoded, Encoder


@dataclass
class Training:
    """What a mechanism is given to work with."""

    run: Run
    recipe: Recipe
    corpus: Corpus
    policy: Policy
    encoder: Encoder
    model: nn.Module
    bar: TrainingBar

    def encoded(self, split: str) -> Encoded:
        """A split as it is, each token knowing whether the policy calls it secret."""
        return self._filled(self.encoder.encode_all(self.policy.secrets_of_all(self.corpus.records(split))), split)

    def redacted(self, split: str) -> Encoded:
        """A split with every secret masked; masks are context and never targets."""
        records = redacted_records(self.corpus.records(split), self.policy, self.recipe)
        encoded = self.encoder.encode_all(
            ((record, ()) for record in records), masks=lambda record: record.secrets or ()
        )
        return self._filled(encoded, split)

    def fit(self, encoded: Encoded, *, public_only: bool = False) -> None:
        """Trains the model plainly on encoded text, validating on the untouched validation split if there is one.

        With `public_only` the best epoch is the one that predicts public targets best: a model that is shown no secrets
        gets worse at them for as long as it trains.
        """
        keep_buffers()
        settings = self.recipe.training
        valid = self.encoded("valid") if "valid" in self.corpus else None
        plain.fit(
            self.model,
            LanguageBatches(encoded, settings, self.recipe.seed, context_of(inner(self.model))),
            language_loss,
            settings,
            seed=self.recipe.seed,
            folder=self.run.checkpoint_folder,
            validate=(lambda model: mean_loss(model, valid, public_only=public_only)) if valid is not None else None,
            observer=RunObserver(self.run, self.bar),
        )

    def _filled(self, encoded: Encoded, split: str) -> Encoded:
        if len(encoded) == 0:
            raise InputError(f"The corpus '{self.corpus.name}' has no records in its {split} split.")
        return encoded


def redacted_records(records: Iterable[Record], policy: Policy, recipe: Recipe) -> Iterable[Record]:
    """Records as a recipe's redaction writes them."""
    return redact_all(records, policy, Redaction(**recipe.redaction.model_dump()))


@dataclass(frozen=True)
class RunObserver:
    """Writes each epoch into the run and shows each step on the bar."""

    run: Run
    bar: TrainingBar

    def step(self, step: plain.Step) -> None:
        self.bar.step(f"epoch {step.epoch + 1}", step.step, step.steps, step.loss, step.targets)

    def epoch(self, end: plain.EpochEnd) -> None:
        self.run.add_metrics(end._asdict() | {"tokens_per_second": end.targets / max(end.seconds, 1e-9)})
        valid = "" if end.valid_loss is None else f", validation {end.valid_loss:.4f}"
        self.bar.say(f"epoch {end.epoch + 1}: loss {end.train_loss:.4f}{valid} ({end.seconds:.0f} s)")

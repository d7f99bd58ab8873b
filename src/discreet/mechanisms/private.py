"""What private mechanisms share: their settings, the plan that follows from them, and the private phase itself.

A mechanism asks for a plan (`planned`), runs it (`run_phase`) and states the guarantee of its notion over that plan.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from discreet.accounting.budget import budget
from discreet.accounting.setting import Setting
from discreet.engine.allocator import keep_buffers
from discreet.engine.clipping.fallback import Loss
from discreet.engine.ledger import Ledger
from discreet.engine.plan import Plan
from discreet.engine.private import PrivateEpoch, StepReport, fit_privately, strategy_of
from discreet.engine.random_bits import Randomness
from discreet.engine.sampling import sampler_of
from discreet.errors import InputError, RefusedError
from discreet.mechanisms.contract import MechanismOptions
from discreet.mechanisms.training import Training

ENGINE_CHECKS = ("sampling", "clipping", "normaliser")
"""Assumptions that hold because the engine draws, clips and divides as the plan says."""


class PrivateOptions(MechanismOptions):
    """Budget, batches and clipping of a private phase."""

    epsilon: Annotated[float, Field(gt=0)] | None = None
    """The budget; the noise is the least that keeps it."""
    noise: Annotated[float, Field(gt=0)] | None = None
    """Instead of a budget: the noise multiplier."""
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    """None: one over ten times the number of units."""
    batch: Annotated[int, Field(ge=1)] = 512
    """Units a step on average; each joins by its own coin."""
    epochs: Annotated[int, Field(ge=1)] | None = None
    """Expected passes over the units; None: training.epochs."""
    learning_rate: Annotated[float, Field(gt=0)] | None = None
    """Of the private phase; None: training.learning_rate."""
    clip: Annotated[float, Field(gt=0)] = 0.5
    normalise: bool = False
    """Scale every unit's gradient to the clip norm instead of only cutting longer ones."""
    unit: Literal["record", "author"] = "record"
    neighbours: Literal["replace", "add-remove"] = "replace"
    records_per_author: Annotated[int, Field(ge=1)] | None = None
    """Of a drawn author's records at most so many are used, another random choice in every step (unit: author)."""
    max_batch: Annotated[int, Field(ge=1)] | None = None
    """Cut larger draws to so many units at random (truncated Poisson, with its own accounting)."""
    randomness: Literal["secure", "fast"] = "secure"
    """`fast` repeats with the seed: for experiments."""
    physical_tokens: Annotated[int, Field(ge=1)] = 8192
    """Tokens computed at a time: bounds memory, changes nothing else."""
    validation: Literal["none", "public"] = "none"
    """`public` declares the validation split public, so that it may be looked at during training."""

    @model_validator(mode="after")
    def _budget_or_noise(self) -> "PrivateOptions":
        if (self.epsilon is None) == (self.noise is None):
            raise ValueError("give either epsilon (a budget to keep) or noise (a multiplier)")
        if self.records_per_author is not None and self.unit != "author":
            raise ValueError("records_per_author is for 'unit: author'; records are units by themselves otherwise")
        return self


@dataclass(frozen=True)
class Phase:
    """A private phase that has been run: what the guarantee needs to know of it."""

    plan: Plan
    spent: dict[str, int]
    checked: tuple[str, ...]


def planned(
    mechanism: str, options: PrivateOptions, units: int, epochs: int, *, shuffled: bool = False, **more: Any
) -> Plan:
    """The plan of a private phase over so many units; `more` are further settings of the mechanism's notion."""
    if units < 2:
        raise InputError(f"There are {units} {options.unit}s to train on privately, too few to hide in.")
    rate = min(1.0, options.batch / units)
    truncated = options.max_batch is not None
    plan = Plan(
        rate=rate,
        steps=math.ceil(epochs / rate - 1e-9),
        noise=options.noise or 1.0,
        neighbours=options.neighbours,
        sampling="shuffled" if shuffled else "truncated-poisson" if truncated else "poisson",
        clip=options.clip,
        unit=options.unit,
        population=units,
        max_batch=min(options.max_batch or units, units) if truncated else None,
        records_per_author=options.records_per_author,
    )
    if options.epsilon is None:
        return plan
    setting = Setting(
        epsilon=options.epsilon,
        delta=delta_of(options, units),
        rate=plan.rate,
        steps=plan.steps,
        records=units,
        neighbours=plan.neighbours,
        sampling=plan.sampling,
        max_batch=plan.max_batch,
        unit=plan.unit,
        **more,
    )
    noise = budget(mechanism, setting).notion.noise
    assert noise is not None
    return plan.with_noise(noise)


def check_vocabulary(training: Training, declared_public: bool) -> bool:
    """Whether the tokenizer is from elsewhere; one trained on these records is refused unless it is declared public."""
    tokenizer = training.recipe.tokenizer
    trained_here = tokenizer is not None and tokenizer.train is not None
    if trained_here and not declared_public:
        raise RefusedError(
            "A vocabulary trained on these records is not covered by the guarantee of "
            f"'{training.recipe.mechanism.name}'; take a public tokenizer (tokenizer: gpt2), or declare its text "
            "public (mechanism.public_vocabulary: true)."
        )
    return not trained_here


def delta_of(options: PrivateOptions, units: int) -> float:
    return options.delta or 1 / (10 * units)


def run_phase(
    training: Training,
    examples: Any,
    plan: Plan,
    options: PrivateOptions,
    *,
    phase: str = "train",
    secrets_only: bool = False,
    loss: Loss | None = None,
    **hooks: Any,
) -> Phase:
    """Trains `training.model` privately on examples as the plan says, or goes on where it was killed.

    With `secrets_only` the loss is over secret targets alone; `loss` takes the place of the task's own. `hooks` are
    those of `fit_privately`: gradients of public data in each step, public epochs between private ones, another turn.
    """
    keep_buffers()
    recipe, randomness = training.recipe, Randomness(options.randomness, seed=training.recipe.seed)
    settings = recipe.training
    if options.learning_rate is not None:
        settings = settings.model_copy(update={"learning_rate": options.learning_rate})
    units = training.task.units(examples, settings, options.physical_tokens, secrets_only=secrets_only)
    authors = units.authors() if options.unit == "author" else None
    validate = training.validation(public_only=False) if options.validation == "public" else None
    with Ledger(training.run.path / "ledger.jsonl") as ledger:
        fit_privately(
            training.model,
            units,
            sampler_of(plan, randomness, authors=authors),
            loss or training.task.unit_loss,
            settings,
            plan,
            randomness,
            ledger=ledger,
            folder=training.run.checkpoint_folder / phase,
            observer=PhaseObserver(training, phase),
            phase=phase,
            strategy=strategy_of(plan, normalise=options.normalise),
            validate=validate,
            **hooks,
        )
        spent = ledger.spent(plan, phase=phase)
    checked = (*ENGINE_CHECKS, *(("noise",) if randomness.secure else ()))
    return Phase(plan, {plan.fingerprint(): spent}, checked)


@dataclass(frozen=True)
class PhaseObserver:
    """Shows steps on the bar; nothing of them is written, because losses of private data are not private."""

    training: Training
    phase: str

    def private_step(self, report: StepReport) -> None:
        self.training.bar.step(self.phase, report.step + 1, report.steps, report.loss, report.units)

    def private_epoch(self, end: PrivateEpoch) -> None:
        row: dict[str, Any] = {"phase": self.phase, "step": end.step, "seconds": end.seconds}
        valid = "" if end.valid_loss is None else f", validation {end.valid_loss:.4f}"
        if valid:
            row["valid_loss"] = end.valid_loss
        self.training.run.add_metrics(row)
        self.training.bar.say(f"{self.phase}, step {end.step}{valid} ({end.seconds:.0f} s)")
        self.training.end_epoch(self.phase, end.step)

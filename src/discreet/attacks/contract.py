"""The contract of an attack: given a model, and perhaps the text it was trained on, say what it gives away.

An attack is one file with one registration. It is given a `Target` and answers with a finding that knows its JSON form
and a few lines for the person at the terminal. Findings hold counts, ranks and rates, never the text of a secret.

    @ATTACKS.register("exposure")
    class ExposureAttack:
        needs = ("canaries",)
        Options = ExposureOptions
        def run(self, target: Target, options: ExposureOptions, told: Told) -> Finding: ...

`needs` says what must be there besides the model: `canaries` (a manifest), `corpus` (its train and test splits),
`canaries or corpus`, `plans` (a guarantee of private training). An attack whose needs are not met is left out when all
are asked for, and refused when it is asked for by name. An attack that must look closer to know is `Particular`: its
`lacks(target, options)` ends the sentence "the attack ..." as the needs do. A finding may be `Refuting`: it can show
that a guarantee, or the engine, is wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, ValidationError
from torch import nn

from discreet.accounting.guarantee import Guarantee
from discreet.attacks.reading import AnyReader, reader_of
from discreet.errors import SettingError
from discreet.mechanisms.recipe import first_problem
from discreet.policy.contract import Policy
from discreet.registry import Registry
from discreet.sanitize.canaries.manifest import Manifest
from discreet.text.corpus import Corpus
from discreet.text.tokenize import Encoder

Told = Callable[[str, int, int | None], None]
"""Told what is being done, how far it has come, and how far it has to go."""


@dataclass(frozen=True)
class Target:
    """What is attacked, and what the attacker knows."""

    model: nn.Module
    encoder: Encoder
    policy: Policy
    corpus: Corpus | None = None
    manifest: Manifest | None = None
    reference: nn.Module | None = None
    """Another model with the same tokenizer that has not seen the secrets, for attacks that compare."""
    guarantee: Guarantee | None = None
    folder: Path | None = None
    """Where plots go; none are drawn without it."""
    seed: int = 0
    name: str = "model"
    known: dict[Any, Any] = field(default_factory=dict, repr=False)
    """What one attack has found out and another may use."""

    @cached_property
    def reader(self) -> AnyReader:
        return reader_of(self.model)

    def has(self, need: str) -> bool:
        if need == "plans":
            return self.guarantee is not None and bool(self.guarantee.accesses)
        there = {"corpus": self.corpus is not None, "canaries": self.manifest is not None}
        return any(there[part] for part in need.split(" or "))


class AttackOptions(BaseModel):
    """An attack's own settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Finding(Protocol):
    """What an attack found."""

    def to_json(self) -> dict[str, Any]: ...

    def lines(self) -> list[str]:
        """For the person at the terminal: one fact a line."""


@runtime_checkable
class Refuting(Protocol):
    """A finding that can show something claimed to be wrong."""

    @property
    def refuted(self) -> str | None:
        """One sentence that says what is wrong; None where nothing is."""


class Attack(Protocol):
    """A way to find out what a model gives away."""

    needs: ClassVar[tuple[str, ...]]
    Options: ClassVar[type[AttackOptions]]

    def run(self, target: Target, options: Any, told: Told) -> Finding: ...


@runtime_checkable
class Particular(Protocol):
    """An attack that may find its target wanting although its needs are met."""

    def lacks(self, target: Target, options: Any) -> str | None:
        """What is missing, as in `needs records with authors`; None where nothing is."""


ATTACKS: Registry[type[Attack]] = Registry("attack", "discreet.attacks", "discreet.attacks")


def options_of(name: str, settings: dict[str, Any]) -> AttackOptions:
    """An attack's settings, checked."""
    kind = ATTACKS[name].Options
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        raise SettingError(f"attack {name}: {first_problem(error, kind)}") from error


def silent(_: str, __: int, ___: int | None) -> None:
    """Nobody is told anything."""

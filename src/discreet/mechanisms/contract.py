"""The contract of a mechanism: how a model learns from a corpus that has secrets.

A mechanism is one file with one registration. It is given a `Training` (corpus, policy, encoder, model, where the run
is) whose parts do the work, so that the file itself can be read as the algorithm.

    @MECHANISMS.register("redacted")
    class Redacted:
        needs_policy = True
        Options = MechanismOptions
        def train(self, training: Training, options: MechanismOptions) -> Guarantee: ...
"""

from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from discreet.accounting.guarantee import Guarantee
from discreet.errors import SettingError
from discreet.mechanisms.recipe import Recipe, first_problem
from discreet.mechanisms.training import Training
from discreet.registry import Registry


class MechanismOptions(BaseModel):
    """A mechanism's own settings; one without any uses this as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str


class Mechanism(Protocol):
    """How a model learns from a corpus that has secrets."""

    needs_policy: ClassVar[bool]
    Options: ClassVar[type[MechanismOptions]]

    def train(self, training: Training, options: Any) -> Guarantee:
        """Trains `training.model` in place and says what is proved about it."""


MECHANISMS: Registry[type[Mechanism]] = Registry("mechanism", "discreet.mechanisms", "discreet.mechanisms")


def mechanism_of(recipe: Recipe) -> tuple[Mechanism, MechanismOptions]:
    """The mechanism a recipe names, with its settings checked."""
    kind = MECHANISMS[recipe.mechanism.name]
    try:
        options = kind.Options.model_validate(recipe.mechanism.model_dump())
    except ValidationError as error:
        raise SettingError(f"mechanism {recipe.mechanism.name}: {first_problem(error, kind.Options)}") from error
    if kind.needs_policy and recipe.policy is None:
        raise SettingError(f"The mechanism '{recipe.mechanism.name}' needs a policy that says what is secret.")
    return kind(), options

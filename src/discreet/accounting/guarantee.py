"""A guarantee: all that is proved about a run, in one value that can be checked again.

    guarantee = DifferentialPrivacy(phases=(plan,), delta=1e-6).guarantee()
    guarantee.write(run / "privacy.json")
    print(guarantee)                                   # the statement in plain words
    Guarantee.read(run / "privacy.json").basis         # what it was computed from

`basis` holds the notion with its plans in full, so that `discreet verify` computes everything else again. The JSON
form has a published schema, `schema.json` beside this file; `null` for an epsilon means that no finite one is proved.
"""

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import RunError
from discreet.files import write_json

SCHEMA = Path(__file__).with_name("schema.json")
Status = Literal["checked by code", "claimed by the user"]
CHECKED: Status = "checked by code"
CLAIMED: Status = "claimed by the user"


class Value(BaseModel):
    """Frozen, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Bound(Value):
    """One (epsilon, delta) and whom it is for."""

    subject: str
    epsilon: float | None = Field(description="null where no finite epsilon is proved")
    delta: float | None
    standing: Literal["proved", "estimate"] = "proved"


class Assumption(Value):
    """What the proof takes for granted, and on whose word."""

    name: str
    text: str
    status: Status


class Access(Value):
    """A part of the run that read private text, and the plan that bounds it."""

    what: str
    sampler: str
    steps: int
    planned_steps: int
    fingerprint: str = Field(description="the plan's fingerprint, as lines of the run's ledger name it")


class Accountant(Value):
    name: str
    version: str
    method: str


class MissRate(Value):
    """How often the policy overlooks a secret, from a checked sample."""

    missed: int
    checked: int
    share: float
    low: float
    high: float
    confidence: float


class PaperCount(Value):
    """What the paper's own recipe would print for the same settings; not a guarantee."""

    recipe: str
    epsilon: float | None = None
    low: float | None = None
    high: float | None = None
    why_not: str = Field(description="why we do not claim it")


class CrossCheck(Value):
    """A second, looser count of the same thing."""

    method: str
    epsilon: float | None


class Measured(Value):
    """A leakage that was measured on the trained model: others may find more, and it proves nothing."""

    what: str
    value: float
    chance: float = Field(description="what the same measurement gives where nothing leaks")
    records: int = Field(description="how many records it was measured on")


class Guarantee(Value):
    """What is proved, for whom, against what, and under which assumptions."""

    version: Literal[1] = 1
    notion: str
    mechanism: str
    epsilon: float | None = Field(description="null where no finite epsilon is proved")
    delta: float | None
    neighbours: str
    neighbours_in_words: str
    unit: str
    bounds: tuple[Bound, ...]
    accesses: tuple[Access, ...]
    released: tuple[str, ...]
    accountant: Accountant | None
    assumptions: tuple[Assumption, ...]
    not_protected: tuple[str, ...]
    miss_rate: MissRate | None = None
    paper: PaperCount | None = None
    cross_check: CrossCheck | None = None
    measured: tuple[Measured, ...] = Field(default=(), description="leakage that was measured; not a guarantee")
    warnings: tuple[str, ...] = ()
    basis: dict[str, Any] = Field(description="the notion and its plans in full: what all else is computed from")

    def render(self) -> str:
        """The statement in plain words."""
        from discreet.accounting.statement import render

        return render(self)

    def __str__(self) -> str:
        return self.render()

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.model_dump_json())
        return value

    def write(self, path: Path) -> None:
        write_json(path, self.to_json())

    @classmethod
    def read(cls, path: Path) -> "Guarantee":
        """Reads a run's privacy.json."""
        try:
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(f"{path}: there is no such file; a finished run has one.") from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise RunError(f"{path}: {where} does not fit the schema of a guarantee ({first['msg']}).") from None


def schema() -> dict[str, Any]:
    """The JSON schema of privacy.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Guarantee.model_json_schema(mode="serialization"),
    }

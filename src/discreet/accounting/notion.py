"""The contract of a notion: a value that holds plans and settings and states the guarantee that follows.

A notion is one file: a frozen model with a stable `form` (the mechanism's name, kept in `privacy.json`), a `headline`
(the epsilon that calibration solves for), `bounds` for everyone else, and the words. `Notion.guarantee` puts them
together.

    class Always(Notion):
        form: Literal["always"] = "always"
        ...

Which assumptions a run's code has checked is told by name in `checked`; all others stand as claimed by the user. How
many steps a run really spent (a crash may repeat some) is told in `spent`, and never counts for less than was
planned: to claim less after stopping early would need a proof that covers the decision to stop.
"""

import math
from abc import abstractmethod
from functools import cached_property
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import BeforeValidator, Field, PlainSerializer, field_validator

from discreet.accounting.guarantee import (
    CHECKED,
    CLAIMED,
    Access,
    Accountant,
    Assumption,
    Bound,
    CrossCheck,
    Guarantee,
    Measured,
    MissRate,
    PaperCount,
    Value,
)
from discreet.accounting.intervals import clopper_pearson
from discreet.accounting.pld import GRID
from discreet.engine.plan import Plan
from discreet.errors import RefusedError, SettingError
from discreet.registry import nearest

NEIGHBOURS_IN_WORDS = {
    "add-remove": "Two corpora are neighbours when one holds one {unit} more than the other.",
    "replace": "Two corpora are neighbours when they differ in one {unit}, which may be replaced by any other.",
    "zero-out": "Two corpora are neighbours when in one of them the contribution of one {unit} counts as nothing.",
}
SAMPLERS_IN_WORDS = {
    "poisson": "Poisson: each {unit} joins each batch by its own coin of probability {rate:.6g}",
    "truncated-poisson": "Poisson with probability {rate:.6g}, larger batches cut at random to {most} units",
    "shuffled": "shuffled epochs, batches of {rate:.6g} of the corpus; no amplification claimed",
    "fixed-size": "a fresh random {rate:.6g} of the corpus without replacement in every step",
}


PlanField = Annotated[
    Plan,
    BeforeValidator(lambda value: Plan.from_json(value) if isinstance(value, dict) else value),
    PlainSerializer(lambda plan: plan.to_json(), return_type=dict[str, Any]),
]
"""A plan as a field of a notion: written and read in full."""


class Assumed(NamedTuple):
    """The name and text of an assumption."""

    name: str
    text: str


STEP_ASSUMPTIONS = (
    Assumed("sampling", "Batches are drawn as the plan says, independently of the data and of each other."),
    Assumed("clipping", "The contribution of each {unit} is clipped to the plan's norm before it is summed."),
    Assumed(
        "normaliser", "Sums are divided by a fixed number, never by the drawn batch size; empty batches get noise too."
    ),
    Assumed(
        "noise", "Noise is Gaussian and fresh in every step, from a generator nobody can predict; rounding is ignored."
    ),
    Assumed("size", "The number of {unit}s is public."),
    Assumed("choices", "Settings, checkpoints and stopping were chosen without the private data, or on public data."),
)


class Notion(Value):
    """What is promised, computed from plans."""

    form: str
    delta: float
    spent: dict[str, int] = Field(default_factory=dict)
    """Steps in the run's ledger for each plan, by fingerprint; counted where they exceed the planned ones."""
    checked: tuple[str, ...] = ()
    """Names of the assumptions that the code which ran has checked."""
    records: int | None = None
    """How many records the notion protects, for the rule on delta."""

    name: ClassVar[str]

    @field_validator("delta")
    @classmethod
    def _delta_is_a_probability(cls, delta: float) -> float:
        if not 0 <= delta < 1:
            raise SettingError(f"Delta is a probability, at least 0 and below 1, not {delta:g}.")
        return delta

    @abstractmethod
    def headline(self, finest: float = GRID) -> float:
        """The epsilon of the first bound; `finest` is the accountant's grid, coarser for a quick look."""

    @property
    def exact(self) -> bool:
        """Whether the headline comes without a loss table, whose grid rounds it."""
        return all(plan.sampling in ("shuffled", "fixed-size") or plan.rate == 1 for _, plan in self.plans())

    @abstractmethod
    def bounds(self) -> tuple[Bound, ...]:
        """All bounds, the headline first."""

    @abstractmethod
    def assumed(self) -> tuple[Assumed, ...]: ...

    @abstractmethod
    def released(self) -> tuple[str, ...]: ...

    @abstractmethod
    def not_protected(self) -> tuple[str, ...]: ...

    def plans(self) -> tuple[tuple[str, Plan], ...]:
        """The private phases: what each does, and its plan as it was handed to the engine."""
        return ()

    def paper(self) -> PaperCount | None:
        return None

    def cross_check(self) -> CrossCheck | None:
        return None

    def miss_rate(self) -> MissRate | None:
        return None

    def measurements(self) -> tuple[Measured, ...]:
        """Leakage that was measured on the trained model."""
        return ()

    def warnings(self) -> tuple[str, ...]:
        return ()

    def answers(self) -> dict[str, Any]:
        """What `discreet budget --json` prints beyond the keys that all notions share."""
        return {}

    @property
    def neighbours(self) -> str:
        plans = self.plans()
        return plans[0][1].neighbours if plans else "none"

    @property
    def unit(self) -> str:
        plans = self.plans()
        return plans[0][1].unit if plans else "record"

    @property
    def noise(self) -> float | None:
        """The noise multiplier that calibration solves for: that of the last private phase."""
        plans = self.plans()
        return plans[-1][1].noise if plans else None

    def of_mechanism(self) -> str:
        """The mechanism the guarantee is for."""
        return str(self.form)

    def neighbours_in_words(self) -> str:
        return NEIGHBOURS_IN_WORDS[self.neighbours].format(unit=self.unit)

    def counted(self, plan: Plan) -> Plan:
        """The plan with the steps that were really spent, where a crash has repeated some."""
        return plan.with_steps(max(plan.steps, self.spent.get(plan.fingerprint(), 0)))

    @cached_property
    def epsilon(self) -> float:
        return self.headline()

    def guarantee(self) -> Guarantee:
        """All of it, ready to be written and rendered."""
        bounds = self.bounds()
        return Guarantee(
            notion=self.name,
            mechanism=self.of_mechanism(),
            epsilon=bounds[0].epsilon,
            delta=bounds[0].delta,
            neighbours=self.neighbours,
            neighbours_in_words=self.neighbours_in_words(),
            unit=self.unit,
            bounds=bounds,
            accesses=tuple(self._access(what, plan) for what, plan in self.plans()),
            released=self.released(),
            accountant=self.accountant(),
            assumptions=self.assumptions(),
            not_protected=self.not_protected(),
            miss_rate=self.miss_rate(),
            paper=self.paper(),
            cross_check=self.cross_check(),
            measured=self.measurements(),
            warnings=(*self._delta_warnings(), *self.warnings()),
            basis=self.model_dump(mode="json") | {"form": self.form},
        )

    def accountant(self) -> Accountant | None:
        return Accountant(name="dp-accounting", version=version("dp-accounting"), method="privacy loss distributions")

    def assumptions(self) -> tuple[Assumption, ...]:
        assumed = {item.name: item.text for item in self.assumed()}
        for name in self.checked:
            if name not in assumed:
                raise SettingError(f"'{name}' is no assumption of this guarantee; {nearest(name, assumed)}")
        return tuple(
            Assumption(name=name, text=text.format(unit=self.unit), status=CHECKED if name in self.checked else CLAIMED)
            for name, text in assumed.items()
        )

    def _access(self, what: str, plan: Plan) -> Access:
        words = SAMPLERS_IN_WORDS[plan.sampling].format(unit=plan.unit, rate=plan.rate, most=plan.max_batch)
        if plan.records_per_author is not None:
            words += f"; of its records at most {plan.records_per_author}, another random choice each time"
        return Access(
            what=what,
            sampler=words,
            steps=self.counted(plan).steps,
            planned_steps=plan.steps,
            fingerprint=plan.fingerprint(),
        )

    def _delta_warnings(self) -> tuple[str, ...]:
        protected = self.records or max((plan.population or 0 for _, plan in self.plans()), default=0)
        return delta_warnings(self.delta, protected)


def delta_warnings(delta: float, records: int) -> tuple[str, ...]:
    """The rule on delta: at most one in ten times the number of protected records."""
    if records and delta > 1 / (10 * records):
        return (
            f"Delta {delta:g} is above 1/(10 N) = {1 / (10 * records):.3g} for N = {records:,}: publishing a few "
            "records in clear would be within it.",
        )
    return ()


def finite(epsilon: float) -> float | None:
    """An epsilon as a guarantee writes it: None where there is no finite one."""
    return epsilon if math.isfinite(epsilon) else None


def measured(missed: int | None, checked: int | None, confidence: float = 0.95) -> MissRate | None:
    """The miss rate of a policy from a checked sample, with its Clopper-Pearson interval."""
    if missed is None and checked is None:
        return None
    if missed is None or checked is None:
        raise SettingError("A miss rate needs both numbers: how many secrets were missed, and how many were checked.")
    low, high = clopper_pearson(missed, checked, confidence)
    return MissRate(missed=missed, checked=checked, share=missed / checked, low=low, high=high, confidence=confidence)


def replacing(plan: Plan, why: str) -> Plan:
    """Refuses plans whose neighbours are not a replacement, which the selective notions are about."""
    if plan.neighbours != "replace":
        raise RefusedError(
            f"{why} compares replacing a secret by another, and '{plan.neighbours}' is a smaller claim; "
            "use neighbours 'replace'."
        )
    return plan

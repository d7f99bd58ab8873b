"""The plan of a private phase: what the engine runs and what the accountant reads, in one value.

    >>> plan = Plan(rate=0.01, steps=1000, noise=1.0, clip=0.5, neighbours="replace")
    >>> plan.noise_std
    0.5
    >>> Plan.from_json(plan.to_json()) == plan
    True

`noise` is the standard deviation of the noise on the *sum* of clipped gradients divided by the clip norm
(ACCOUNTING.md's sigma). `rate` is the share of the units in a batch: the probability of each unit under Poisson
sampling, batch size over population otherwise.

Sharp edges. A fingerprint covers every field, so a plan with one more step is another plan. Plans are never edited:
take `with_steps` or `dataclasses.replace`. This module imports neither torch nor an accountant, so that `discreet
budget` starts quickly. Which pairs of sampling and neighbours can be accounted is not decided here but in
`discreet.accounting.samplers`, where the reason is known.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from discreet.errors import SettingError
from discreet.files import canonical_json
from discreet.registry import nearest

SAMPLINGS = ("poisson", "truncated-poisson", "shuffled", "fixed-size")
"""How batches are drawn: each unit by its own coin; the same with batches cut to `max_batch` at random; a fresh shuffle
cut into batches every epoch; a fresh random subset of fixed size every step."""

NEIGHBOURS = ("add-remove", "replace", "zero-out")
"""What two corpora that must look alike differ in: one unit more or less; one unit replaced by any other; one unit's
contribution set to zero."""

UNITS = ("record", "author")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Sampling, clipping, noise and number of steps of one private phase."""

    rate: float
    steps: int
    noise: float
    neighbours: str
    sampling: str = "poisson"
    clip: float = 1.0
    """Most a unit may add to the sum, in L2 norm over all parameters."""
    unit: str = "record"
    population: int | None = None
    """How many units there are to draw from; treated as public."""
    max_batch: int | None = None
    """Truncated Poisson only: a larger draw is cut to this many units, chosen at random."""
    records_per_author: int | None = None
    """Author units only: of more records of a drawn author so many are used, another random choice in every step."""
    groups: tuple[tuple[str, float], ...] = ()
    """Per-group clipping: the name and clip norm of each group of parameters. `clip` is then the root of the sum of
    their squares (`clip_of`), so the noise multiplier keeps its meaning."""

    def __post_init__(self) -> None:
        _one_of("sampling", self.sampling, SAMPLINGS)
        _one_of("neighbours", self.neighbours, NEIGHBOURS)
        _one_of("unit", self.unit, UNITS)
        for name, kind in (("rate", float), ("clip", float), ("noise", float)):
            object.__setattr__(self, name, kind(_number(name, getattr(self, name))))
        object.__setattr__(self, "groups", _groups(self.groups))
        for name in ("steps", "population", "max_batch", "records_per_author"):
            _count(name, getattr(self, name))
        if self.records_per_author is not None and self.unit != "author":
            raise SettingError(f"records_per_author belongs to plans whose unit is the author, not the {self.unit}.")
        if self.rate > 1:
            raise SettingError(f"A plan's rate is a share of the corpus, at most 1, not {self.rate:g}.")
        self._check_batches()
        self._check_groups()

    def _check_batches(self) -> None:
        if self.sampling == "truncated-poisson":
            if self.max_batch is None or self.population is None:
                raise SettingError(
                    "Truncated Poisson sampling needs max_batch and population: its accounting uses both."
                )
            if self.max_batch > self.population:
                raise SettingError(f"max_batch {self.max_batch} is larger than the population of {self.population}.")
        elif self.max_batch is not None:
            raise SettingError(
                f"max_batch belongs to truncated-poisson sampling; this plan's sampling is {self.sampling}."
            )
        if self.sampling == "fixed-size" and self.population is not None:
            size = self.rate * self.population
            if abs(size - round(size)) > 1e-6 * max(size, 1) or round(size) < 1:
                raise SettingError(
                    f"Fixed-size batches of rate {self.rate:g} from {self.population} units would have {size:g} units; "
                    "choose a rate that is a whole number of units over the population."
                )

    def _check_groups(self) -> None:
        if self.groups and not math.isclose(clip_of(self.groups), self.clip, rel_tol=1e-9):
            raise SettingError(
                f"The clip norms of the groups make {clip_of(self.groups):g} but the plan's clip is {self.clip:g}; "
                "take clip=clip_of(groups)."
            )

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise on each coordinate of the clipped sum."""
        return self.noise * self.clip

    @property
    def expected_batch(self) -> float:
        """The fixed normaliser rate * population: dividing by the drawn size instead would leak it."""
        if self.population is None:
            raise SettingError("The plan does not say how many units there are to draw from; set population.")
        return self.rate * self.population

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(1 / self.rate - 1e-9)

    @property
    def epochs(self) -> int:
        """Passes begun by `steps` steps: how often shuffled batches use a unit at most."""
        return math.ceil(self.steps / self.steps_per_epoch)

    def with_steps(self, steps: int) -> "Plan":
        return replace(self, steps=steps)

    def with_noise(self, noise: float) -> "Plan":
        return replace(self, noise=noise)

    def to_json(self) -> dict[str, Any]:
        value = asdict(self) | {"groups": dict(self.groups)}
        if (
            self.records_per_author is None
        ):  # plans that were written before there was this field keep their fingerprint
            del value["records_per_author"]
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Plan":
        """The plan of a JSON object; an unknown or missing field is an error that names it."""
        known = {field.name for field in fields(cls)}
        for name in value:
            if name not in known:
                raise SettingError(f"A plan has no field '{name}'; {nearest(name, known)}")
        for name in ("rate", "steps", "noise", "neighbours"):
            if name not in value:
                raise SettingError(f"The plan does not say its {name}.")
        return cls(**value)

    def fingerprint(self) -> str:
        """SHA-256 of all fields: another plan, another fingerprint. Lines of a run's ledger name the plan by it."""
        return hashlib.sha256(canonical_json(self.to_json()).encode()).hexdigest()


def clip_of(groups: Mapping[str, float] | Iterable[tuple[str, float]]) -> float:
    """The clip norm over all parameters when each group is clipped on its own."""
    return math.sqrt(math.fsum(clip * clip for _, clip in _groups(groups)))


def _groups(groups: Mapping[str, float] | Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    pairs = groups.items() if isinstance(groups, Mapping) else groups
    named = {str(name): float(_number(f"clip of group '{name}'", clip)) for name, clip in pairs}
    return tuple(sorted(named.items()))


def _one_of(what: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise SettingError(f"A plan's {what} cannot be '{value}'; {nearest(str(value), known)}")


def _number(what: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (0 < value < math.inf):
        raise SettingError(f"A plan's {what} must be a positive number, not {value!r}.")
    return value


def _count(what: str, value: Any) -> None:
    if value is None and what != "steps":
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingError(f"A plan's {what} must be a whole number of at least 1, not {value!r}.")

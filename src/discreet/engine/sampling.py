"""Which units a step trains on, drawn exactly as the plan says.

    >>> plan = Plan(rate=0.1, steps=10, noise=1.0, neighbours="replace", population=50)
    >>> draw = sampler_of(plan, Randomness("fast", seed=3)).draw(step=0)
    >>> draw.records.tolist()
    [0, 5, 16, 36, 41, 42]

Poisson sampling throws one coin per unit and step. A coin is a 64-bit word of the stream compared with
floor(rate * 2^64): the probability is the rate itself, or below it by less than 2^-64 for rates under 2^-11. Below is
the safe side: epsilon grows with the rate.

Units are records, or authors: then a draw holds all records of each drawn author, or so many of them as the plan's
`records_per_author` says, and `owners` says whose each one is, because the clip norm is the author's.

Sharp edges. Batches may be empty: noise is added all the same, and the sum divided by the plan's expected batch, or the
size of the batch leaks. With secure randomness a step drawn again is another batch; steps are counted by the ledger
(`discreet.engine.ledger`), so a resumed run asks for the steps after the last one spent. Shuffled epochs are the
exception: their order is a function of the seed, also in a secure run, because a new order in the middle of an epoch
would use a unit twice; its accounting claims nothing from the order being secret. In a distributed run one process
draws and tells the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from discreet.engine.plan import Plan
from discreet.engine.random_bits import Randomness, Stream
from discreet.errors import SettingError

IntArray = npt.NDArray[np.int64]

_COINS_AT_ONCE = 1 << 20


class Draw(NamedTuple):
    """The batch of a step."""

    units: IntArray
    """The drawn units, ascending."""
    records: IntArray
    """Their records, those of one unit side by side."""
    owners: IntArray
    """For each record the position in `units` of its unit."""


class Choice(Protocol):
    """Decides the units of a step."""

    def units(self, step: int) -> IntArray: ...


@dataclass(frozen=True)
class PoissonSampler:
    """Each unit by its own coin."""

    population: int
    rate: float
    randomness: Randomness

    def units(self, step: int) -> IntArray:
        return heads(self.population, self.rate, self.randomness.stream("coins", step))


@dataclass(frozen=True)
class TruncatedPoissonSampler:
    """Each unit by its own coin; of more than `max_batch` heads so many are kept, each subset alike."""

    population: int
    rate: float
    max_batch: int
    randomness: Randomness

    def units(self, step: int) -> IntArray:
        stream = self.randomness.stream("coins", step)
        drawn = heads(self.population, self.rate, stream)
        return drawn[subset(len(drawn), self.max_batch, stream)]


@dataclass(frozen=True)
class FixedSizeSampler:
    """A fresh subset of `size` units every step, each subset alike."""

    population: int
    size: int
    randomness: Randomness

    def units(self, step: int) -> IntArray:
        return subset(self.population, self.size, self.randomness.stream("coins", step))


@dataclass
class ShuffledSampler:
    """A fresh shuffle every epoch, cut into batches: each unit once an epoch."""

    population: int
    rate: float
    steps_per_epoch: int
    randomness: Randomness
    _epoch: int = field(default=-1, init=False)
    _order: IntArray = field(default_factory=lambda: np.empty(0, np.int64), init=False)

    def units(self, step: int) -> IntArray:
        epoch, within = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._order = shuffled(self.population, self.randomness.stream("order", epoch))
            self._epoch = epoch
        return np.sort(self._order[self._bound(within) : self._bound(within + 1)])

    def _bound(self, batch: int) -> int:
        last = batch == self.steps_per_epoch
        return self.population if last else min(self.population, round(batch * self.rate * self.population))


@dataclass(frozen=True)
class Sampler:
    """The batches of a plan."""

    choice: Choice
    authors: Sequence[IntArray] | None
    facts: dict[str, Any]
    randomness: Randomness
    records_per_author: int | None = None

    def draw(self, step: int) -> Draw:
        """The batch of a step; perhaps an empty one."""
        units = self.choice.units(step)
        if self.authors is None:
            return Draw(units, units, np.arange(len(units), dtype=np.int64))
        groups = [self._some(step, unit) for unit in units]
        sizes = np.array([len(group) for group in groups], np.int64)
        records = np.concatenate([np.empty(0, np.int64), *groups])
        return Draw(units, records, np.repeat(np.arange(len(units), dtype=np.int64), sizes))

    def _some(self, step: int, author: int) -> IntArray:
        """The records of a drawn author that this step uses: the choice follows from nobody else's records."""
        assert self.authors is not None
        own, most = self.authors[author], self.records_per_author
        if most is None or len(own) <= most:
            return own
        return own[subset(len(own), most, self.randomness.stream("coins", step, int(author)))]

    def describe(self) -> dict[str, Any]:
        """For the guarantee: how batches were drawn and from what randomness."""
        return dict(self.facts)


def sampler_of(
    plan: Plan,
    randomness: Randomness,
    *,
    population: int | None = None,
    authors: Sequence[npt.ArrayLike] | None = None,
) -> Sampler:
    """The sampler that a plan describes; whatever does not fit the plan is an error, never another sampler.

    `population` is needed where the plan does not say it. `authors` holds the record numbers of each author, for plans
    whose unit is the author.
    """
    groups = _groups(plan, authors)
    count = _population(plan, population, groups)
    facts = {"sampling": plan.sampling, "unit": plan.unit, **randomness.describe()}
    return Sampler(_choice(plan, count, randomness), groups, facts, randomness, plan.records_per_author)


def heads(population: int, rate: float, stream: Stream) -> IntArray:
    """The units whose coin fell on heads, ascending."""
    bound = threshold(rate)
    if bound == 1 << 64:
        return np.arange(population, dtype=np.int64)
    found = [np.empty(0, np.int64)]
    for start in range(0, population, _COINS_AT_ONCE):
        coins = stream.words(min(_COINS_AT_ONCE, population - start))
        found.append(np.flatnonzero(coins < np.uint64(bound)) + start)
    return np.concatenate(found)


def shuffled(population: int, stream: Stream) -> IntArray:
    """The units in an order of which each is alike, but for two equal words among 2^64."""
    return np.argsort(stream.words(population), kind="stable")


def subset(population: int, size: int, stream: Stream) -> IntArray:
    """So many units, each subset alike, ascending; all of them if there are no more."""
    return np.sort(shuffled(population, stream)[:size])


def threshold(rate: float) -> int:
    """How many of the 2^64 values of a coin are heads: rate * 2^64 in exact arithmetic, rounded down."""
    return int(Fraction(rate) * (1 << 64))


def _choice(plan: Plan, population: int, randomness: Randomness) -> Choice:
    if plan.sampling == "poisson":
        return PoissonSampler(population, plan.rate, randomness)
    if plan.sampling == "truncated-poisson" and plan.max_batch is not None:
        return TruncatedPoissonSampler(population, plan.rate, plan.max_batch, randomness)
    if plan.sampling == "shuffled":
        return ShuffledSampler(population, plan.rate, plan.steps_per_epoch, randomness)
    if plan.sampling == "fixed-size":
        return FixedSizeSampler(population, _fixed_size(plan.rate, population), randomness)
    raise SettingError(f"There is no sampler for the plan's sampling '{plan.sampling}'.")


def _fixed_size(rate: float, population: int) -> int:
    size = round(rate * population)
    if size < 1 or abs(size - rate * population) > 1e-6 * size:
        raise SettingError(
            f"Fixed-size batches of rate {rate:g} from {population} units would have {rate * population:g} units; "
            "choose a rate that is a whole number of units over the population."
        )
    return size


def _population(plan: Plan, population: int | None, authors: Sequence[IntArray] | None) -> int:
    known = {len(authors)} if authors is not None else set()
    known |= {count for count in (population, plan.population) if count is not None}
    if not known:
        raise SettingError("The plan does not say how many units there are to draw from; set population.")
    if len(known) > 1:
        raise SettingError(
            f"The plan is for {plan.population or population} units ({plan.unit}s) but there are "
            f"{len(authors) if authors is not None else population}; make the plan for the corpus at hand."
        )
    return known.pop()


def _groups(plan: Plan, authors: Sequence[npt.ArrayLike] | None) -> list[IntArray] | None:
    if (plan.unit == "author") != (authors is not None):
        raise SettingError(
            "The plan's unit is the author; pass the records of each author."
            if authors is None
            else "The plan's unit is the record, so batches are not drawn by author; pass a plan with unit='author'."
        )
    if authors is None:
        return None
    groups = [np.asarray(group, dtype=np.int64).reshape(-1) for group in authors]
    records = np.concatenate([np.empty(0, np.int64), *groups])
    if len(np.unique(records)) != len(records):
        raise SettingError("A record belongs to two authors; each record needs exactly one for the author's guarantee.")
    return groups

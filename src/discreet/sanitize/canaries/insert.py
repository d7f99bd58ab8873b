"""Putting canaries into a corpus: how many, how often, where, and under whose name.

    plan = Insertion(read_template("My ID is {digits:6}."), number=10, repetitions=(10,), seed=7)
    canaries = Canaries(corpus.records("train"), plan)
    write("with.jsonl", canaries)               # streams; the records are walked twice, once to count them
    canaries.manifest().write(Path("canaries.json"))

Each copy is a record of its own, `canary-3-0`, `canary-3-1`, … With several numbers of repetitions, canaries take
them in turn: `number=14, repetitions=(1, 2, …, 10, 20, 30, 40, 50)` makes one canary of each. `per_author` makes
`number` canaries for each author (at most `authors` of them, the most active first), whose records then come from
that author.

Everything follows from the seed: secrets, coins and places. Canaries go between the records of the split; other
splits stay as they are.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle

from discreet.errors import RefusedError, SettingError
from discreet.registry import nearest
from discreet.sanitize.canaries.manifest import WORLDS, Canary, Manifest, Place, World
from discreet.sanitize.canaries.template import Filling, Template
from discreet.text.corpus import split_of
from discreet.text.records import Record, Secret

PLACEMENTS = ("even", "random")


@dataclass(frozen=True)
class Insertion:
    """Which canaries are put in, and how."""

    template: Template
    number: int = 1
    repetitions: tuple[int, ...] = (1,)
    world: World = "fixed"
    placement: str = "even"
    """`even`: as far from each other as can be, copies of one canary spread over the corpus; or at `random` places."""
    per_author: bool = False
    authors: int | None = None
    """With `per_author`: only so many authors, the most active first."""
    mask: str = "<MASK>"
    split: str = "train"
    seed: int = 0
    prefix: str = "canary"
    """What the ids of canaries begin with."""
    given: tuple[Filling, ...] = ()
    """Secrets of the first canaries, where they are not to be drawn."""

    def __post_init__(self) -> None:
        for name, value, known in (("world", self.world, WORLDS), ("placement", self.placement, PLACEMENTS)):
            if value not in known:
                raise SettingError(f"The {name} '{value}' is not known; {nearest(value, known)}")
        if self.number < 1 or not self.repetitions or min(self.repetitions) < 1:
            raise SettingError("There is at least one canary, and each is put in at least once.")


class Canaries:
    """The records of a corpus with canaries between them; walk through it, then ask for the manifest."""

    def __init__(self, records: Iterable[Record], plan: Insertion) -> None:
        self._records, self.plan = records, plan
        self._counted = _count(records, plan)
        self.canaries = _cast(plan, self._counted.authors)
        """What will be put in; places are known after the walk."""
        self._places: dict[str, list[Place]] = {}
        self._total = 0

    def __iter__(self) -> Iterator[Record]:
        self._places = {canary.id: [] for canary in self.canaries}
        self._total = 0
        copies = _copies(self.plan, self.canaries)
        gaps = _gaps(self.plan, len(copies), self._counted.records)
        waiting = iter(sorted(zip(gaps, range(len(copies)), strict=True)))
        gap, number = next(waiting, (-1, 0))
        passed = 0
        for record in self._records:
            if split_of(record) == self.plan.split:
                while gap == passed:
                    yield self._put(*copies[number])
                    gap, number = next(waiting, (-1, 0))
                passed += 1
            if record.id in self._counted.taken:
                raise RefusedError(
                    f"{record.place or f'record {record.id}'}: the id '{record.id}' is one that a canary would have; "
                    "choose another beginning with --prefix."
                )
            self._total += 1
            yield record
        while gap >= 0:
            yield self._put(*copies[number])
            gap, number = next(waiting, (-1, 0))

    def manifest(self) -> Manifest:
        """What was put in where, after a whole walk."""
        plan = self.plan
        if not self._total:
            raise SettingError("The places of canaries are known only after the records were walked through.")
        placed = tuple(
            Canary(c.id, c.secret, c.other, c.coin, c.inserted, c.repetitions, c.author, tuple(self._places[c.id]))
            for c in self.canaries
        )
        return Manifest(
            plan.template, placed, plan.world, plan.mask, plan.split, plan.placement, plan.seed, self._total
        )

    def _put(self, canary: Canary, copy: int) -> Record:
        """One copy of a canary as a record."""
        assert canary.inserted is not None
        text, secrets = self.plan.template.fill(canary.inserted)
        identity = f"{canary.id}-{copy}"
        self._places[canary.id].append(Place(identity, self._total))
        self._total += 1
        marks: tuple[Secret, ...] | None = secrets if self._counted.marked else None
        split = self.plan.split if self._counted.divided else None
        return Record(identity, text, author=canary.author, secrets=marks, split=split)


@dataclass(frozen=True)
class Counted:
    """What must be known of a corpus before canaries are put into it."""

    records: int
    """Of the split."""
    authors: tuple[str, ...]
    """The most active first."""
    marked: bool
    """Whether its records mark their secrets."""
    divided: bool
    """Whether its records name their split."""
    taken: frozenset[str]
    """The ids that canaries may have."""


def _count(records: Iterable[Record], plan: Insertion) -> Counted:
    authors: Counter[str] = Counter()
    count = 0
    marked = divided = False
    for record in records:
        if split_of(record) != plan.split:
            continue
        count += 1
        marked = marked or record.secrets is not None
        divided = divided or record.split is not None
        if plan.per_author and record.author is not None:
            authors[record.author] += 1
    if not count:
        raise SettingError(f"The corpus has no records in its '{plan.split}' split.")
    if plan.per_author and not authors:
        raise SettingError("The records have no authors, so canaries cannot be given to each; leave out per-author.")
    chosen = tuple(name for name, _ in sorted(authors.items(), key=lambda item: (-item[1], item[0]))[: plan.authors])
    number = plan.number * max(1, len(chosen))
    taken = frozenset(f"{plan.prefix}-{c}-{r}" for c in range(number) for r in range(max(plan.repetitions)))
    return Counted(count, chosen, marked, divided, taken)


def _cast(plan: Insertion, authors: tuple[str, ...]) -> list[Canary]:
    """The canaries with their secrets and coins, not yet placed."""
    owners: list[str | None] = [author for author in authors for _ in range(plan.number)] or [None] * plan.number
    two = plan.world == "secret-or-other"
    drawn = _secrets(plan, len(owners) * (2 if two else 1))
    coins = random.Random(f"coins-{plan.seed}")
    times = cycle(plan.repetitions)
    found = []
    for number, owner in enumerate(owners):
        secret = drawn[number]
        other = drawn[len(owners) + number] if two else None
        coin = None if plan.world == "fixed" else bool(coins.getrandbits(1))
        inserted: Filling | None = secret
        if coin is False:
            masks = (plan.mask,) * len(secret)
            inserted = {"secret-or-other": other, "secret-or-mask": masks, "in-or-out": None}[plan.world]
        found.append(Canary(f"{plan.prefix}-{number}", secret, other, coin, inserted, next(times), owner, ()))
    return found


def _secrets(plan: Insertion, count: int) -> list[Filling]:
    """Different secrets: those given, then drawn ones."""
    given = list(dict.fromkeys(plan.given))
    for filling in given:
        plan.template.index(filling)  # refuses what is no member
    drawn = plan.template.draw(min(count + len(given), plan.template.size), plan.seed)
    found = [*given, *(filling for filling in drawn if filling not in given)][:count]
    if len(found) < count:
        raise SettingError(f"The canary's space has {plan.template.size} members, fewer than the {count} needed.")
    return found


def _copies(plan: Insertion, canaries: list[Canary]) -> list[tuple[Canary, int]]:
    """Every copy that is put in, in the order of their places: round by round, so that copies of one are far apart."""
    most = max(plan.repetitions)
    return [(c, copy) for copy in range(most) for c in canaries if copy < c.repetitions and c.inserted is not None]


def _gaps(plan: Insertion, copies: int, records: int) -> list[int]:
    """For each copy before which record of the split it goes."""
    if plan.placement == "random":
        chooser = random.Random(f"places-{plan.seed}")
        return [chooser.randrange(records + 1) for _ in range(copies)]
    return [(2 * number + 1) * records // (2 * copies) for number in range(copies)]

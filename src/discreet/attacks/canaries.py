"""The canaries of a corpus, as their manifest tells them: what was planted, where, and what it was drawn from.

    manifest = read_manifest(Path("canaries.json"))
    manifest.template.size                       # 1000000: the randomness space of "My ID is {0}." with six digits
    manifest.template.text(("341752",))          # "My ID is 341752."
    manifest.canaries[0].repetitions             # 10

A manifest is the attacker's answer sheet: it holds the secrets in clear. It never goes into a run folder.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from discreet.errors import InputError, SettingError
from discreet.text.records import Secret

World = Literal["fixed", "secret-or-other", "secret-or-mask", "in-or-out"]
Filling = tuple[str, ...]
"""What stands in the slots of a template, one text a slot."""
Part = str | tuple[str, ...]
"""A stretch of a template: text that is always there, or the options that one draw chooses from."""


@dataclass(frozen=True)
class Slot:
    """Independent uniform draws from some options, joined by a separator."""

    options: tuple[str, ...]
    count: int = 1
    separator: str = ""

    @property
    def size(self) -> int:
        return int(len(self.options) ** self.count)

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {option: number for number, option in enumerate(self.options)}

    def text(self, index: int) -> str:
        drawn = []
        for _ in range(self.count):
            index, rest = divmod(index, len(self.options))
            drawn.append(self.options[rest])
        return self.separator.join(reversed(drawn))

    def index(self, text: str) -> int:
        drawn = text.split(self.separator) if self.separator else self._draws(text)
        try:
            numbers = [self._numbers[option] for option in drawn]
        except KeyError:
            numbers = []
        if len(numbers) != self.count:
            raise InputError("A canary's secret is not in the randomness space of its template; check the manifest.")
        return sum(number * len(self.options) ** place for place, number in enumerate(reversed(numbers)))

    def _draws(self, text: str) -> list[str]:
        """Splits a text without separators; options of one length only, so that there is one way to do it."""
        width = len(self.options[0])
        if any(len(option) != width for option in self.options):
            raise InputError("A slot whose options differ in length needs a separator.")
        return [text[at : at + width] for at in range(0, len(text), width)]


@dataclass(frozen=True)
class Template:
    """A text with slots; the product of the slots is the randomness space, numbered with the last draw fastest."""

    pattern: str
    """`{0}`, `{1}`, ... stand for the slots in order; `{{` and `}}` are braces."""
    slots: tuple[Slot, ...]

    def __post_init__(self) -> None:
        places = [int(place) for place in re.findall(r"\{(\d+)\}", self.pattern.replace("{{", "").replace("}}", ""))]
        if places != list(range(len(self.slots))) or not self.slots:
            raise InputError("A canary's template has its slots {0}, {1}, ... in order, each once.")

    @property
    def size(self) -> int:
        return prod(slot.size for slot in self.slots)

    def text(self, filling: Filling) -> str:
        return self.pattern.format(*filling)

    @cached_property
    def literals(self) -> tuple[str, ...]:
        """The text before the first slot, between slots, and after the last."""
        marked = self.pattern.format(*["\0"] * len(self.slots))
        return tuple(marked.split("\0"))

    def spans(self, filling: Filling, kind: str = "CANARY") -> tuple[Secret, ...]:
        """Where the filling stands in the text."""
        spans, at = [], 0
        for literal, text in zip(self.literals, filling, strict=False):
            at += len(literal)
            spans.append(Secret(at, at + len(text), kind))
            at += len(text)
        return tuple(spans)

    def parts(self) -> list[list[Part]]:
        """Literal, slot, literal, slot, ..., literal; each as the stretches it is made of."""
        found: list[list[Part]] = []
        for literal, slot in zip(self.literals, self.slots, strict=False):
            found.append([literal] if literal else [])
            draws: list[Part] = []
            for number in range(slot.count):
                draws += [slot.separator] if number and slot.separator else []
                draws.append(slot.options)
            found.append(draws)
        return [*found, [self.literals[-1]] if self.literals[-1] else []]

    def member(self, index: int) -> Filling:
        found = []
        for slot in reversed(self.slots):
            index, rest = divmod(index, slot.size)
            found.append(slot.text(rest))
        return tuple(reversed(found))

    def index(self, filling: Filling) -> int:
        total = 0
        for slot, text in zip(self.slots, filling, strict=True):
            total = total * slot.size + slot.index(text)
        return total

    def draw(self, number: int, seed: int, without: Sequence[Filling] = ()) -> list[Filling]:
        """Distinct members at random, none of those given."""
        if self.size - len(set(without)) < number:
            raise SettingError(f"The randomness space has {self.size:,} members; {number:,} others cannot be drawn.")
        random = np.random.default_rng([seed, number])
        taken, found = set(without), list[Filling]()
        while len(found) < number:
            digits = [random.integers(slot.size if slot.size < 2**62 else 2**62) for slot in self.slots]
            filling = tuple(slot.text(int(digit)) for slot, digit in zip(self.slots, digits, strict=True))
            if filling not in taken:
                taken.add(filling)
                found.append(filling)
        return found


@dataclass(frozen=True)
class Canary:
    """A secret that was planted, or by its coin was not."""

    id: str
    secret: Filling
    other: Filling | None = None
    coin: bool | None = None
    inserted: Filling | None = None
    repetitions: int = 1
    author: str | None = None
    records: tuple[str, ...] = ()
    """Ids of the records that hold it."""


@dataclass(frozen=True)
class Manifest:
    """All canaries of one template."""

    template: Template
    canaries: tuple[Canary, ...]
    world: World = "fixed"
    kind: str = "CANARY"
    mask: str = "<MASK>"

    def planted(self) -> Iterator[Canary]:
        """Those whose own secret is in the corpus."""
        return (canary for canary in self.canaries if canary.coin is not False)

    def record_ids(self) -> frozenset[str]:
        return frozenset(record for canary in self.canaries for record in canary.records)


def read_manifest(path: Path) -> Manifest:
    """Reads a manifest written by `discreet canaries`."""
    try:
        return manifest_of(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such manifest of canaries.") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{path}: this is not a manifest of canaries; 'discreet canaries' writes them.") from None


def manifest_of(value: Mapping[str, Any]) -> Manifest:
    if value["version"] != 1 or value["world"] not in get_args(World):
        raise ValueError("unknown version or world")
    slots = tuple(
        Slot(tuple(map(str, slot["options"])), int(slot["count"]), str(slot.get("separator", "")))
        for slot in value["slots"]
    )
    template = Template(str(value["template"]), slots)
    if template.size != value["size"]:
        raise ValueError("the size of the space is another")
    canaries = tuple(_canary(one) for one in value["canaries"])
    return Manifest(template, canaries, value["world"], str(value["kind"]), str(value["mask"]))


def _canary(value: Mapping[str, Any]) -> Canary:
    return Canary(
        id=str(value["id"]),
        secret=tuple(value["secret"]),
        other=None if value["other"] is None else tuple(value["other"]),
        coin=value["coin"],
        inserted=None if value["inserted"] is None else tuple(value["inserted"]),
        repetitions=int(value["repetitions"]),
        author=value["author"],
        records=tuple(str(place["id"]) for place in value["places"]),
    )

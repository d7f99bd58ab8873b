"""The text of a canary, with slots for its random part, and the space that part is drawn from.

    >>> template = read_template("My ID is {digits:6}.")
    >>> template.size, template.prefix
    (1000000, 'My ID is ')
    >>> template.member(341752), template.index(("341752",))
    (('341752',), 341752)
    >>> template.fill(("341752",))
    Filled(text='My ID is 341752.', secrets=(Secret(start=9, end=15, kind='CANARY', score=1.0),))

Slots: `{digits:6}`, `{letters:4}` (small), `{capitals:4}`, `{hex:8}`, `{characters ABC123:10}` (those given),
`{words:5}` (from a list, joined by spaces), `{red|green|blue}` (one of these). `{{` and `}}` are braces.

Members of the space are numbered from 0, like a number whose last digit runs fastest, so that an attack can walk
through all of them or through a sample. Two fillings of one slot never read the same.
"""

import math
import random
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from discreet.errors import SettingError
from discreet.registry import nearest
from discreet.text.records import Secret

ALPHABETS = {
    "digits": string.digits,
    "letters": string.ascii_lowercase,
    "capitals": string.ascii_uppercase,
    "hex": string.digits + "abcdef",
}
KIND = "CANARY"
Filling = tuple[str, ...]
"""What stands in the slots of a template, one text a slot."""
Part = str | tuple[str, ...]
"""A stretch of a template: text that is always there, or the options that one draw chooses from."""
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NUMBERED = re.compile(r"\{\{|\}\}|\{(\d+)\}")


class Filled(NamedTuple):
    """A template with its slots filled."""

    text: str
    secrets: tuple[Secret, ...]


@dataclass(frozen=True)
class Slot:
    """So many independent draws from the same options, joined."""

    name: str
    options: tuple[str, ...]
    count: int = 1
    separator: str = ""

    def __post_init__(self) -> None:
        if not self.options or self.count < 1 or "" in self.options:
            raise SettingError(f"The slot '{self.name}' needs at least one option and one draw; options are not empty.")
        if len(set(self.options)) < len(self.options):
            raise SettingError(f"The slot '{self.name}' has the same option twice.")
        clear = len({len(option) for option in self.options}) == 1 if not self.separator else True
        if self.count > 1 and not (clear and not any(self.separator and self.separator in o for o in self.options)):
            raise SettingError(
                f"In the slot '{self.name}' two fillings could read the same; give options of one length, or a "
                "separator that is in none of them."
            )

    @cached_property
    def size(self) -> int:
        return int(len(self.options) ** self.count)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {option: number for number, option in enumerate(self.options)}

    def member(self, index: int) -> str:
        chosen = []
        for _ in range(self.count):
            index, number = divmod(index, len(self.options))
            chosen.append(self.options[number])
        return self.separator.join(reversed(chosen))

    def index(self, text: str) -> int:
        if self.separator:
            chosen: Sequence[str] = text.split(self.separator)
        elif self.count == 1:
            chosen = [text]
        else:
            width = len(self.options[0])
            chosen = [text[at : at + width] for at in range(0, len(text), width)]
        if len(chosen) != self.count or not all(one in self._numbers for one in chosen):
            raise SettingError(f"What is looked up is no filling of the slot '{self.name}'.")
        total = 0
        for one in chosen:
            total = total * len(self.options) + self._numbers[one]
        return total


@dataclass(frozen=True)
class Template:
    """The text of canaries, `{0}`, `{1}`, … where the slots are."""

    pattern: str
    slots: tuple[Slot, ...]
    kind: str = KIND

    def __post_init__(self) -> None:
        if not self.slots:
            raise SettingError("A canary's template needs a slot for its random part, as in 'My ID is {digits:6}.'.")
        if [piece for piece in self._pieces if isinstance(piece, int)] != list(range(len(self.slots))):
            raise SettingError("A canary's template has its slots {0}, {1}, … in order, each once.")

    @cached_property
    def size(self) -> int:
        """How many members the space has."""
        return math.prod(slot.size for slot in self.slots)

    @property
    def bits(self) -> float:
        """The exposure of a canary that is ranked first."""
        return math.log2(self.size)

    @cached_property
    def _pieces(self) -> list[str | int]:
        """The fixed texts and the numbers of the slots, in order."""
        pieces: list[str | int] = [""]
        after = 0
        for match in _NUMBERED.finditer(self.pattern):
            pieces[-1] = f"{pieces[-1]}{self.pattern[after : match.start()]}"
            if match[1] is None:
                pieces[-1] = f"{pieces[-1]}{match[0][0]}"
            else:
                pieces += [int(match[1]), ""]
            after = match.end()
        pieces[-1] = f"{pieces[-1]}{self.pattern[after:]}"
        return pieces

    @property
    def prefix(self) -> str:
        """What stands before the first slot."""
        return str(self._pieces[0])

    @property
    def literals(self) -> tuple[str, ...]:
        """The text before the first slot, between slots, and after the last."""
        return tuple(piece for piece in self._pieces if isinstance(piece, str))

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

    def fill(self, filling: Sequence[str]) -> Filled:
        """The text with its slots filled (by a member, or by masks), and where they are."""
        text = ""
        secrets = []
        for piece in self._pieces:
            if isinstance(piece, int):
                secrets.append(Secret(len(text), len(text) + len(filling[piece]), self.kind))
                text += filling[piece]
            else:
                text += piece
        return Filled(text, tuple(secrets))

    def member(self, index: int) -> Filling:
        """The filling with this number."""
        if not 0 <= index < self.size:
            raise SettingError(f"The canary's space has members 0 to {self.size - 1}, not {index}.")
        found = []
        for slot in reversed(self.slots):
            index, number = divmod(index, slot.size)
            found.append(slot.member(number))
        return tuple(reversed(found))

    def index(self, filling: Sequence[str]) -> int:
        """The number of a filling."""
        total = 0
        for slot, text in zip(self.slots, filling, strict=True):
            total = total * slot.size + slot.index(text)
        return total

    def members(self, start: int = 0, stop: int | None = None) -> Iterator[Filling]:
        """All fillings in order, or those from number `start` up to `stop`."""
        return (self.member(index) for index in range(start, self.size if stop is None else min(stop, self.size)))

    def draw(self, count: int, seed: int, without: Sequence[Filling] = ()) -> list[Filling]:
        """So many different fillings, each equally likely, none of those given; the same for the same seed."""
        left_out = {self.index(filling) for filling in without}
        if count > self.size - len(left_out):
            raise SettingError(f"The canary's space has {self.size} members, too few for the {count} asked for.")
        chooser = random.Random(f"canaries-{seed}")
        return [self.member(index) for index in _distinct(chooser, self.size, count, left_out)]

    def to_json(self) -> dict[str, Any]:
        slots = [
            {"name": s.name, "options": list(s.options), "count": s.count, "separator": s.separator} for s in self.slots
        ]
        return {"template": self.pattern, "slots": slots, "size": self.size, "kind": self.kind}


def _distinct(chooser: random.Random, size: int, count: int, left_out: set[int]) -> list[int]:
    """Different numbers below `size`, which may be too large for `random.sample`."""
    if size <= 4 * (count + len(left_out)):
        return chooser.sample([number for number in range(size) if number not in left_out], count)
    found: dict[int, None] = {}
    while len(found) < count:
        number = chooser.randrange(size)
        if number not in left_out:
            found[number] = None
    return list(found)


def read_template(text: str, words: Sequence[str] = (), kind: str = KIND) -> Template:
    """The template that a person writes; `words` is what `{words:n}` draws from."""
    slots: list[Slot] = []

    def numbered(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0]
        if match[1] is None:
            raise SettingError("The template has a single brace; write {{ or }} for a brace that is meant as one.")
        slots.append(_slot(match[1], words))
        return f"{{{len(slots) - 1}}}"

    fixed = _BRACES.sub(numbered, text)
    return Template(fixed, tuple(slots), kind)


def _slot(inside: str, words: Sequence[str]) -> Slot:
    if "|" in inside:
        return Slot("choice", tuple(inside.split("|")))
    name, colon, number = inside.rpartition(":")
    if not colon or not number.isdecimal() or not int(number):
        raise SettingError(f"The slot '{{{inside}}}' does not say how many, as {{digits:6}} does.")
    if name.startswith("characters "):
        return Slot("characters", tuple(name.removeprefix("characters ")), int(number))
    if name == "words":
        if not words:
            raise SettingError("The slot {words:…} draws from a list of words; name one with --words FILE.")
        return Slot("words", tuple(dict.fromkeys(words)), int(number), " ")
    if name not in ALPHABETS:
        raise SettingError(f"There is no slot called '{name}'; {nearest(name, [*ALPHABETS, 'words', 'characters'])}")
    return Slot(name, tuple(ALPHABETS[name]), int(number))

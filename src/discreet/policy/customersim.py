r"""The policy for customer-service dialogs such as CustomerSim: names, phones, addresses, order and tracking numbers.

    >>> find = CustomerSim().find
    >>> text = "SYS: Your full name?\nUSR: Okay, Ann Lee.\nSYS: Thanks, Ann Lee. Code X7K2PQ94MA."
    >>> [(text[s.start : s.end], s.kind) for s in find(text)]
    [('Ann Lee', 'PERSON'), ('Ann Lee', 'PERSON'), ('X7K2PQ94MA', 'TRACKING')]

It knows no names, streets or customers, only forms and the dialog: numbers and addresses have a shape; a name is a run
of capitalised words that a customer says (words that begin a sentence and are no names are listed), or whatever the
customer answers when asked for the name. A value once found is then found everywhere in the record, whoever says it,
and so are the single words of a name. What is told unasked, or told wrongly and corrected later, is found alike.

Sharp edges: it prefers to flag too much (a brand of two capitalised words counts as a name); ten digits in a row count
as a phone even if they are a tracking number; an address without state and ZIP code is found only as the answer to a
question about the address. Speakers stand before a colon at the start of a line; every one but the assistant counts as
a customer, and so does text without speakers. The number in `My ID is 123456`, the papers' canary, is of kind `ID`.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from discreet.policy.contract import POLICIES, Policy, TextPolicy
from discreet.text.records import Secret


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ADDRESS_WORD = r"(?:[A-Z][\w'’.-]*|\d+[A-Za-z]{0,2}|#\d+|of|the|and|de|del|la|&)"
ADDRESS = (
    r"(?<![\w.-])(?:\d{1,6}[A-Z]?|P\.? ?O\.? Box \d+|Unit \d+|PSC \d+|US(?:S|NS|NV|CGC))"
    rf"(?:,? {ADDRESS_WORD}){{1,14}}?,? [A-Z]{{2}},? \d{{5}}(?:-\d{{4}})?(?!\w)"
)
SHAPES = (
    ("ORDER", re.compile(r"(?<![\w-])(?P<secret>\d{3}-\d{5}-\d{4})(?![\w-])")),
    ("ADDRESS", re.compile(f"(?P<secret>{ADDRESS})")),
    ("ID", re.compile(r"(?<!\w)(?<!, )(?i:id)\b(?:\W|\b(?:is|no|number)\b){1,8}(?P<secret>\d{4,})(?!\w)")),
    ("PHONE", re.compile(r"(?<!\w)(?<!\d[.-])(?P<secret>\d{3}(?P<joint>[-.]?)\d{3}(?P=joint)\d{4})(?!\w|[.-]\d)")),
    ("TRACKING", re.compile(r"(?<![\w-])(?P<secret>[A-Z0-9]{10})(?![\w-])")),
)
"""Kinds and their shapes, the surer first: a later one does not touch what an earlier one found."""

LINE = re.compile(r"^(?:(?P<speaker>[A-Za-z]{2,12}): ?)?(?P<said>.*)$", re.MULTILINE)
ASSISTANTS = _words("agent assistant bot operator support sys system")
ASKS_NAME = re.compile(r"\bnames?\b|\bwho (?:am i|are you|is this|is it)\b", re.IGNORECASE)
ASKS_ADDRESS = re.compile(r"\baddress\b|\bwhere (?:do you live|should (?:we|it))\b", re.IGNORECASE)
LONGEST_INTRODUCTION = len(" name is ")
INTRODUCES = re.compile(r"\b(?:name is|name's|i am|i'm|call me)\s$", re.IGNORECASE)
ADDRESS_PART = re.compile(r"(?<!\w)[\dA-Z][\w-]*")
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")

NO_NAMES = _words(
    """
    a about actually again ah alas all alright also am an and another any anything apologies are as at be been before
    bought but by bye call can can't cannot certainly cheers contact correct correction could deliver delivered
    delivery did do does don't done enough everything excuse farewell fine follow for friday from full give given good
    goodbye got great greetings had has hasn't have haven't hello help here here's hey hi how however i i'd i'll i'm
    i've id if in indeed information is isn't it it's just know let like made make maybe me mine mistake monday more
    morning must my myself name name's need never no nope not nothing now number of oh ok okay on one only oops or
    order ordered our package parcel pardon perfect phone placed please pleasure question reach really receipt
    registered right same saturday says see send shipment shipped shipping should so some somebody someone sorry
    sunday sure surname telephone tell than thank thanks that that'd that'll that's the their them then there there's
    these they thing this those thursday to today told track tracking try tuesday under until up us use verify wait
    was wasn't we wednesday were what what's when where where's which who whose why with won't would wrong yea yeah
    yep yes yet you you're your yours zip
    """
)
"""Words that a customer may begin a sentence with, or say in plain dialog, and that are (nearly) never names."""
ALSO_WORDS = _words("Day Grace Mark May Rose Will")
"""Parts of names that are not looked for on their own: they are everyday words where a sentence begins."""


class _Said(NamedTuple):
    """What a customer says in one line, where it stands, and what the assistant's line before it asks."""

    start: int
    end: int
    asked: str


class CustomerSim(TextPolicy):
    """Names, phones, addresses, order numbers, tracking numbers and ID numbers of a customer-service dialog."""

    def find(self, text: str) -> Sequence[Secret]:
        found = _Found(text)
        for kind, shape in SHAPES:
            for match in shape.finditer(text):
                found.add(*match.span("secret"), kind)
        for said in _customer_lines(text):
            if ASKS_ADDRESS.search(said.asked) and not found.any_of("ADDRESS", said):
                found.add(*_loose_address(text, said, found), "ADDRESS")
            for start, end in _names(text, said, found):
                found.add(start, end, "PERSON")
        for start, end, kind in _everywhere(text, found.secrets):
            found.add(start, end, kind)
        return sorted(found.secrets)

    def spec(self) -> Any:
        return "customersim"


@POLICIES.register("customersim")
def customersim() -> Policy:
    """What is secret in a customer-service dialog."""
    return CustomerSim()


class _Found:
    """Secrets that do not overlap: what is covered already is not added again."""

    def __init__(self, text: str) -> None:
        self.secrets: list[Secret] = []
        self._covered = bytearray(len(text))

    def any_within(self, start: int, end: int) -> bool:
        return any(self._covered[start:end])

    def any_of(self, kind: str, said: _Said) -> bool:
        return any(s.kind == kind and said.start <= s.start < said.end for s in self.secrets)

    def add(self, start: int, end: int, kind: str) -> None:
        if start < end and not self.any_within(start, end):
            self._covered[start:end] = b"\1" * (end - start)
            self.secrets.append(Secret(start, end, kind))


def _customer_lines(text: str) -> Iterator[_Said]:
    asked = ""
    for line in LINE.finditer(text):
        if (line["speaker"] or "").lower() in ASSISTANTS:
            asked = line["said"]
        elif line["said"]:
            yield _Said(*line.span("said"), asked)
            asked = ""


def _names(text: str, said: _Said, found: _Found) -> Iterator[tuple[int, int]]:
    """Runs of capitalised words that may be names; one word is enough after a question or an introduction."""
    asked = bool(ASKS_NAME.search(said.asked))
    words = [w for w in WORD.finditer(text, said.start, said.end) if not found.any_within(*w.span())]
    runs = []
    for chain in _chains(text, words):
        for first, after in _without_ordinary(chain):
            expected = asked or INTRODUCES.search(text[said.start : chain[first].start()][-LONGEST_INTRODUCTION:])
            if after - first > 1:
                runs.append(chain[first:after])
            elif expected:
                runs.append(chain[first : after + 1])  # with the ordinary word after it, if any: Ann Good, Gail Day
    for run in runs or (_lower_case_name(words) if asked else []):
        yield run[0].start(), run[-1].end()


def _chains(text: str, words: Sequence[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """Capitalised words side by side, parted by one space (or by the point of an initial and a space)."""
    chain: list[re.Match[str]] = []
    for word in words:
        if not word[0][0].isupper():
            continue
        gap = text[chain[-1].end() : word.start()] if chain else ""
        if gap == " " or (gap == ". " and len(chain[-1][0]) == 1):
            chain.append(word)
            continue
        if chain:
            yield chain
        chain = [word]
    if chain:
        yield chain


def _without_ordinary(chain: Sequence[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """Where the words that may be names stand in a chain: `Yes Ann Lee My` has the run from 1 to 3."""
    for ordinary, group in itertools.groupby(range(len(chain)), key=lambda place: _ordinary(chain[place][0])):
        if not ordinary:
            places = list(group)
            yield places[0], places[-1] + 1


def _lower_case_name(words: Sequence[re.Match[str]]) -> list[list[re.Match[str]]]:
    """An answer in lower case, `it is ann lee`: up to three words in a row that are not ordinary, and no others."""
    places = [place for place, word in enumerate(words) if not _ordinary(word[0])]
    if 1 <= len(places) <= 3 and places[-1] - places[0] == len(places) - 1:
        return [[words[place] for place in places]]
    return []


def _ordinary(word: str) -> bool:
    return word.lower().replace("’", "'") in NO_NAMES


def _loose_address(text: str, said: _Said, found: _Found) -> tuple[int, int]:
    """The answer to a question about the address: all from its first number to its last number or capitalised word."""
    parts = [part for part in ADDRESS_PART.finditer(text, said.start, said.end) if not found.any_within(*part.span())]
    parts = list(itertools.dropwhile(lambda part: not part[0][0].isdigit(), parts))
    if not parts:
        return said.start, said.start
    start, ends = parts[0].start(), [part.end() for part in parts]
    return start, max(end for end in ends if not found.any_within(start, end))


def _everywhere(text: str, secrets: Sequence[Secret]) -> Iterator[tuple[int, int, str]]:
    """Every occurrence of a name or address that was found once, and of the single words of a name; long ones first."""
    whole = {(text[s.start : s.end], s.kind) for s in secrets if s.kind in ("PERSON", "ADDRESS")}
    words = {word[0] for value, kind in whole if kind == "PERSON" for word in WORD.finditer(value)}
    lower = text.lower()
    if len(lower) != len(text):  # some capitals have longer small letters, and positions would not agree
        lower = text
    for value, kind in sorted(whole, key=lambda known: (-len(known[0]), known)):
        yield from ((*span, kind) for span in _occurrences(value.lower() if lower is not text else value, lower))
    for word in sorted(words):
        if len(word) > 2 and word[0].isupper() and not _ordinary(word) and word not in ALSO_WORDS:
            yield from ((*span, "PERSON") for span in _occurrences(word, text))


def _occurrences(value: str, text: str) -> Iterator[tuple[int, int]]:
    """Where `value` stands in the text as whole words."""
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        if not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum():
            yield start, end
        start = text.find(value, start + 1)

r"""Chat without capitals and punctuation: introductions, bare answers, codes with spaces, addresses in lower case.

    >>> from discreet.policy.finders.page import Page
    >>> text = "my name is harris i live at 22 elm st\nhfb 756\nyes please"
    >>> sorted({text[s.start : s.end] for s in find(Page(text)) if s.score >= 0.5})
    ['22 elm st', 'harris', 'hfb 756']

Only stretches without capitals (but for the first letter and `I`) are looked at. A word is *strange* when it is no
ordinary word, not even with a slip of the keyboard. A stretch of hardly anything but strange words and numbers is the
answer to a question, whether the question is there or not; strange words in a sentence are secret only where something
announces them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from discreet.policy.customersim import NO_NAMES
from discreet.policy.finders.names import CALENDAR
from discreet.policy.finders.page import ANSWER_WORDS, KINDS_OF, Page
from discreet.policy.lists import CHAT, family, given, looks_ordinary, ordinary, places, word_set
from discreet.text.records import Secret

CAPITAL = re.compile(r"[A-ZÀ-ÖØ-ÞΑ-ΩА-Я](?:(?<!I)|(?=[^\W_])|(?<=[^\W_]I))")
"""A capital that is not the word I; a pattern that begins with a class is searched for much faster than a choice."""
PLAIN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
TOKEN = re.compile(r"[^\W_]+(?:['’@.][^\W_]+)*")
CUES = word_set(
    """
    st street road rd avenue ave lane ln drive dr blvd boulevard court ct apt apartment flat floor suite nagar
    colony marg salai plot sector phase block cross layout opp town village district county po box highway hwy
    plaza way circle place unit psc dpo apo fpo building complex house east west north south main
    """
)
SURE_CUES = word_set(
    """
    st street road rd avenue ave lane ln blvd boulevard apt apartment nagar colony marg salai suite hwy highway
    psc dpo apo fpo
    """
)
STATES = word_set(
    """
    al ak az ar ca co ct de fl ga hi id il ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok or
    pa ri sc sd tn tx ut vt va wa wv wi wy dc
    """
)
INTRODUCES = (
    "name is",
    "names",
    "name",
    "myself",
    "i am",
    "im",
    "i'm",
    "this is",
    "call me",
    "mr",
    "mrs",
    "miss",
    "ms",
    "dr",
)
BEGINNINGS: dict[str, list[tuple[str, ...]]] = {}
"""First word -> the phrases that introduce a name, the longest first."""
for _phrase in INTRODUCES:
    BEGINNINGS.setdefault(_phrase.split()[0], []).append(tuple(_phrase.split()))
FIRST_WORDS = frozenset(BEGINNINGS)
ADDRESS_WORDS = word_set("address addr adress addres")
ABOUT_ADDRESSES = ADDRESS_WORDS | CUES
DIGIT = re.compile(r"\d")
SURE = {("name", "is"), ("names",), ("name",), ("myself",), ("call", "me")}
NUMBER_WORDS = word_set(
    """
    number no num id code booking confirmation claim policy ref reference order ticket pnr ssn pin is
    conformation
    """
)
LITTLE = word_set("am an at be by do go he hi if in is it me my no of oh ok on or so to up us we")
"""Words of two letters that are not part of a code."""
UNIT_WORDS = word_set(
    """
    am pm cc km kg gb mb tb inch inches th st nd rd yr yrs hrs hr min mins usd rs inr oz ml gm gms lb lbs ft x
    pcs pc
    """
)
TOO_COMMON = CHAT | word_set(
    """
    an in so my see you do can will may le long king an so van ha she my so was are hi love ok see the to art
    """
)
"""Given names that are far more often something else."""
LONGEST_ANSWER = 14
SHORTEST_CODE = 5
ASKED = frozenset({"PERSON", "ADDRESS"})


class Word(NamedTuple):
    start: int
    end: int
    text: str
    number: bool
    strange: bool
    at: int
    """Which word of the stretch it is."""


def find(page: Page) -> Iterator[Secret]:
    text, lower = page.text, page.lower
    known, names, asks = ordinary(), _names_too(), page.asks_names
    for start, end, _, _ in page.lines:
        if CAPITAL.search(text, start + 1, end):
            continue
        words = PLAIN.findall(lower, start, end)
        if known.issuperset(words) and (
            len(words) > 4
            or NO_NAMES.issuperset(words)
            or (names.isdisjoint(words) and not (asks and "PERSON" in page.asked_at(start)))
        ):
            continue
        at = start
        while at < end:
            stretch = page.stretch_at(at)
            begin = max(at, stretch.start)
            for first, last, kind, score in of_stretch(lower[begin : stretch.end], stretch.asked & ASKED):
                yield Secret(begin + first, begin + last, kind, score)
            at = max(stretch.end, at + 1)


@cache
def _names_too() -> frozenset[str]:
    """Ordinary words that are given names."""
    return (given() & ordinary()) - TOO_COMMON


@lru_cache(maxsize=1 << 15)
def of_stretch(text: str, asked: frozenset[str]) -> tuple[Secret, ...]:
    """The secrets of a stretch in lower case, given what was asked for.

    The conditions only spare work: what they leave out would find nothing.
    """
    words = [Word(*match.span(), match[0], *_sort(match[0]), at) for at, match in enumerate(TOKEN.finditer(text))]
    rest = [word for word in words if word.text not in ANSWER_WORDS]
    texts = [word.text for word in words]
    strange = any([word.strange for word in words])
    digits = not text.isascii() or DIGIT.search(text) is not None
    found: list[Secret] = []
    if not FIRST_WORDS.isdisjoint(texts):
        found += _introductions(words)
    if digits:
        found += _codes(words, rest)
    if (strange or digits) and ("ADDRESS" in asked or not ABOUT_ADDRESSES.isdisjoint(texts)):
        found += _addresses(words, asked)
    found += _bare(rest, asked)
    if strange:
        found += _in_sentence(words)
    return tuple(found)


@lru_cache(maxsize=1 << 15)
def _sort(text: str) -> tuple[bool, bool]:
    """Whether a word is a number, and whether it is strange."""
    number = text[0].isdigit()
    return number, not (number or text in KINDS_OF or text in CALENDAR or looks_ordinary(text))


def _span(words: Sequence[Word], kind: str, score: float) -> Secret:
    return Secret(words[0].start, words[-1].end, kind, score)


def _introductions(words: Sequence[Word]) -> Iterator[Secret]:
    """Names after `my name is`, `this is`, `i am`."""
    for at, word in enumerate(words):
        if word.text not in BEGINNINGS:
            continue
        phrase = next((one for one in BEGINNINGS[word.text] if _texts(words[at : at + len(one)]) == one), None)
        if phrase is None:
            continue
        begin = end = at + len(phrase)
        while end < min(len(words), begin + 4) and _may_be_name(words[end], phrase in SURE, end == begin):
            end += 1
        if end > begin:
            yield _span(words[begin:end], "PERSON", 0.8)


def _texts(words: Sequence[Word]) -> tuple[str, ...]:
    return tuple(word.text for word in words)


def _may_be_name(word: Word, sure: bool, first: bool) -> bool:
    if word.number or word.text in KINDS_OF or word.text in NO_NAMES or word.text in ANSWER_WORDS:
        return False
    if word.strange or (word.text in given() and word.text not in TOO_COMMON):
        return True
    return sure and (first or word.text in family())


def _codes(words: Sequence[Word], rest: Sequence[Word]) -> Iterator[Secret]:
    """Letters and digits with spaces between them, `w 2 f 4 j 1`."""
    for run in _runs(words, _may_be_code):
        whole = bool(rest) and run[0].start <= rest[0].start and run[-1].end >= rest[-1].end
        while run and not run[0].number and _frames(run[0], words, whole):
            run = run[1:]
        while run and not run[-1].number and not run[-1].strange and run[-1] is not words[-1]:
            run = run[:-1]
        letters = sum(len(word.text) for word in run if not word.number)
        digits = sum(c.isdigit() for word in run for c in word.text)
        if not digits or not letters or letters + digits < SHORTEST_CODE or run[-1].text in UNIT_WORDS:
            continue
        announced = _code_before(words, run[0])
        if whole or announced or all(word.number or word.strange or len(word.text) == 1 for word in run):
            yield _span(run, "REFERENCE", 0.7 if whole or announced else 0.55)


def _may_be_code(word: Word) -> bool:
    if word.number or len(word.text) == 1:
        return True
    return len(word.text) <= 4 if word.strange else len(word.text) == 2 and word.text not in LITTLE


def _frames(word: Word, words: Sequence[Word], whole: bool) -> bool:
    """Whether a short word at the beginning of a code is about the code and not part of it."""
    if word.text in ANSWER_WORDS or word.text in KINDS_OF:
        return True
    return not word.strange and not whole and not _code_before(words, word)


def _code_before(words: Sequence[Word], word: Word) -> bool:
    return word.at > 0 and words[word.at - 1].text in NUMBER_WORDS


def _runs(words: Sequence[Word], belongs: Callable[[Word], bool]) -> Iterator[Sequence[Word]]:
    run: list[Word] = []
    for word in words:
        if belongs(word):
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _addresses(words: Sequence[Word], asked: frozenset[str]) -> Iterator[Secret]:
    """From the first number or strange word to the last, around a word for streets, or after `address`."""
    said = next((word.at for word in words if word.text in ADDRESS_WORDS), None)
    expected = said is not None or "ADDRESS" in asked
    after = -1 if said is None else said
    marks = [word for word in words if word.at > after and (word.number or word.strange or word.text in CUES)]
    if not any(word.number or word.strange for word in marks):
        return
    cues = [word.text for word in marks if word.text in CUES]
    if not expected and not (cues and any(word.strange for word in marks)) and SURE_CUES.isdisjoint(cues):
        return
    walls = [word.at for word in words if word.text in KINDS_OF and word.text not in CUES]
    for run in _near([word.at for word in marks], 3, walls):
        part = words[run[0] : run[-1] + 1]
        if len(part) < 2 or not any(word.number or word.strange for word in part):
            continue
        if expected or any(word.text in CUES for word in part):
            yield _span(part, "ADDRESS", 0.7)


def _near(places_: Sequence[int], gap: int, walls: Sequence[int] = ()) -> Iterator[list[int]]:
    """Places with no more than so many between them, and no wall."""
    run: list[int] = []
    for at in places_:
        if run and (at - run[-1] > gap or any(run[-1] < wall < at for wall in walls)):
            yield run
            run = []
        run.append(at)
    if run:
        yield run


def _bare(rest: Sequence[Word], asked: frozenset[str]) -> Iterator[Secret]:
    """A stretch that is hardly anything but strange words and numbers."""
    if not rest or len(rest) > LONGEST_ANSWER:
        return
    odd = [at for at, word in enumerate(rest) if word.strange or word.number]
    strange = [word for word in rest if word.strange]
    if strange and len(odd) * 2 >= len(rest):
        named = [at for at, word in enumerate(rest) if word.strange or word.number or _could_be_name(word)]
        for run in _near(named, 2 if any(word.number for word in rest) else 1):
            part = rest[run[0] : run[-1] + 1]
            if any(word.strange for word in part) and not any(word.text in KINDS_OF for word in part):
                kind = "ADDRESS" if len(part) > 3 or any(word.number for word in part) else "PERSON"
                yield _span(part, kind, 0.65)
            else:
                for word in part:
                    if word.strange:
                        yield _span([word], "PERSON", 0.6)
    elif len(rest) <= 3 and not any(word.number for word in rest):
        names = [word for word in rest if word.text in given() and word.text not in TOO_COMMON]
        if (names and len(rest) <= 2 and all(_could_be_name(word) for word in rest)) or (
            "PERSON" in asked and not any(word.text in NO_NAMES or word.text in KINDS_OF for word in rest)
        ):
            yield _span(rest, "PERSON", 0.55)


def _could_be_name(word: Word) -> bool:
    """Names that are ordinary words too."""
    return (word.text in given() or word.text in family()) and word.text not in TOO_COMMON and word.text not in NO_NAMES


def _in_sentence(words: Sequence[Word]) -> Iterator[Secret]:
    """Strange words in a longer sentence: given names and runs of strange words."""
    for run in _runs(words, lambda word: word.strange):
        known = any(word.text in given() for word in run)
        yield _span(
            run,
            "PLACE" if any(w.text in places() for w in run) else "PERSON",
            0.6 if known else 0.5 if len(run) > 1 else 0.35,
        )

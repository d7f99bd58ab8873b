"""What stretches of chat hold, word by word, with nothing left out to be fast: the measure of `finders.stretches`."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from discreet.policy.customersim import NO_NAMES
from discreet.policy.finders.asking import KINDS_OF
from discreet.policy.finders.chat import (
    ADDRESS_WORDS,
    BEGINNINGS,
    CUES,
    LONGEST_ANSWER,
    NUMBER,
    NUMBER_WORDS,
    SHORTEST_CODE,
    SORTS,
    STRANGE,
    SURE,
    SURE_CUES,
    TOO_COMMON,
    UNIT_WORDS,
    UNSURE,
    code_like,
)
from discreet.policy.finders.page import ANSWER_WORDS
from discreet.policy.lists import family, given, ordinary, places
from discreet.text.records import Secret

TOKEN = re.compile(r"[^\W_]+(?:['’@.][^\W_]+)*")


class Word(NamedTuple):
    start: int
    end: int
    text: str
    number: bool
    strange: bool
    at: int
    """Which word of the stretch it is."""


def every(text: str, asked: frozenset[str]) -> list[Secret]:
    """All that the five ways of finding find."""
    words = [
        Word(*match.span(), match[0], SORTS[match[0]] == NUMBER, SORTS[match[0]] == STRANGE, at)
        for at, match in enumerate(TOKEN.finditer(text))
    ]
    rest = [word for word in words if word.text not in ANSWER_WORDS]
    return [
        *_introductions(words),
        *_codes(words, rest),
        *_addresses(words, asked),
        *_bare(rest, asked),
        *_in_sentence(words),
    ]


def dull(text: str, asked: frozenset[str]) -> bool:
    """Whether a line is not looked at: ordinary words only, many of them or none that could be a name."""
    words = re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text)
    if not all(word in ordinary() for word in words):
        return False
    names = [word for word in words if word in given() and word not in TOO_COMMON]
    return len(words) > 4 or all(word in NO_NAMES for word in words) or (not names and "PERSON" not in asked)


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
    return word.number or code_like(word.text, word.strange)


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
            0.6 if known else 0.5 if len(run) > 1 else UNSURE,
        )

"""The secrets of chat without capitals, as `finders.stretches` finds them: words first, then five ways of finding."""

from typing import NamedTuple

import numpy as np

from discreet.policy.finders.chat import LONGEST_ANSWER, SHORTEST_CODE, UNSURE
from discreet.policy.finders.fast.compiled import Array, compiled
from discreet.policy.finders.fast.marks import (
    ADDRESS_WORD,
    AM,
    ANSWER,
    CALL,
    COMMON,
    CUE,
    FAMILY,
    GIVEN,
    IM,
    IS,
    KIND,
    ME,
    NAME,
    NAMES,
    NO_NAME,
    NUMBER_WORD,
    PHRASE,
    PLACE,
    SURE_CUE,
    THIS,
    UNIT,
    I,
)
from discreet.policy.finders.stretches import FARTHEST_IN_ADDRESS, LONGEST_NAME

KINDS = ("PERSON", "ADDRESS", "REFERENCE", "PLACE", "ORGANIZATION", "NATIONALITY")
"""The kinds of findings; their numbers stand in the loops."""
PERSON, ADDRESS, REFERENCE, PLACED, COMPANY, NATION = range(6)
ORDINARY, NUMBER, STRANGE = np.int8(0), np.int8(1), np.int8(2)
ASKED_PERSON, ASKED_ADDRESS = 1, 2
PHRASE_BITS = np.uint64(15)


class Words(NamedTuple):
    """The words of one stretch, written over by the next."""

    starts: Array
    ends: Array
    marks: Array
    sorts: Array
    digits: Array
    coded: Array
    """Whether it may be part of a code with spaces in it."""
    rest: Array
    """Which words are not among those that people answer with."""


class Findings(NamedTuple):
    """Where secrets begin and end, their kinds and scores, and how many there are."""

    starts: Array
    ends: Array
    kinds: Array
    scores: Array
    count: Array


@compiled  # type: ignore[untyped-decorator]
def room_for_words(most: int) -> Words:
    return Words(
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.uint64),
        np.empty(most, np.int8),
        np.empty(most, np.int64),
        np.empty(most, np.bool_),
        np.empty(most, np.int64),
    )


@compiled  # type: ignore[untyped-decorator]
def room_for_findings(most: int) -> Findings:
    return Findings(
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.float64),
        np.zeros(1, np.int64),
    )


@compiled  # type: ignore[untyped-decorator]
def add(findings: Findings, start: int, end: int, kind: int, score: float) -> None:
    at = findings.count[0]
    findings.starts[at], findings.ends[at] = start, end
    findings.kinds[at], findings.scores[at] = kind, score
    findings.count[0] = at + 1


@compiled  # type: ignore[untyped-decorator]
def of_words(words: Words, count: int, asked: int, sure: bool, findings: Findings) -> None:
    """The secrets of a stretch of so many words, given what was asked for."""
    strange = numbers = phrases = cues = False
    digits = rest = 0
    for at in range(count):
        marks = words.marks[at]
        strange |= words.sorts[at] == STRANGE
        numbers |= words.sorts[at] == NUMBER
        digits += words.digits[at]
        phrases |= (marks >> PHRASE) & PHRASE_BITS != 0
        cues |= marks & (CUE | ADDRESS_WORD) != 0
        if not marks & ANSWER:
            words.rest[rest] = at
            rest += 1
    if phrases:
        _introductions(words, count, findings)
    if digits:
        _codes(words, count, rest, findings)
    if (strange or numbers) and (cues or asked & ASKED_ADDRESS):
        _addresses(words, count, asked, findings)
    if 0 < rest <= LONGEST_ANSWER:
        _bare(words, rest, asked, findings)
    if strange:
        _in_sentence(words, count, sure, findings)


@compiled  # type: ignore[untyped-decorator]
def _found(words: Words, first: int, end: int, kind: int, score: float, findings: Findings) -> None:
    add(findings, words.starts[first], words.ends[end - 1], kind, score)


@compiled  # type: ignore[untyped-decorator]
def _phrase(words: Words, count: int, at: int) -> tuple[int, bool]:
    """How many words long the phrase is that begins here and introduces a name, and whether it surely does."""
    first = (words.marks[at] >> PHRASE) & PHRASE_BITS
    after = (words.marks[at + 1] >> PHRASE) & PHRASE_BITS if at + 1 < count else np.uint64(0)
    if first == NAME:
        return (2, True) if after == IS else (1, True)
    if first == NAMES:
        return 1, True
    if first == IM:
        return 1, False
    if first == CALL and after == ME:
        return 2, True
    if (first == I and after == AM) or (first == THIS and after == IS):
        return 2, False
    return 0, False


@compiled  # type: ignore[untyped-decorator]
def _introductions(words: Words, count: int, findings: Findings) -> None:
    for at in range(count):
        length, sure = _phrase(words, count, at)
        if not length:
            continue
        begin = end = at + length
        while end < min(count, begin + LONGEST_NAME) and _may_be_name(words, end, sure, end == begin):
            end += 1
        if end > begin:
            _found(words, begin, end, PERSON, 0.8, findings)


@compiled  # type: ignore[untyped-decorator]
def _may_be_name(words: Words, at: int, sure: bool, first: bool) -> bool:
    marks = words.marks[at]
    if words.sorts[at] == NUMBER or marks & (KIND | NO_NAME | ANSWER):
        return False
    if words.sorts[at] == STRANGE or (marks & GIVEN and not marks & COMMON):
        return True
    return sure and (first or marks & FAMILY != 0)


@compiled  # type: ignore[untyped-decorator]
def _codes(words: Words, count: int, rest: int, findings: Findings) -> None:
    at = 0
    while at < count:
        if not words.coded[at]:
            at += 1
            continue
        first = at
        while at < count and words.coded[at]:
            at += 1
        last = at - 1
        whole = rest > 0 and first <= words.rest[0] and last >= words.rest[rest - 1]
        while first <= last and words.sorts[first] != NUMBER and _frames(words, first, whole):
            first += 1
        while last >= first and words.sorts[last] == ORDINARY and last != count - 1:
            last -= 1
        letters = digits = 0
        odd = True
        for one in range(first, last + 1):
            length = words.ends[one] - words.starts[one]
            letters += length if words.sorts[one] != NUMBER else 0
            digits += words.digits[one]
            odd &= words.sorts[one] != ORDINARY or length == 1
        if not digits or not letters or letters + digits < SHORTEST_CODE or words.marks[last] & UNIT:
            continue
        told = whole or _code_before(words, first)
        if told or odd:
            _found(words, first, last + 1, REFERENCE, 0.7 if told else 0.55, findings)


@compiled  # type: ignore[untyped-decorator]
def _frames(words: Words, at: int, whole: bool) -> bool:
    if words.marks[at] & (ANSWER | KIND):
        return True
    return words.sorts[at] != STRANGE and not whole and not _code_before(words, at)


@compiled  # type: ignore[untyped-decorator]
def _code_before(words: Words, at: int) -> bool:
    return at > 0 and words.marks[at - 1] & NUMBER_WORD != 0


@compiled  # type: ignore[untyped-decorator]
def _addresses(words: Words, count: int, asked: int, findings: Findings) -> None:
    said = -1
    cue = sure_cue = strange = False
    for at in range(count):
        marks = words.marks[at]
        if said < 0 and marks & ADDRESS_WORD:
            said = at
        cue |= marks & CUE != 0
        sure_cue |= marks & SURE_CUE != 0
        strange |= words.sorts[at] == STRANGE
    expected = said >= 0 or asked & ASKED_ADDRESS != 0
    if not expected and not (cue and strange) and not sure_cue:
        return
    at = said + 1
    while at < count:
        if not _in_address(words, at):
            at += 1
            continue
        first = last = at
        at += 1
        while at < count and at - last <= FARTHEST_IN_ADDRESS:
            if _in_address(words, at):
                last = at
            elif words.marks[at] & KIND and not words.marks[at] & CUE:
                break  # a wall
            at += 1
        at = last + 1
        _address(words, first, at, expected, findings)


@compiled  # type: ignore[untyped-decorator]
def _in_address(words: Words, at: int) -> bool:
    return words.sorts[at] != ORDINARY or words.marks[at] & CUE != 0


@compiled  # type: ignore[untyped-decorator]
def _address(words: Words, first: int, end: int, expected: bool, findings: Findings) -> None:
    plain, cue = True, False
    for at in range(first, end):
        plain &= words.sorts[at] == ORDINARY
        cue |= words.marks[at] & CUE != 0
    if end - first > 1 and not plain and (expected or cue):
        _found(words, first, end, ADDRESS, 0.7, findings)


@compiled  # type: ignore[untyped-decorator]
def _bare(words: Words, rest: int, asked: int, findings: Findings) -> None:
    ordinary = 0
    numbers = strange = known = False
    names = True
    every = np.uint64(0)
    for one in range(rest):
        at = words.rest[one]
        sort, marks = words.sorts[at], words.marks[at]
        ordinary += sort == ORDINARY
        numbers |= sort == NUMBER
        strange |= sort == STRANGE
        known |= marks & GIVEN != 0 and not marks & COMMON
        names &= _could_be_name(marks)
        every |= marks
    if strange and (rest - ordinary) * 2 >= rest:
        gap = 2 if numbers else 1
        one = 0
        while one < rest:
            if not _named(words, one):
                one += 1
                continue
            first = last = one
            while one < rest and one - last <= gap:
                if _named(words, one):
                    last = one
                one += 1
            one = last + 1
            _bare_run(words, first, one, findings)
    elif rest <= 3 and not numbers:
        if (rest <= 2 and known and names) or (asked & ASKED_PERSON and not every & (NO_NAME | KIND)):
            _found(words, words.rest[0], words.rest[rest - 1] + 1, PERSON, 0.55, findings)


@compiled  # type: ignore[untyped-decorator]
def _could_be_name(marks: np.uint64) -> bool:
    return marks & (GIVEN | FAMILY) != 0 and not marks & (COMMON | NO_NAME)


@compiled  # type: ignore[untyped-decorator]
def _named(words: Words, one: int) -> bool:
    at = words.rest[one]
    return words.sorts[at] != ORDINARY or _could_be_name(words.marks[at])


@compiled  # type: ignore[untyped-decorator]
def _bare_run(words: Words, first: int, end: int, findings: Findings) -> None:
    strange = numbers = announcing = False
    for one in range(first, end):
        at = words.rest[one]
        strange |= words.sorts[at] == STRANGE
        numbers |= words.sorts[at] == NUMBER
        announcing |= words.marks[at] & KIND != 0
    if strange and not announcing:
        kind = ADDRESS if end - first > 3 or numbers else PERSON
        _found(words, words.rest[first], words.rest[end - 1] + 1, kind, 0.65, findings)
        return
    for one in range(first, end):
        at = words.rest[one]
        if words.sorts[at] == STRANGE:
            _found(words, at, at + 1, PERSON, 0.6, findings)


@compiled  # type: ignore[untyped-decorator]
def _in_sentence(words: Words, count: int, sure: bool, findings: Findings) -> None:
    at = 0
    while at < count:
        if words.sorts[at] != STRANGE:
            at += 1
            continue
        first = at
        marks = words.marks[at]
        while at < count and words.sorts[at] == STRANGE:
            marks |= words.marks[at]
            at += 1
        score = 0.6 if marks & GIVEN else 0.5 if at - first > 1 else UNSURE
        if score > UNSURE or not sure:
            _found(words, first, at, PLACED if marks & PLACE else PERSON, score, findings)

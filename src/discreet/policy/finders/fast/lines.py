"""Which lines are chat, what stretches they have and what words those, as `finders.answers` reads them."""

import numpy as np

from discreet.policy.finders.fast.asking import QUESTION, UNSURE, kinds_named
from discreet.policy.finders.fast.compiled import Array, compiled
from discreet.policy.finders.fast.marks import (
    ALNUM,
    CALENDAR,
    COMMON,
    DIGIT,
    GIVEN,
    KIND,
    LITTLE_WORD,
    NO_NAME,
    SHOWY,
)
from discreet.policy.finders.fast.marks import ORDINARY as LISTED
from discreet.policy.finders.fast.stretches import (
    ASKED_ADDRESS,
    ASKED_PERSON,
    NUMBER,
    ORDINARY,
    STRANGE,
    Findings,
    Words,
    of_words,
    room_for_findings,
    room_for_words,
)
from discreet.policy.finders.fast.vocabulary import APOSTROPHE, CURLY, Vocabulary, looks_ordinary, marks_of
from discreet.policy.finders.shapes import LONG_LINE

WAYS = 5
"""No word begins more findings than there are ways of finding."""
AT, POINT, CAPITAL_I = (np.uint32(ord(letter)) for letter in "@.I")


@compiled  # type: ignore[untyped-decorator]
def _is_chat(classes: Array, text: Array, lower: Array, start: int, end: int) -> bool:
    """Whether a line has no capital but for its first letter and the word I."""
    shown = changed = False
    for at in range(start + 1, end):
        changed |= text[at] != lower[at]
        if classes[text[at]] & SHOWY and not shown:
            alone = text[at] == CAPITAL_I and not classes[text[at - 1]] & ALNUM
            shown = not alone or (at + 1 < end and classes[text[at + 1]] & ALNUM != 0)
        if shown and changed:
            return False
    return True


@compiled  # type: ignore[untyped-decorator]
def _read(
    v: Vocabulary, classes: Array, lower: Array, start: int, end: int, asked: int, words: Words
) -> tuple[int, bool]:
    """Writes down the words of a stretch: how many they are, and whether the stretch is dull (`shapes.dull`)."""
    count = pieces = 0
    known = no_names = True
    names = False
    at = start
    while at < end:
        if not classes[lower[at]] & ALNUM:
            at += 1
            continue
        first, digits, joints = at, 0, 0
        while True:
            while at < end and classes[lower[at]] & ALNUM:
                digits += classes[lower[at]] & DIGIT != 0
                at += 1
            if at + 1 >= end or not classes[lower[at + 1]] & ALNUM:
                break
            if not (lower[at] == APOSTROPHE or lower[at] == CURLY or lower[at] == AT or lower[at] == POINT):
                break
            joints += 1
            at += 1
        marks = marks_of(v, lower, first, at)
        if classes[lower[first]] & DIGIT:
            sort = NUMBER
        elif marks & (KIND | CALENDAR) or looks_ordinary(v, lower, first, at, marks):
            sort = ORDINARY
        else:
            sort = STRANGE
        length = at - first
        words.starts[count], words.ends[count], words.marks[count] = first, at, marks
        words.sorts[count], words.digits[count] = sort, digits
        words.coded[count] = (
            sort == NUMBER
            or length == 1
            or (length <= 4 if sort == STRANGE else length == 2 and not marks & LITTLE_WORD)
        )
        count += 1
        begin = first
        while begin < at:
            stop = _plain_end(classes, lower, begin, at) if joints else at
            own = marks_of(v, lower, begin, stop) if joints else marks
            pieces += 1
            known &= own & LISTED != 0
            no_names &= own & NO_NAME != 0
            names |= own & GIVEN != 0 and not own & COMMON
            begin = stop + (stop < at)
    dull = known and (pieces > LONG_LINE or no_names or (not names and not asked & ASKED_PERSON))
    return count, dull


@compiled  # type: ignore[untyped-decorator]
def _plain_end(classes: Array, lower: Array, start: int, end: int) -> int:
    """Where a word as dictionaries have it ends: after letters, or an apostrophe and more of them."""
    at = start
    while at < end and classes[lower[at]] & ALNUM:
        at += 1
    if at < end and (lower[at] == APOSTROPHE or lower[at] == CURLY):
        at += 1
        while at < end and classes[lower[at]] & ALNUM:
            at += 1
    return at


@compiled  # type: ignore[untyped-decorator]
def in_lines(
    v: Vocabulary,
    classes: Array,
    text: Array,
    lower: Array,
    starts: Array,
    ends: Array,
    asked: Array,
    person: int,
    address: int,
    sure: bool,
) -> tuple[Findings, Array]:
    """The secrets of lines, and which lines are left to `finders.answers`.

    asked: what was asked for before each line, in bits, of which `person` and `address` are two.
    """
    longest = letters = 0
    for line in range(len(starts)):
        longest = max(longest, ends[line] - starts[line])
        letters += ends[line] - starts[line] + 2
    words = room_for_words(longest // 2 + 2)
    findings = room_for_findings(WAYS * letters // 2 + 8)
    left = np.empty(len(starts), np.int64)
    leave = 0
    for line in range(len(starts)):
        start, end = starts[line], ends[line]
        if not _is_chat(classes, text, lower, start, end):
            continue
        own = _narrowed(asked[line], person, address)
        count, dull = _read(v, classes, lower, start, end, own, words)
        if dull or not count:
            continue
        question = start
        while question < end and lower[question] != QUESTION:
            question += 1
        if question == end:
            of_words(words, count, own, sure, findings)
            continue
        before = findings.count[0]
        begin = start
        while begin < end:
            stop = min(question + 1, end)
            count, dull = _read(v, classes, lower, begin, stop, own, words)
            of_words(words, count, own, sure, findings)
            named = kinds_named(v, lower, begin, question) if stop < end else 0
            if named == UNSURE:
                findings.count[0] = before
                left[leave] = line
                leave += 1
                break
            own = _narrowed(named, person, address)
            begin = question = stop
            while question < end and lower[question] != QUESTION:
                question += 1
    return findings, left[:leave]


@compiled  # type: ignore[untyped-decorator]
def _narrowed(asked: int, person: int, address: int) -> int:
    return (ASKED_PERSON if asked & person else 0) | (ASKED_ADDRESS if asked & address else 0)

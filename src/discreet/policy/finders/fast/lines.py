"""Which lines are chat, what stretches they have and what words those, as `finders.answers` reads them."""

from typing import Any

import numpy as np

from discreet.policy.finders.fast.asking import UNSURE, kinds_named
from discreet.policy.finders.fast.compiled import Array, compiled, kept
from discreet.policy.finders.fast.findings import PARTS
from discreet.policy.finders.fast.loading import VERSION
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
    CODED,
    COLUMNS,
    COUNTED,
    DIGITS,
    END,
    MARKS,
    ORDINARY,
    SORT,
    START,
    STRANGE,
    of_words,
)
from discreet.policy.finders.fast.vocabulary import APOSTROPHE, AT, CURLY, POINT, QUESTION, looks_ordinary, marks_of
from discreet.policy.finders.shapes import LONG_LINE

WAYS = 5
"""No word begins more found than there are ways of finding."""
CAPITAL_I = ord("I")


@compiled
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


@compiled
def _read(
    book: Array, classes: Array, lower: Array, start: int, end: int, asked: int, words: Array
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
        marks = marks_of(book, lower, first, at)
        if classes[lower[first]] & DIGIT:
            sort = COUNTED
        elif marks & (KIND | CALENDAR) or looks_ordinary(book, lower, first, at, marks):
            sort = ORDINARY
        else:
            sort = STRANGE
        length = at - first
        coded = length <= 4 if sort == STRANGE else length == 2 and not marks & LITTLE_WORD
        words[count, START], words[count, END], words[count, MARKS] = first, at, marks
        words[count, SORT], words[count, DIGITS] = sort, digits
        words[count, CODED] = sort == COUNTED or length == 1 or coded
        count += 1
        begin = first
        while begin < at:
            stop = _plain_end(classes, lower, begin, at) if joints else at
            own = marks_of(book, lower, begin, stop) if joints else marks
            pieces += 1
            known &= own & LISTED != 0
            no_names &= own & NO_NAME != 0
            names |= own & GIVEN != 0 and not own & COMMON
            begin = stop + (stop < at)
    dull = known and (pieces > LONG_LINE or no_names or (not names and not asked & ASKED_PERSON))
    return count, dull


@compiled
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


def _in_lines_of(version: int) -> Any:
    @kept
    def in_lines(
        book: Array,
        classes: Array,
        text: Array,
        lower: Array,
        starts: Array,
        ends: Array,
        asked: Array,
        person: int,
        address: int,
        sure: bool,
    ) -> tuple[Array, Array]:
        """The secrets of lines, and which lines are left to `finders.answers`.

        asked: what was asked for before each line, in bits, of which `person` and `address` are two.
        """
        assert version
        longest = letters = 0
        for line in range(len(starts)):
            longest = max(longest, ends[line] - starts[line])
            letters += ends[line] - starts[line] + 2
        words = np.empty((longest // 2 + 2, COLUMNS), np.int64)
        found = np.empty((WAYS * letters // 2 + 8, PARTS), np.int64)
        found[0, 0] = 0
        left = np.empty(len(starts), np.int64)
        leave = 0
        for line in range(len(starts)):
            start, end = starts[line], ends[line]
            if not _is_chat(classes, text, lower, start, end):
                continue
            own = _narrowed(asked[line], person, address)
            count, dull = _read(book, classes, lower, start, end, own, words)
            if dull or not count:
                continue
            question = start
            while question < end and lower[question] != QUESTION:
                question += 1
            if question == end:
                of_words(words, count, own, sure, found)
                continue
            before = found[0, 0]
            begin = start
            while begin < end:
                stop = min(question + 1, end)
                count, dull = _read(book, classes, lower, begin, stop, own, words)
                of_words(words, count, own, sure, found)
                named = kinds_named(book, lower, begin, question) if stop < end else 0
                if named == UNSURE:
                    found[0, 0] = before
                    left[leave] = line
                    leave += 1
                    break
                own = _narrowed(named, person, address)
                begin = question = stop
                while question < end and lower[question] != QUESTION:
                    question += 1
        return found[1 : found[0, 0] + 1], left[:leave]

    return in_lines


in_lines = _in_lines_of(VERSION)


@compiled
def _narrowed(asked: int, person: int, address: int) -> int:
    return (ASKED_PERSON if asked & person else 0) | (ASKED_ADDRESS if asked & address else 0)

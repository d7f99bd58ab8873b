"""What numbers stand for, as `finders.numbers` decides it; codes with letters, and what is rare, are left to that."""

from typing import Any

import numpy as np

from discreet.policy.finders import numbers
from discreet.policy.finders.fast.around import announced, is_alone, line_of
from discreet.policy.finders.fast.asking import UNSURE
from discreet.policy.finders.fast.codes import code_around, is_aged
from discreet.policy.finders.fast.compiled import ZERO, Array, compiled, kept
from discreet.policy.finders.fast.digits import (
    grouped_as_phone,
    is_date,
    is_decimal,
    is_digit,
    is_social,
    is_year,
    is_years,
    luhn,
    routing,
)
from discreet.policy.finders.fast.findings import (
    ACCOUNT,
    AGE,
    BIRTH,
    CARD,
    DATE,
    NUMBER,
    PARTS,
    PHONE,
    REFERENCE,
    SSN,
    ZIP,
    add,
)
from discreet.policy.finders.fast.loading import VERSION
from discreet.policy.finders.fast.marks import ALPHA, NEVER_BEFORE, kinds_mask
from discreet.policy.finders.fast.vocabulary import HYPHEN, POINT, SPACE

PLUS, OPEN, Y = map(ord, "+(y")
NAMED_ACCOUNT, NAMED_BIRTH, NAMED_CARD, NAMED_PHONE, NAMED_SSN, NAMED_ZIP = (
    kinds_mask([kind]) for kind in ("ACCOUNT", "BIRTH", "CARD", "PHONE", "SSN", "ZIP")
)
NAMED_COUNTED = kinds_mask(numbers.COUNTED)
NOTHING = -1
"""The kind of what `finders.numbers` has to look at."""


@compiled
def _kind(text: Array, start: int, end: int, length: int, named: int, international: bool) -> tuple[int, int]:
    """The kind and score of a number with so many digits, in the order of `numbers._kind`; NOTHING where it is none,
    and a score of 0 where it depends on what is around it."""
    points = hyphens = 0
    for at in range(start, end):
        points += text[at] == POINT
        hyphens += text[at] == HYPHEN
    if length < end - start and is_date(text, start, end):
        return (BIRTH, 85) if named & NAMED_BIRTH else (DATE, 30)
    if 13 <= length <= 19 and points < 2 and luhn(text, start, end):
        return CARD, 95
    if 12 <= length <= 19 and named & NAMED_CARD:
        return CARD, 85
    if length == 9 and is_social(text, start, end):
        return SSN, 90 if hyphens or named & NAMED_SSN else 60
    if named & NAMED_SSN and (length == 4 or length == 9):
        return SSN, 85
    if length == 9 and named & NAMED_ACCOUNT and routing(text, start, end):
        return ACCOUNT, 95
    if (points and is_decimal(text, start, end)) or (length == 4 and end - start == 4 and is_year(text, start)):
        return NOTHING, 0
    if 7 <= length <= 15 and (named & NAMED_PHONE or international):
        return PHONE, 90
    if 10 <= length <= 11 and grouped_as_phone(text, start, end):
        return PHONE, 75
    if named & NAMED_ACCOUNT:
        return ACCOUNT, 75
    if named & NAMED_BIRTH and length <= 8:
        return BIRTH, 60
    if named & NAMED_COUNTED:
        return NUMBER, 70 if length > 4 else 60
    if named & NAMED_ZIP and length < 7:
        return ZIP, 80
    if length > 6:
        return PHONE if 8 <= length <= 11 else NUMBER, 55
    return NUMBER, 0


@compiled
def _may_be_age(lower: Array, end: int) -> bool:
    """Whether `years` or `yo` may follow."""
    return end < len(lower) and (
        lower[end] == Y
        or (end + 1 < len(lower) and lower[end + 1] == Y and (lower[end] == SPACE or lower[end] == HYPHEN))
    )


@compiled
def _is_international(text: Array, start: int) -> bool:
    return start > 0 and (text[start - 1] == PLUS or text[start - 1] == OPEN)


@compiled
def _judged(
    book: Array,
    classes: Array,
    text: Array,
    lower: Array,
    start: int,
    end: int,
    line_start: int,
    line_end: int,
    asked: int,
    personal: bool,
) -> tuple[int, int]:
    """The kind and the score of a number, which is 0 where it does not count."""
    before = classes[text[start - 1]] if start else 0
    after = classes[text[end]] if end < len(text) else 0
    if (before | after) & ALPHA or (start > 1 and text[start - 1] == HYPHEN and classes[text[start - 2]] & ALPHA):
        return NOTHING, 0  # a code
    if end - start < 4:
        if is_aged(lower, start):
            return AGE, 60
        return NOTHING if _may_be_age(lower, end) else NUMBER, 0
    if before & NEVER_BEFORE:
        return NUMBER, 0
    length = spaces = other = ZERO
    for at in range(start, end):
        length += is_digit(text[at])
        spaces += text[at] == SPACE
        other += text[at] > 127
    if other or (length == 12 and spaces == 2):
        return NOTHING, 0  # other digits, or perhaps those of an Aadhaar number
    if length < 4 or (not personal and is_years(text, start, end)):
        return NUMBER, 0
    named = announced(book, classes, lower, start, line_start, line_end, asked)
    if named == UNSURE:
        return NOTHING, 0
    kind, score = _kind(text, start, end, length, named, _is_international(text, start))
    if kind == NOTHING:
        return NUMBER, 0
    if kind == NUMBER and score == 0:
        alone = is_alone(book, classes, text, lower, line_start, line_end, start, end)
        return NUMBER, 60 if alone else 30
    return kind, score


def _judged_numbers_of(version: int) -> Any:
    @kept
    def judged_numbers(
        book: Array,
        classes: Array,
        text: Array,
        lower: Array,
        spans: Array,
        starts: Array,
        ends: Array,
        asked: Array,
        parts: Array,
        personal: Array,
        floor: float,
    ) -> tuple[Array, Array]:
        """Numbers that count; and those that may, in rows: start, end, and how many of the others stand before.

        personal: of each text, which begin at `parts`, whether four digits that look like a year may be something else.
        """
        assert version
        found, left = np.empty((len(spans) + 1, PARTS), np.int64), np.empty((len(spans) + 1, PARTS), np.int64)
        found[0, 0] = left[0, 0] = 0
        line = done = part = ZERO
        for number in range(len(spans)):
            start, end = spans[number]
            if start < done:
                continue
            line, part = line_of(starts, start, line), line_of(parts, start, part)
            kind, score = _judged(
                book, classes, text, lower, start, end, starts[line], ends[line], asked[line], personal[part]
            )
            if kind == NOTHING:
                low, high, score = code_around(book, classes, text, lower, start, starts, ends, asked, line)
                if score == 0:
                    add(left, start, end, found[0, 0], 0)
                    continue
                if score > 0:
                    start, end, kind, done = low, high, REFERENCE, high
            if score > 0 and score / 100 >= floor:
                international = kind != REFERENCE and _is_international(text, start)
                add(found, start - international, end, kind, score)
        return found[1 : found[0, 0] + 1], left[1 : left[0, 0] + 1]

    return judged_numbers


judged_numbers = _judged_numbers_of(VERSION)

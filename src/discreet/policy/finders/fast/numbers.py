"""What numbers stand for, as `finders.numbers` decides it; codes with letters, and what is rare, are left to that."""

from typing import Any

import numpy as np

from discreet.policy.finders import checksums, numbers
from discreet.policy.finders.fast.around import asked_at, is_alone, line_of
from discreet.policy.finders.fast.asking import UNSURE, kinds_named
from discreet.policy.finders.fast.compiled import ZERO, Array, compiled, kept
from discreet.policy.finders.fast.digits import (
    grouped_as_phone,
    is_date,
    is_decimal,
    is_digit,
    is_plain,
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
from discreet.policy.finders.fast.marks import ALPHA, DECIMAL, MEASURE, NEVER_BEFORE, WHITE, kinds_mask
from discreet.policy.finders.fast.vocabulary import COMMA, HYPHEN, LINE_END, POINT, QUESTION, SPACE, marks_of

PLUS, OPEN, Y = map(ord, "+(y")
NAMED_ACCOUNT, NAMED_BIRTH, NAMED_CARD, NAMED_PHONE, NAMED_SSN, NAMED_ZIP = (
    kinds_mask([kind]) for kind in ("ACCOUNT", "BIRTH", "CARD", "PHONE", "SSN", "ZIP")
)
NAMED_LICENCE, NAMED_CODED = kinds_mask(["LICENCE"]), kinds_mask(numbers.CODED)
NAMED_COUNTED = kinds_mask(numbers.COUNTED)
SPOKEN_BACK = numbers.SPOKEN_BACK
AGED = np.zeros((len(numbers.AGED), 1 + max(map(len, numbers.AGED))), np.uint32)
for _row, _word in zip(AGED, numbers.AGED, strict=True):
    _row[: 1 + len(_word)] = [len(_word), *map(ord, _word)]
COUNTRIES = np.zeros((26, 26), np.bool_)
for _country in checksums.IBAN_LENGTHS:
    COUNTRIES[ord(_country[0]) - ord("A"), ord(_country[1]) - ord("A")] = True
LONGEST_BEFORE = 24
"""So much of a code may stand before a number."""
NOTHING = -1
"""The kind of what `finders.numbers` has to look at."""


@compiled
def announced(book: Array, classes: Array, lower: Array, start: int, line_start: int, line_end: int, asked: int) -> int:
    """The kinds that a question or the words before a place announce, or UNSURE."""
    first = start
    while first > 0 and start - first < SPOKEN_BACK:
        if classes[lower[first - 1]] & DECIMAL or lower[first - 1] == LINE_END:
            break
        first -= 1
    said = kinds_named(book, lower, first, start)
    told = asked_at(book, lower, line_start, line_end, asked, start)
    return UNSURE if said == UNSURE or told == UNSURE else said | told


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
def _is_aged(lower: Array, start: int) -> bool:
    """Whether `aged` or the like stands before a number."""
    if start < 5 or lower[start - 1] != SPACE:
        return False
    for row in range(len(AGED)):
        length = np.int64(AGED[row, 0])
        if length <= start:
            same = 1
            while same <= length and lower[start - length + same - 1] == AGED[row, same]:
                same += 1
            if same > length:
                return True
    return False


@compiled
def _may_be_account(text: Array, start: int, end: int) -> bool:
    """Whether two letters of a country that has international account numbers, and two digits, stand here."""
    if end - start < 4 or not is_digit(text[start + 2]) or not is_digit(text[start + 3]):
        return False
    first, second = (np.int64(text[start]) & ~32) - ord("A"), (np.int64(text[start + 1]) & ~32) - ord("A")
    return 0 <= first < 26 and 0 <= second < 26 and bool(COUNTRIES[first, second])


@compiled
def _is_unlike_others(text: Array, start: int, end: int, changes: int) -> bool:
    """Whether a code of letters and digits is surely none of `numbers.NO_CODES` and `numbers.LETTERED`."""
    if changes > 2:
        return end - start > 3
    middle = start
    while middle < end and is_digit(text[middle]) == is_digit(text[start]):
        middle += 1
    last = middle
    while last < end and is_digit(text[last]) == is_digit(text[middle]):
        last += 1
    if is_digit(text[start]):
        return changes == 2 and end - start > 3
    if changes == 2:
        return last - middle < 4 and end - start > 3
    letters, digits = middle - start, last - middle
    return letters > 2 and not (letters == 5 and digits == 2)


@compiled
def _is_measure(book: Array, lower: Array, start: int, end: int) -> bool:
    """Whether what stands behind the digits here is a measure or an ending (`10th`, `5kg`)."""
    while start < end and is_digit(lower[start]):
        start += 1
    return start < end and marks_of(book, lower, start, end) & MEASURE != 0


@compiled
def _code(
    book: Array,
    classes: Array,
    text: Array,
    lower: Array,
    start: int,
    starts: Array,
    ends: Array,
    asked: Array,
    line: int,
) -> tuple[int, int, int]:
    """Where the code around a number begins and ends, and its score, if it is one of letters and digits of ASCII that
    surely is no other thing and has no known form. 0 where `finders.numbers` has to look at it, -1 for a measure."""
    first = last = start
    while first > 0 and start - first < LONGEST_BEFORE and is_plain(text[first - 1]):
        first -= 1
    while last < len(text) and is_plain(text[last]):
        last += 1
    nothing = start, start, 0
    if first > 0 and not classes[text[first - 1]] & WHITE:
        return nothing
    if last < len(text) and not (classes[text[last]] & WHITE or text[last] in (POINT, COMMA, QUESTION)):
        return nothing
    digits = changes = 0
    for at in range(first, last):
        digits += is_digit(text[at])
        changes += at > first and is_digit(text[at]) != is_digit(text[at - 1])
    if changes == 1 and first == start and _is_measure(book, lower, first, last) and not _is_aged(lower, start):
        return start, start, -1
    if not changes or not _is_unlike_others(text, first, last, changes) or _may_be_account(text, first, last):
        return nothing
    line = line_of(starts, first, line)
    named = announced(book, classes, lower, first, starts[line], ends[line], asked[line])
    if named == UNSURE or named & NAMED_LICENCE:
        return nothing
    if named & NAMED_CODED:
        return first, last, 80
    if last - first >= 8 and digits >= 2 and (changes > 1 or digits >= 4):
        return first, last, 65
    return first, last, 50 if last - first >= 6 and digits >= 3 else 30


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
        if _is_aged(lower, start):
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
                low, high, score = _code(book, classes, text, lower, start, starts, ends, asked, line)
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

"""Codes of letters and digits around a number, ages and measures, as `finders.numbers` knows them."""

import numpy as np

from discreet.policy.finders import checksums, numbers
from discreet.policy.finders.fast.around import announced, line_of
from discreet.policy.finders.fast.asking import UNSURE
from discreet.policy.finders.fast.compiled import ZERO, Array, compiled
from discreet.policy.finders.fast.digits import is_digit, is_plain
from discreet.policy.finders.fast.marks import MEASURE, WHITE, kinds_mask
from discreet.policy.finders.fast.vocabulary import COMMA, POINT, QUESTION, SPACE, marks_of

NAMED_LICENCE, NAMED_CODED = kinds_mask(["LICENCE"]), kinds_mask(numbers.CODED)
AGED = np.zeros((len(numbers.AGED), 1 + max(map(len, numbers.AGED))), np.uint32)
for _row, _word in zip(AGED, numbers.AGED, strict=True):
    _row[: 1 + len(_word)] = [len(_word), *map(ord, _word)]
COUNTRIES = np.zeros((26, 26), np.bool_)
for _country in checksums.IBAN_LENGTHS:
    COUNTRIES[ord(_country[0]) - ord("A"), ord(_country[1]) - ord("A")] = True
LONGEST_BEFORE = 24
"""So much of a code may stand before a number."""


@compiled
def is_aged(lower: Array, start: int) -> bool:
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
    return bool(0 <= first < 26 and 0 <= second < 26 and COUNTRIES[first, second])


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
def code_around(
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
    digits = changes = ZERO
    for at in range(first, last):
        digits += is_digit(text[at])
        changes += at > first and is_digit(text[at]) != is_digit(text[at - 1])
    if changes == 1 and first == start and _is_measure(book, lower, first, last) and not is_aged(lower, start):
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

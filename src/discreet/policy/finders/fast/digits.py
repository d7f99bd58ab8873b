"""Numbers by their digits and shape, and check digits, as `finders.numbers` and `finders.checksums` say it.

All of it is of numbers with digits of ASCII.
"""

from discreet.policy.finders.fast.compiled import Array, compiled
from discreet.policy.finders.fast.vocabulary import HYPHEN, POINT, SPACE

SLASH, ZERO, NINE = map(ord, "/09")


@compiled
def is_digit(letter: int) -> bool:
    return ZERO <= letter <= NINE


@compiled
def is_plain(letter: int) -> bool:
    """Whether a character is a letter or digit of ASCII."""
    return is_digit(letter) or ord("a") <= letter <= ord("z") or ord("A") <= letter <= ord("Z")


@compiled
def _digits_end(text: Array, at: int, end: int, most: int) -> int:
    stop = at
    while stop < end and stop - at < most and is_digit(text[stop]):
        stop += 1
    return stop


@compiled
def is_year(text: Array, at: int) -> bool:
    """Whether the four digits here are a year after 1499 and before 2100."""
    if text[at] == ord("1"):
        return bool(text[at + 1] >= ord("5"))
    return bool(text[at] == ord("2") and text[at + 1] == ZERO)


@compiled
def is_years(text: Array, start: int, end: int) -> bool:
    """Whether a number is a year, or two with a hyphen, slash or space between them (`numbers.YEARS`)."""
    if _digits_end(text, start, end, 5) != start + 4 or not is_year(text, start):
        return False
    at = start + 4
    while at < end and (text[at] == HYPHEN or text[at] == SLASH or text[at] == SPACE):
        at += 1
    if at == end:
        return at == start + 4
    stop = _digits_end(text, at, end, 5)
    return at - start - 4 <= 3 and stop == end and (stop - at == 2 or stop - at == 4)


@compiled
def is_date(text: Array, start: int, end: int) -> bool:
    """Whether a number begins with a date and a space or is one (`numbers.DATE`)."""
    first = _digits_end(text, start, end, 5)
    if first >= end or not (text[first] == HYPHEN or text[first] == SLASH or text[first] == POINT):
        return False
    second = _digits_end(text, first + 1, end, 3)
    if not 1 <= second - first - 1 <= 2 or second >= end or text[second] != text[first]:
        return False
    third = _digits_end(text, second + 1, end, 5)
    if third < end and text[third] != SPACE:
        return False
    begin, last = first - start, third - second - 1
    if begin == 4:
        return 1 <= last <= 2
    return 1 <= begin <= 2 and (last == 2 or last == 4)


@compiled
def is_decimal(text: Array, start: int, end: int) -> bool:
    """Whether a number is one with a decimal point."""
    point = _digits_end(text, start, end, end - start)
    return point < end - 1 and text[point] == POINT and _digits_end(text, point + 1, end, end - start) == end


@compiled
def is_social(text: Array, start: int, end: int) -> bool:
    """Whether a number has the form of one of the US social security, and may be one."""
    if end - start != 11 or text[start + 3] != text[start + 6] or _digits_end(text, start, end, 4) != start + 3:
        return False
    if text[start + 3] != HYPHEN and text[start + 3] != SPACE:
        return False
    if _digits_end(text, start + 4, end, 3) != start + 6 or _digits_end(text, start + 7, end, 4) != end:
        return False
    area, group, serial = value(text, start, 3), value(text, start + 4, 2), value(text, start + 7, 4)
    return area != 0 and area != 666 and group != 0 and serial != 0


@compiled
def value(text: Array, start: int, digits: int) -> int:
    total = 0
    for at in range(start, start + digits):
        total = 10 * total + text[at] - ZERO
    return total


@compiled
def luhn(text: Array, start: int, end: int) -> bool:
    """The check of payment cards, of the digits of a number."""
    total = place = 0
    for back in range(end - start):
        letter = text[end - 1 - back]
        if is_digit(letter):
            digit = (letter - ZERO) * (1 + place % 2)
            total += digit - 9 if digit > 9 else digit
            place += 1
    return total % 10 == 0


@compiled
def routing(text: Array, start: int, end: int) -> bool:
    """The check of US banks, of nine digits of a number."""
    total = place = bank = 0
    for at in range(start, end):
        if is_digit(text[at]):
            digit = text[at] - ZERO
            total += digit * (3 if place % 3 == 0 else 7 if place % 3 == 1 else 1)
            if place < 2:
                bank = 10 * bank + digit
            place += 1
    return 0 < bank <= 80 and total % 10 == 0


@compiled
def grouped_as_phone(text: Array, start: int, end: int) -> bool:
    groups = last = 0
    for at in range(start, end):
        if is_digit(text[at]):
            new = at == start or not is_digit(text[at - 1])
            groups += new
            last = 1 if new else last + 1
    return groups == 1 or (3 <= groups <= 5 and last <= 4)

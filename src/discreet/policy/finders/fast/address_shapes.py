"""A run without the words around an address, and whether it surely is one, as `finders.addresses` says it.

All of it is of runs of ASCII; others are left to that.
"""

from discreet.policy.finders.addresses import LONGEST_TRAILING, SHORTEST
from discreet.policy.finders.fast.compiled import ZERO, Array, compiled
from discreet.policy.finders.fast.marks import (
    ALNUM,
    BOX_WORD,
    NO_NAME,
    NOT_NAME,
    SHIP,
    SIGN_WORD,
    STREET,
    STREET_ENDING,
    WHITE,
)
from discreet.policy.finders.fast.vocabulary import (
    APOSTROPHE,
    COMMA,
    HYPHEN,
    LINE_END,
    POINT,
    QUESTION,
    SPACE,
    UNDERSCORE,
    looks_ordinary,
    marks_of,
)

NUMBER_ALONE, RUN, TRIMMED, SURE, UNTOLD, DROPPED = range(6)
"""What is to be done with a place: look whether an address was announced; trim and judge a run; judge it; take it."""
LONGEST_STREET_ENDING, LONGEST_SHIP = ZERO + 7, 5
OPEN, CLOSE, QUOTE = map(ord, "()>")
MOST_SPACES = 8


@compiled
def ends_with(book: Array, lower: Array, start: int, end: int, longest: int, mark: int) -> bool:
    """Whether the letters before a place are, for some number of them, a word with this mark."""
    length = 2
    most = min(longest, end - start)
    while length <= most and not marks_of(book, lower, end - length, end) & mark:
        length += 1
    return length <= most


@compiled
def is_ship(book: Array, text: Array, at: int) -> bool:
    """Whether the word for a ship of the US navy, and a space, stand here."""
    stop = at
    while stop < len(text) and stop - at <= LONGEST_SHIP and text[stop] != SPACE:
        stop += 1
    return stop < len(text) and text[stop] == SPACE and marks_of(book, text, at, stop) & SHIP != 0


@compiled
def _is_street(book: Array, lower: Array, start: int, end: int, marks: int) -> bool:
    if marks & STREET:
        return True
    long = end - start > LONGEST_STREET_ENDING
    return long and ends_with(book, lower, start, end, LONGEST_STREET_ENDING, ZERO + STREET_ENDING)


@compiled
def _is_capital(letter: int) -> bool:
    return ord("A") <= letter <= ord("Z")


@compiled
def _is_small(letter: int) -> bool:
    return ord("a") <= letter <= ord("z")


@compiled
def _is_digit(letter: int) -> bool:
    return ord("0") <= letter <= ord("9")


@compiled
def _stays(book: Array, lower: Array, start: int, end: int, marks: int) -> bool:
    """Whether a word without apostrophes at the edge of a run is part of the address."""
    return not marks & (NO_NAME | NOT_NAME) or marks & BOX_WORD != 0 or _is_street(book, lower, start, end, marks)


@compiled
def trimmed(book: Array, classes: Array, text: Array, lower: Array, start: int, end: int) -> tuple[int, int, int]:
    """A run without the words that only begin a sentence: TRIMMED, or DROPPED if too little is left, or RUN."""
    run = start, end, RUN
    for at in range(start, end):
        if text[at] > 127:
            return run
    digit = start
    while digit < end and not _is_digit(text[digit]):
        digit += 1
    if digit < end and not is_ship(book, text, start):
        for at in range(start, digit):
            if text[at] == LINE_END:
                start = at + 1
    while True:
        at, small, joined = start, False, False
        while at < end and (_is_small(lower[at]) or (lower[at] == APOSTROPHE and at > start and not joined)):
            if text[at] == APOSTROPHE:
                if at + 1 >= end or not _is_small(lower[at + 1]):
                    break
                joined = True
            small |= _is_small(text[at])
            at += 1
        if at == start or at >= end or text[at] not in (SPACE, COMMA, POINT) or not small:
            break
        marks = marks_of(book, lower, start, at)
        if joined and not marks & (NO_NAME | NOT_NAME):
            if looks_ordinary(book, lower, start, at, marks):
                return run
            break
        if not joined and _stays(book, lower, start, at, marks):
            break
        while at < end and text[at] in (SPACE, COMMA, POINT):
            at += 1
        start = at
    while end > start:
        last = end - (text[end - 1] == COMMA)
        first = last
        while first > start and _is_small(text[first - 1]):
            first -= 1
        first -= 1
        if first <= start or not _is_capital(text[first]) or not classes[text[first - 1]] & WHITE:
            break
        if _stays(book, lower, first, last, marks_of(book, lower, first, last)):
            break
        before = first
        while before > start and classes[text[before - 1]] & WHITE:
            before -= 1
        if first - before > MOST_SPACES or end - before > LONGEST_TRAILING - 1:
            return run
        end = before - (before > start and text[before - 1] in (COMMA, POINT))
    while end > start and text[end - 1] in (POINT, COMMA, HYPHEN, SPACE, LINE_END, QUOTE, QUESTION):
        end -= 1
    while start < end and text[start] in (SPACE, LINE_END, QUOTE, QUESTION, COMMA):
        start += 1
    return start, end, TRIMMED if end - start >= SHORTEST else DROPPED


@compiled
def _is_zip(classes: Array, text: Array, at: int, end: int) -> bool:
    """Whether a state and its ZIP code stand here (`addresses.STATE_ZIP`)."""
    if at + 8 > end or not _is_capital(text[at]) or not _is_capital(text[at + 1]):
        return False
    if at and (classes[text[at - 1]] & ALNUM or text[at - 1] == UNDERSCORE):
        return False
    at += 2 + (text[at + 2] == COMMA)
    if at + 6 > end or text[at] != SPACE:
        return False
    for digit in range(at + 1, at + 6):
        if not _is_digit(text[digit]):
            return False
    at += 6
    if at + 5 <= end and text[at] == HYPHEN:
        more = 0
        while more < 4 and _is_digit(text[at + 1 + more]):
            more += 1
        at += 5 if more == 4 else 0
    return at == end or not (classes[text[at]] & ALNUM or text[at] == UNDERSCORE or text[at] == HYPHEN)


@compiled
def _may_be_sign(book: Array, classes: Array, lower: Array, start: int, end: int) -> bool:
    """Whether a word of units and boxes is among those from start to end (`addresses.SIGN`)."""
    at = start
    while at < end:
        first = at
        while at < end and (classes[lower[at]] & ALNUM or lower[at] == UNDERSCORE):
            at += 1
        if (
            at > first
            and (marks_of(book, lower, first, at) | marks_of(book, lower, first, min(at, first + 7))) & SIGN_WORD
        ):
            return True
        at += at == first
    return False


@compiled
def judged(book: Array, classes: Array, text: Array, lower: Array, start: int, end: int) -> int:
    """SURE, if a run has more than two words, and a state with a ZIP code, or a number and a word for streets.

    UNTOLD, if it has no sign of an address and is one line: then it is weak, unless something announces it.
    """
    words = 0
    number = street = code = lines = False
    at = start
    while at < end:
        if classes[text[at]] & WHITE:
            lines |= text[at] == LINE_END
            at += 1
            continue
        first = at
        while at < end and not classes[text[at]] & WHITE:
            number |= _is_digit(text[at])
            code |= not code and _is_zip(classes, text, at, end)
            at += 1
        words += 1
        last = at
        while first < last and text[first] in (POINT, COMMA, OPEN, CLOSE):
            first += 1
        while last > first and text[last - 1] in (POINT, COMMA, OPEN, CLOSE):
            last -= 1
        street |= not street and _is_street(book, lower, first, last, marks_of(book, lower, first, last))
    if words > 2 and (code or (number and street)):
        return SURE
    return TRIMMED if street or lines or _may_be_sign(book, classes, lower, start, end) else UNTOLD

"""A run without the words around an address, and whether it surely is one, as `finders.addresses` says it.

Runs that have other digits than those of ASCII are left to that.
"""

from discreet.policy.finders.addresses import LONGEST_TRAILING, SHORTEST
from discreet.policy.finders.fast.compiled import ZERO, Array, compiled
from discreet.policy.finders.fast.marks import (
    ALNUM,
    ALPHA,
    BOX_SIGN,
    BOX_WORD,
    DECIMAL,
    DIGIT,
    NO_NAME,
    NOT_NAME,
    SHIP,
    SMALL,
    STREET,
    STREET_ENDING,
    UNIT_SIGN,
    UPPER,
    WHITE,
)
from discreet.policy.finders.fast.vocabulary import (
    APOSTROPHE,
    COMMA,
    CURLY,
    HYPHEN,
    LINE_END,
    POINT,
    QUESTION,
    SPACE,
    UNDERSCORE,
    marks_of,
)

NUMBER_ALONE, RUN, TRIMMED, AFTER_PHRASE, SURE, SIGNED, BLOCK, WORDS, WORD, DROPPED = range(10)
"""What is to be done with a place: look whether an address was announced; trim and judge a run; judge it; look behind a
phrase; take it. The next ones are short runs with a sign and a number, and runs without a sign: several lines, words,
or one word with a number."""
NO_SIGN, SIGN, PERHAPS = range(3)
LONGEST_STREET_ENDING, LONGEST_SHIP, LONGEST_BOX = ZERO + 7, 5, 7
OPEN, CLOSE, QUOTE, SHARP = map(ord, "()>#")
MOST_SPACES = 8
LAST_ASCII = 127


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
def _is_letter(classes: Array, letter: int) -> bool:
    return classes[letter] & ALNUM != 0 and not classes[letter] & DECIMAL


@compiled
def _is_quote(letter: int) -> bool:
    return letter in (APOSTROPHE, CURLY)


@compiled
def _stays(book: Array, lower: Array, start: int, end: int, marks: int) -> bool:
    """Whether a word without apostrophes at the edge of a run is part of the address."""
    return not marks & (NO_NAME | NOT_NAME) or marks & BOX_WORD != 0 or _is_street(book, lower, start, end, marks)


@compiled
def trimmed(book: Array, classes: Array, text: Array, lower: Array, start: int, end: int) -> tuple[int, int, int]:
    """A run without the words that only begin a sentence: TRIMMED, or DROPPED if too little is left, or RUN."""
    run = start, end, RUN
    digit = start
    while digit < end and not classes[text[digit]] & DECIMAL:
        digit += 1
    if digit < end and not is_ship(book, text, start):
        for at in range(start, digit):
            if text[at] == LINE_END:
                start = at + 1
    while True:
        at, small, upper, joined = start, False, False, False
        while at < end and (_is_letter(classes, text[at]) or (at > start and not joined and _is_quote(text[at]))):
            if _is_quote(text[at]):
                if at + 1 >= end or not _is_letter(classes, text[at + 1]):
                    break
                joined = True
            small |= classes[text[at]] & SMALL != 0
            upper |= classes[text[at]] & UPPER != 0
            at += 1
        if at == start or at >= end or text[at] not in (SPACE, COMMA, POINT) or (upper and not small):
            break
        marks = marks_of(book, lower, start, at)
        if joined and not marks & (NO_NAME | NOT_NAME):
            return run
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
def _in_word(classes: Array, letter: int) -> bool:
    return classes[letter] & ALNUM != 0 or letter == UNDERSCORE


@compiled
def _is_unit(classes: Array, lower: Array, at: int, end: int) -> bool:
    """Whether a number stands behind the word for a unit that ends here."""
    at += at < end and lower[at] == POINT
    at += at < end and lower[at] == SPACE
    at += at < end and lower[at] == SHARP
    while at < end and _in_word(classes, lower[at]):
        if classes[lower[at]] & DECIMAL:
            return True
        at += 1
    return False


@compiled
def _unit_or_box(book: Array, classes: Array, lower: Array, start: int, end: int) -> int:
    """Whether a unit is among the words from start to end, or PERHAPS a box (`addresses.SIGN`)."""
    found = NO_SIGN
    at = start
    while at < end:
        first = at
        while at < end and _in_word(classes, lower[at]):
            at += 1
        if at == first:
            at += 1
            continue
        marks = marks_of(book, lower, first, at)
        if marks & UNIT_SIGN and _is_unit(classes, lower, at, end):
            return SIGN
        if at - first > LONGEST_BOX:
            marks |= marks_of(book, lower, first, first + LONGEST_BOX)
        if marks & BOX_SIGN:
            found = PERHAPS
    return found


@compiled
def _is_edge(letter: int) -> bool:
    return letter in (POINT, COMMA, OPEN, CLOSE)


@compiled
def _has_street(book: Array, classes: Array, lower: Array, start: int, end: int) -> bool:
    at = start
    while at < end:
        first = at
        while at < end and not classes[lower[at]] & WHITE:
            at += 1
        last = at
        while first < last and _is_edge(lower[first]):
            first += 1
        while last > first and _is_edge(lower[last - 1]):
            last -= 1
        if last > first and _is_street(book, lower, first, last, marks_of(book, lower, first, last)):
            return True
        at += 1
    return False


@compiled
def sign_of(book: Array, classes: Array, lower: Array, start: int, end: int) -> int:
    """Whether words have a word for streets among them, a unit, or PERHAPS a box (`addresses.has_sign`)."""
    if _has_street(book, classes, lower, start, end):
        return SIGN
    return _unit_or_box(book, classes, lower, start, end)


@compiled
def judged(book: Array, classes: Array, text: Array, lower: Array, start: int, end: int) -> int:
    """What a run is: SURE, if it has more than two words, and a state with a ZIP code, or a number and a sign.

    SIGNED with fewer words; TRIMMED, if it has a sign else; and what it is without one: DROPPED, if only what announces
    it can make it an address.
    """
    words = 0
    number = code = lines = letters = False
    for at in range(start, end):
        kind = classes[lower[at]]
        if kind & WHITE:
            lines |= text[at] == LINE_END
            continue
        words += at == start or classes[lower[at - 1]] & WHITE != 0
        if kind & (DIGIT | DECIMAL):
            if text[at] > LAST_ASCII:
                return TRIMMED
            number = True
        letters |= kind & ALPHA != 0
        code |= not code and _is_zip(classes, text, at, end)
    if words > 2 and code:
        return SURE
    sign = sign_of(book, classes, lower, start, end)
    if sign != NO_SIGN:
        if sign == PERHAPS or not number:
            return TRIMMED
        return SURE if words > 2 else SIGNED
    if not number or not letters:
        return DROPPED
    return BLOCK if lines and words > 3 else WORDS if words > 1 else WORD

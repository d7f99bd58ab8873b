"""Where addresses may stand, as `finders.addresses` looks for them: beside numbers, and runs that hold numbers."""

from typing import Any

import numpy as np

from discreet.policy.finders import addresses
from discreet.policy.finders.addresses import SHORTEST, WEAK
from discreet.policy.finders.fast.address_runs import QUOTE, SHARP, in_word, run_end, small_street
from discreet.policy.finders.fast.address_shapes import (
    AFTER_PHRASE,
    BLOCK,
    DROPPED,
    NO_SIGN,
    NUMBER_ALONE,
    PERHAPS,
    RUN,
    SIGN,
    SIGNED,
    SURE,
    TRIMMED,
    WORDS,
    is_ship,
    judged,
    sign_of,
    trimmed,
)
from discreet.policy.finders.fast.announcing import may_be_said
from discreet.policy.finders.fast.around import is_alone, line_of
from discreet.policy.finders.fast.compiled import ZERO, Array, compiled, kept
from discreet.policy.finders.fast.findings import ADDRESS, PARTS, add
from discreet.policy.finders.fast.loading import VERSION
from discreet.policy.finders.fast.marks import (
    ALNUM,
    CALENDAR,
    CAPITAL,
    JOINT,
    LOWER,
    SMALL_STREET,
    UPPER,
)
from discreet.policy.finders.fast.vocabulary import COMMA, HYPHEN, LINE_END, POINT, QUESTION, SPACE, marks_of

OPEN, CLOSE, SLASH = map(ord, "()/")
SURELY = round(100 * addresses.SURE)
FARTHEST_BACK = 24
BLOCKED, AFTER = 55, 60
"""The scores of runs that are a block or an answer, and of streets behind a phrase that says so or with few words."""
WEAKLY = round(100 * WEAK)


@compiled
def _separated(text: Array, at: int, past: int) -> bool:
    for place in range(at, past):
        if text[place] == SPACE or text[place] == POINT or text[place] == OPEN or text[place] == CLOSE:
            return True
    return False


@compiled
def _all_there_is(text: Array, start: int, end: int, at: int, past: int) -> bool:
    if at != start or end - past > 2 or _separated(text, at, past):
        return False
    for place in range(past, end):
        letter = text[place]
        if letter not in (SPACE, POINT, COMMA, QUESTION, QUOTE):
            return False
    return True


@compiled
def _beside(book: Array, classes: Array, text: Array, lower: Array, at: int, past: int) -> int:
    """Where a capitalised word that is no month stands beside a number, or the number; 0 if there is none."""
    if at and (text[at - 1] == SPACE or text[at - 1] == SHARP or text[at - 1] == LINE_END):
        low, high = max(0, at - FARTHEST_BACK), at - 1
        while high > low and (
            text[high - 1] == SPACE or text[high - 1] == COMMA or text[high - 1] == POINT or text[high - 1] == SHARP
        ):
            high -= 1
        first = high
        while first > low and text[first - 1] != SPACE and text[first - 1] != LINE_END:
            first -= 1
        if first < high and classes[text[first]] & UPPER and not marks_of(book, lower, first, high) & CALENDAR:
            return at
    after = past
    while after < len(text) and (in_word(classes, text[after]) or text[after] == SLASH or text[after] == HYPHEN):
        after += 1
    if after - past > 9:
        return 0
    most = 6
    if after < len(text):
        most += text[after] == COMMA
        after += text[after] == POINT
    word = after
    while word < len(text) and (
        text[word] == SPACE
        or text[word] == LINE_END
        or text[word] == COMMA
        or text[word] == QUOTE
        or text[word] == QUESTION
    ):
        word += 1
    if not 1 <= word - after <= most or word == len(text):
        return 0
    name = word + (text[word] == OPEN)
    if name < len(text) and classes[text[name]] & CAPITAL:
        stop = name + 1
        while stop < len(text) and (in_word(classes, text[stop]) or text[stop] == POINT):
            stop += 1
        while text[stop - 1] == POINT:
            stop -= 1
        return 0 if name == word and marks_of(book, lower, word, stop) & CALENDAR else word
    return word if small_street(book, text, word, len(text)) >= 0 else 0


@compiled
def _stays_out(book: Array, classes: Array, text: Array, start: int, end: int) -> bool:
    """Whether a word is small and does not belong to addresses."""
    return (
        start < end
        and classes[text[start]] & LOWER != 0
        and not marks_of(book, text, start, end) & (JOINT | SMALL_STREET)
    )


@compiled
def _stands_alone(book: Array, classes: Array, text: Array, start: int, at: int, past: int) -> bool:
    if _separated(text, at, past) or (past < len(text) and classes[text[past]] & ALNUM):
        return False
    if at == start:
        return True
    if text[at - 1] != SPACE:
        return False
    first = at - 1
    while first > start and text[first - 1] != SPACE:
        first -= 1
    for place in range(first, at - 1):
        if text[place] == LINE_END:
            return False
    return _stays_out(book, classes, text, first, at - 1)


@compiled
def _after_line_end(text: Array, start: int, end: int) -> int:
    """The place after the last line end between two places, or 0."""
    at = end
    while at > start:
        if text[at - 1] == LINE_END:
            return at
        at -= 1
    return 0


@compiled
def _begin(book: Array, classes: Array, text: Array, start: int, at: int) -> int:
    """Where a run may begin that holds a number: behind the last word before it that is small and no joint."""
    line = max(start, _after_line_end(text, start, at))
    begin = at
    while begin > line:
        space = begin - 1
        while space >= line and text[space] != SPACE:
            space -= 1
        if _stays_out(book, classes, text, space + 1, begin):
            break
        begin = space
    begin = max(begin, line)
    before = _after_line_end(text, start, max(start, begin - 1))
    return max(start, before) if is_ship(book, text, before) else begin


def _address_places_of(version: int) -> Any:
    @kept
    def address_places(
        book: Array,
        classes: Array,
        text: Array,
        lower: Array,
        numbers: Array,
        pieces: Array,
        starts: Array,
        ends: Array,
        asked: Array,
        kind: int,
        floor: float,
        said: Array,
    ) -> tuple[Array, Array]:
        """Addresses, and what may be some, in rows: numbers by themselves and runs, with what is to be done with them.

        said: where phrases begin and end that stand before streets.
        """
        assert version
        most = len(text) + len(numbers) + len(said) + 1
        found, left = np.empty((most, PARTS), np.int64), np.empty((most, PARTS), np.int64)
        found[0, 0] = left[0, 0] = 0
        after = which = line = ZERO
        for number in range(len(numbers)):
            at, past = numbers[number]
            if at < after:
                continue
            while which + 1 < len(pieces) and pieces[which + 1, 0] <= at:
                which += 1
            start, end = pieces[which]
            whole = _all_there_is(text, start, end, at, past)
            if whole and past - at < SHORTEST:
                continue
            beside = _beside(book, classes, text, lower, at, past)
            if not beside:
                continue
            if whole or (end <= beside and _stands_alone(book, classes, text, start, at, past)):
                line = line_of(starts, at, line)
                if past - at >= SHORTEST and may_be_said(
                    book, classes, lower, at, starts[line], ends[line], asked[line], kind
                ):
                    add(left, at, past, NUMBER_ALONE, 0)
                continue
            begin = _begin(book, classes, text, start, at)
            while begin <= past and begin < end:
                stop = run_end(book, classes, text, begin, end)
                if stop < 0:
                    begin += 1
                    continue
                after = stop
                first, last, sort = trimmed(book, classes, text, lower, begin, stop)
                if sort == TRIMMED:
                    sort = judged(book, classes, text, lower, first, last)
                score = SURELY if sort == SURE else 0
                if sort > SURE and last - first >= SHORTEST:
                    line = line_of(starts, first, line)
                    low, high = starts[line], ends[line]
                    if may_be_said(book, classes, lower, first, low, high, asked[line], kind):
                        sort = TRIMMED
                    elif sort == SIGNED:
                        alone = is_alone(book, classes, text, lower, low, high, first, last)
                        score = SURELY if alone else AFTER
                    elif sort == BLOCK or (
                        sort != DROPPED and is_alone(book, classes, text, lower, low, high, first, last)
                    ):
                        score = BLOCKED
                    elif sort == WORDS:
                        score = WEAKLY
                if sort < SURE:
                    add(left, first, last, sort, 0)
                elif score and score / 100 >= floor:
                    add(found, first, last, ADDRESS, score)
                if after >= past:
                    break
                begin = stop
        which = ZERO
        for row in range(len(said)):
            start, begin = said[row]
            while which + 1 < len(pieces) and pieces[which + 1, 0] <= start:
                which += 1
            stop = run_end(book, classes, text, begin, pieces[which, 1])
            sign = sign_of(book, classes, lower, begin, stop) if stop >= 0 else NO_SIGN
            if sign == SIGN:
                first, last, sort = trimmed(book, classes, text, lower, begin, stop)
                if sort == TRIMMED:
                    add(found, first, last, ADDRESS, AFTER)
            if sign == PERHAPS or (sign == SIGN and sort == RUN):
                add(left, start, begin, AFTER_PHRASE, 0)
        return found[1 : found[0, 0] + 1], left[1 : left[0, 0] + 1]

    return address_places


address_places = _address_places_of(VERSION)

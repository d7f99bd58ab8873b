"""Runs of numbers and capitalised words, over commas and line ends: what `addresses.RUN` matches.

A token is the first of its alternatives that fits, and two tokens belong together by the first of the links that leads
from one to the next: so the pattern never goes back, and a loop can say the same.
"""

import numpy as np

from discreet.policy.finders.fast.compiled import Array, Number, compiled
from discreet.policy.finders.fast.marks import ALNUM, CAPITAL, DECIMAL, JOINT, SMALL_STREET
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

SLASH, SHARP, OPEN, CLOSE, QUOTE = map(ord, "/#()>")
LONGEST_SMALL = 9
"""No word for streets that is written small is longer."""
MOST_JOINTS = 3
BOX = np.array([ord(letter) for letter in " Box "], np.uint32)
NAN = np.array([ord(letter) for letter in "nan"], np.uint32)


@compiled
def in_word(classes: Array, letter: int) -> bool:
    return classes[letter] & ALNUM != 0 or letter == UNDERSCORE


@compiled
def small_street(book: Array, text: Array, at: int, end: int) -> int:
    """Where a word for streets ends that is written small, begins here and has a space behind it, or -1."""
    stop = at
    while stop < end and stop - at <= LONGEST_SMALL and text[stop] != SPACE:
        stop += 1
    if stop in (end, at) or text[stop] != SPACE or not marks_of(book, text, at, stop) & SMALL_STREET:
        return -1
    return stop


@compiled
def _spelt(text: Array, at: int, end: int, letters: Array) -> bool:
    place = 0
    while place < len(letters) and at + place < end and text[at + place] == letters[place]:
        place += 1
    return place == len(letters)


@compiled
def _digits_end(classes: Array, text: Array, at: int, end: int) -> int:
    while at < end and classes[text[at]] & DECIMAL:
        at += 1
    return at


@compiled
def _box_end(classes: Array, text: Array, at: int, end: int) -> int:
    """Where a post office box ends whose P is here, or -1."""
    at += 1
    at += at < end and text[at] == POINT
    at += at < end and text[at] == SPACE
    if at >= end or text[at] != ord("O"):
        return -1
    at += 1
    at += at < end and text[at] == POINT
    if not _spelt(text, at, end, BOX):
        return -1
    stop = _digits_end(classes, text, at + len(BOX), end)
    return stop if stop > at + len(BOX) else -1


@compiled
def token_end(book: Array, classes: Array, text: Array, at: int, end: int) -> Number:
    """Where the token ends that begins here, or -1."""
    if at >= end:
        return -1
    if text[at] == ord("P"):
        stop = _box_end(classes, text, at, end)
        if stop >= 0:
            return stop
    name = at + (text[at] == OPEN)
    if name < end and classes[text[name]] & CAPITAL:
        stop = name + 1
        while stop < end and (
            in_word(classes, text[stop]) or text[stop] == APOSTROPHE or text[stop] == CURLY or text[stop] == HYPHEN
        ):
            stop += 1
        stop += stop < end and text[stop] == CLOSE
        stop += stop < end and text[stop] == POINT
        return stop
    stop = small_street(book, text, at, end)
    if stop >= 0:
        return stop
    if classes[text[at]] & DECIMAL:
        stop = at + 1
        while stop < end and (in_word(classes, text[stop]) or text[stop] == SLASH or text[stop] == HYPHEN):
            stop += 1
        while text[stop - 1] == HYPHEN:
            stop -= 1
        return stop + (stop < end and text[stop] == POINT)
    if text[at] == SHARP:
        stop = _digits_end(classes, text, at + 1, end)
        return stop if stop > at + 1 else -1
    return at + len(NAN) if _spelt(text, at, end, NAN) else -1


@compiled
def _over_lines(text: Array, at: int, end: int) -> int:
    """Where a link over one line end or two ends, or -1; no token begins with what stands in it."""
    while at < end and (text[at] == SPACE or text[at] == COMMA):
        at += 1
    if at >= end or text[at] != LINE_END:
        return -1
    at += 1
    comma = space = late = False
    while at < end:
        if text[at] == COMMA:
            if comma or late:
                return -1
            comma = True
        elif text[at] == LINE_END:
            if late:
                return -1
            late = True
        elif text[at] == SPACE or text[at] == QUOTE or text[at] == QUESTION:
            late |= comma and (space or text[at] != SPACE)
            space |= comma
        else:
            break
        at += 1
    return at


@compiled
def _over_joints(book: Array, text: Array, at: int, end: int) -> int:
    """Where up to three small words such as `of the`, with spaces around them, end, or -1."""
    joints = 0
    while joints < MOST_JOINTS and at < end and text[at] == SPACE:
        stop = at + 1
        while stop < end and ord("a") <= text[stop] <= ord("z"):
            stop += 1
        if not marks_of(book, text, at + 1, stop) & JOINT:
            break
        joints += 1
        at = stop
    return at + 1 if joints and at < end and text[at] == SPACE else -1


@compiled
def run_end(book: Array, classes: Array, text: Array, at: int, end: int) -> int:
    """Where the run ends that begins here, or -1."""
    if at and (in_word(classes, text[at - 1]) or text[at - 1] == POINT or text[at - 1] == SHARP):
        return -1
    at = token_end(book, classes, text, at, end)
    if at < 0:
        return -1
    while at < end:
        following = text[at + 1] if at + 1 < end else np.uint32(0)
        stop = -1
        if text[at] == SPACE:
            stop = token_end(book, classes, text, at + 1, end)
        elif text[at] == COMMA:
            if following == SPACE:
                stop = token_end(book, classes, text, at + 2, end)
            if stop < 0:
                stop = token_end(book, classes, text, at + 1, end)
        if stop < 0:
            link = _over_lines(text, at, end)
            stop = token_end(book, classes, text, link, end) if link >= 0 else -1
        if stop < 0:
            sign = at + (text[at] == SPACE)
            if sign + 1 < end and (text[sign] == COMMA or text[sign] == HYPHEN) and text[sign + 1] == SPACE:
                stop = token_end(book, classes, text, sign + 2, end)
        if stop < 0:
            link = _over_joints(book, text, at, end)
            stop = token_end(book, classes, text, link, end) if link >= 0 else -1
        if stop < 0:
            return at
        at = stop
    return at

"""The lines of a page and their labels, as `finders.labels` and `Page` read them."""

from typing import Any

import numpy as np

from discreet.policy.finders.fast.asking import UNSURE, kinds_named
from discreet.policy.finders.fast.compiled import ZERO, Array, compiled, kept
from discreet.policy.finders.fast.loading import VERSION
from discreet.policy.finders.fast.turns import NO_ONE, WALL
from discreet.policy.finders.fast.vocabulary import APOSTROPHE, HYPHEN, LINE_END, POINT, SPACE
from discreet.policy.finders.labels import FARTHEST_COLON

COLON, TAB, QUOTE, STAR = map(ord, ":\t>*")
START, END, SPEAKER, NAMED, COLUMNS = range(5)
"""Of each line: where what is said begins and ends, the number of who says it, and what its label announces (bits)."""
IN_ORDER, DIALOG, FLAGS = range(3)
MOST_BEFORE, LONGEST_LABEL = 4, 25
MOST_LABELS = 64
"""In a text with more of them it would take long to compare each with each."""


@compiled
def _is_letter(letter: int) -> bool:
    return ord("a") <= letter <= ord("z") or ord("A") <= letter <= ord("Z")


@compiled
def _label(text: Array, start: int, end: int) -> tuple[int, int, int]:
    """Where the label of a line begins and ends, and where what is said begins (`labels.LABEL`); all 0 without one."""
    nothing = ZERO, ZERO, ZERO
    first = start
    while first < end and (
        text[first] == SPACE
        or text[first] == TAB
        or text[first] == QUOTE
        or text[first] == STAR
        or text[first] == HYPHEN
    ):
        first += 1
    if first - start > MOST_BEFORE or first == end or not _is_letter(text[first]):
        return nothing
    colon = first + 1
    most = min(end, start + FARTHEST_COLON)
    while colon < most and (
        _is_letter(text[colon])
        or text[colon] == SPACE
        or text[colon] == POINT
        or text[colon] == APOSTROPHE
        or text[colon] == HYPHEN
    ):
        colon += 1
    if colon == most or text[colon] != COLON:
        return nothing
    last = colon - (text[colon - 1] == SPACE and colon - first > 1)
    if last - first > LONGEST_LABEL:
        return nothing
    after = colon + 1
    while after < end and (text[after] == SPACE or text[after] == TAB):
        after += 1
    return first, last, after


@compiled
def _same(text: Array, one: Array, other: Array) -> bool:
    length: int = one[1] - one[0]
    if length != other[1] - other[0]:
        return False
    at = 0
    while at < length and text[one[0] + at] == text[other[0] + at]:
        at += 1
    return at == length


@compiled
def _give_speakers(book: Array, text: Array, lower: Array, lines: Array, labels: Array, which: Array) -> bool:
    """Writes down speakers and what labels announce, of the lines that have one; False where that is hard to say."""
    for number in range(len(which)):
        own = labels[number]
        named = kinds_named(book, lower, own[0], own[1])
        if named == UNSURE:
            return False
        first = number
        often = 0
        for other in range(len(which)):
            if _same(text, own, labels[other]):
                first = min(first, other)
                often += 1
        line = which[number]
        if named or often == 1:
            lines[NAMED, line] = named
        else:
            lines[SPEAKER, line] = WALL + 1 + first
    return True


@compiled
def _spans(lines: Array, starts: Array, ends: Array, dialog: bool) -> Array:
    """What names and addresses may not reach beyond: the lines of speakers, or all of a text (`Page.pieces`)."""
    spans = np.empty((lines.shape[1] + len(starts), 2), np.int64)
    count = line = ZERO
    for part in range(len(starts)):
        before = count
        while lines[SPEAKER, line] != WALL:
            if dialog and lines[SPEAKER, line] != NO_ONE:
                spans[count, 0], spans[count, 1] = lines[START, line], lines[END, line]
                count += 1
            line += 1
        line += 1
        if count == before:
            spans[count, 0], spans[count, 1] = starts[part], ends[part]
            count += 1
    return spans[:count]


def _page_lines_of(version: int) -> Any:
    @kept
    def page_lines(
        book: Array, text: Array, lower: Array, starts: Array, ends: Array, given: Array, said: Array, question: bool
    ) -> tuple[Array, Array, Array, Array]:
        """The lines of all texts, an empty one after each; what names may not reach beyond; whether no turn reaches
        into the next and whether anything may be the answer to a question; and texts of which `finders.labels` knows
        the lines.

        given: of each text how many of the lines in `said`, which are in order, are its own; -1 if they are not known.
        question: whether there is a question mark on the page.
        """
        assert version
        most = len(said) + 2 * len(starts)
        for letter in text:
            most += letter == LINE_END
        lines = np.zeros((COLUMNS, most), np.int64)
        left = np.empty(len(starts), np.int64)
        labels, which = np.empty((MOST_LABELS, 2), np.int64), np.empty(MOST_LABELS, np.int64)
        count = taken = leave = ZERO
        for part in range(len(starts)):
            at, end = starts[part], ends[part]
            if given[part] >= 0:
                for row in range(taken, taken + given[part]):
                    for column in range(COLUMNS):
                        lines[column, count] = said[row, column]
                    count += 1
                taken += given[part]
            else:
                labelled = ZERO
                while at <= end:
                    stop = at
                    while stop < end and text[stop] != LINE_END:
                        stop += 1
                    first, last, after = _label(text, at, stop)
                    if after:
                        if labelled < MOST_LABELS:
                            labels[labelled, 0], labels[labelled, 1], which[labelled] = first, last, count
                        labelled += 1
                        at = after
                    lines[START, count], lines[END, count], lines[SPEAKER, count] = at, stop, NO_ONE
                    count += 1
                    at = stop + 1
                if labelled and (
                    labelled > MOST_LABELS or not _give_speakers(book, text, lower, lines, labels, which[:labelled])
                ):
                    left[leave] = part
                    leave += 1
            lines[START, count], lines[END, count], lines[SPEAKER, count] = end, end, WALL
            count += 1
        flags = np.zeros(FLAGS, np.bool_)
        flags[IN_ORDER], flags[DIALOG] = True, question
        for line in range(count):
            flags[IN_ORDER] &= not line or lines[END, line - 1] <= lines[START, line]
            flags[DIALOG] |= lines[SPEAKER, line] > WALL or lines[NAMED, line] != 0
        return lines[:, :count], _spans(lines[:, :count], starts, ends, flags[DIALOG]), flags, left[:leave]

    return page_lines


page_lines = _page_lines_of(VERSION)

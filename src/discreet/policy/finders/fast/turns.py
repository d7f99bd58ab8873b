"""What was asked for before each line, and the short answers to questions about a name, as `finders.page` says it."""

from typing import Any

import numpy as np

from discreet.policy.finders.fast.asking import UNSURE, asked_in, kinds_named
from discreet.policy.finders.fast.compiled import Array, compiled, kept
from discreet.policy.finders.fast.loading import VERSION
from discreet.policy.finders.fast.vocabulary import QUESTION
from discreet.policy.finders.page import LONGEST_REPLY

NO_ONE, WALL = 0, 1
"""Speakers are numbers; these are that of a line of nobody and that of what stands between texts."""
SPACES = (32, 9, 10, 11, 12, 13, 28, 29, 30, 31)


@compiled
def find_letter(letters: Array, letter: int, start: int, end: int) -> int:
    """Where a letter stands first, or the end."""
    at = start
    while at < end and letters[at] != letter:
        at += 1
    return at


@compiled
def _question(book: Array, lower: Array, start: int, end: int) -> int:
    """What a line of nobody asks for: nothing, unless it ends in a question mark; UNSURE where that is hard to say."""
    last = end - 1
    while last >= start and lower[last] != QUESTION:
        if lower[last] > 127:
            return UNSURE
        if lower[last] not in SPACES:
            return 0
        last -= 1
    return kinds_named(book, lower, start, end) if last >= start else 0


def _asked_before_of(version: int) -> Any:
    @kept
    def asked_before(
        book: Array, classes: Array, lower: Array, starts: Array, ends: Array, speakers: Array
    ) -> tuple[Array, Array]:
        """For each line what the line before it asks for, in bits, or -n where that is the n-th of the lines returned,
        of which `finders.page` knows it."""
        assert version
        asked = np.zeros(len(starts), np.int64)
        unsure = np.empty(len(starts), np.int64)
        count = now = 0
        for line in range(len(starts)):
            last = speakers[line - 1] if line else WALL
            if last == WALL or speakers[line] == WALL:
                now = 0
            elif speakers[line] != last or last == NO_ONE:
                begin, end = starts[line - 1], ends[line - 1]
                if speakers[line] == last:
                    now = _question(book, lower, begin, end)
                else:
                    now = asked_in(book, classes, lower, begin, end)
                if now == UNSURE:
                    unsure[count] = line
                    count += 1
                    now = -count
            asked[line] = now
        return asked, unsure[:count]

    return asked_before


def _short_replies_of(version: int) -> Any:
    @kept
    def short_replies(
        book: Array, lower: Array, starts: Array, ends: Array, speakers: Array, asked: Array, kind: int
    ) -> tuple[Array, Array]:
        """The short stretches that answer a question about a kind, and lines in which `finders.page` finds them."""
        assert version
        found, unsure = np.empty((len(lower) + 2 * len(starts), 2), np.int64), np.empty(len(starts), np.int64)
        count = lines = 0
        for line in range(len(starts)):
            if speakers[line] == WALL:
                continue
            begin, end, own = starts[line], ends[line], asked[line]
            before = count
            question = find_letter(lower, QUESTION, begin, end)
            if question >= end - 1:
                if own & kind and end - begin < LONGEST_REPLY:
                    found[count, 0], found[count, 1] = begin, end
                    count += 1
                continue
            while begin < end:
                stop = min(question + 1, end)
                if own & kind and stop - begin < LONGEST_REPLY:
                    found[count, 0], found[count, 1] = begin, stop
                    count += 1
                own = kinds_named(book, lower, begin, question) if stop < end else 0
                if own == UNSURE:
                    count = before
                    unsure[lines] = line
                    lines += 1
                    break
                begin = stop
                question = find_letter(lower, QUESTION, begin, end)
        return found[:count], unsure[:lines]

    return short_replies


asked_before, short_replies = _asked_before_of(VERSION), _short_replies_of(VERSION)

"""Every other place of its text where a name that was told stands, as `people.everywhere` finds it; in short texts."""

from typing import Any

import numpy as np

from discreet.policy.finders.fast.around import line_of
from discreet.policy.finders.fast.compiled import ZERO, Array, compiled, kept
from discreet.policy.finders.fast.findings import LESS, PARTS, PERSON
from discreet.policy.finders.fast.forms import UNKNOWN, form_of
from discreet.policy.finders.fast.loading import VERSION
from discreet.policy.finders.fast.marks import ALNUM, CAPITAL
from discreet.policy.finders.fast.runs import word_end
from discreet.policy.finders.fast.vocabulary import marks_of

LONGEST_TEXT = 2000
"""In a longer text, `people.everywhere` looks for every name by a search."""
SHORTEST_NAME = 3


@compiled
def _same(text: Array, one: int, other: int, length: int) -> bool:
    at = 0
    while at < length and text[one + at] == text[other + at]:
        at += 1
    return at == length


@compiled
def _was_looked_for(text: Array, values: Array, first: int, count: int) -> bool:
    """Whether the last of the values from the first on is one of those before it, which is as sure."""
    start, length, score = values[count - 1]
    for one in range(first, count - 1):
        same = values[one, 1] == length and values[one, 2] >= score
        if same and _same(text, values[one, 0], start, length):
            return True
    return False


@compiled
def _is_begin(names: Array, at: int) -> bool:
    name = 0
    while name < len(names) and names[name, 0] != at:
        name += 1
    return name < len(names)


@compiled
def _stands_by_itself(classes: Array, text: Array, at: int, end: int) -> bool:
    before = at > 0 and classes[text[at - 1]] & ALNUM != 0
    return not before and not (end < len(text) and classes[text[end]] & ALNUM)


@compiled
def _values(book: Array, classes: Array, text: Array, lower: Array, start: int, end: int, values: Array) -> int:
    """Writes down a name and the words of it that are not ordinary: where they begin, how long they are."""
    count = ZERO
    if end - start >= SHORTEST_NAME:
        values[0, 0], values[0, 1] = start, end - start
        count += 1
    at = start
    while at < end:
        if not classes[text[at]] & CAPITAL:
            at += 1
            continue
        stop = min(word_end(classes, text, at), end)
        if stop - at >= SHORTEST_NAME:
            marks = marks_of(book, lower, at, stop)
            if form_of(book, classes, text, lower, at, stop, marks) & UNKNOWN:
                values[count, 0], values[count, 1] = at, stop - at
                count += 1
        at = stop
    return count


@compiled
def _look(
    classes: Array, text: Array, names: Array, value: Array, begin: int, end: int, found: Array, count: int
) -> int:
    """Writes down all places of a value in a text but those where names begin; how many are found then."""
    first, length, score = value
    letter = text[first]
    at = begin
    while at + length <= end:
        if text[at] != letter or not _same(text, at, first, length):
            at += 1
            continue
        if _stands_by_itself(classes, text, at, at + length) and not _is_begin(names, at):
            found[count, 0], found[count, 1], found[count, 2], found[count, 3] = at, at + length, PERSON, score
            count += 1
        at += length
    return count


@compiled
def _grown(found: Array, count: int, more: int) -> Array:
    larger = np.empty((2 * more, PARTS), np.int64)
    for row in range(count):
        for column in range(PARTS):
            larger[row, column] = found[row, column]
    return larger


def _told_places_of(version: int) -> Any:
    @kept
    def told_places(
        book: Array, classes: Array, text: Array, lower: Array, names: Array, parts: Array, ends: Array
    ) -> tuple[Array, Array]:
        """Other places of names that were told, which are sorted by where they begin; and of each name whether its text
        is short enough."""
        assert version
        letters = ZERO
        for name in range(len(names)):
            letters += names[name, 1] - names[name, 0] + 1
        values = np.empty((letters, 3), np.int64)
        found = np.empty((256, PARTS), np.int64)
        done = np.zeros(len(names), np.bool_)
        count = low = part = ZERO
        while low < len(names):
            part = line_of(parts, names[low, 0], part)
            begin, end = parts[part], ends[part]
            high = low
            while high < len(names) and names[high, 0] < end:
                high += 1
            high = max(high, low + 1)
            if end - begin <= LONGEST_TEXT:
                many = ZERO
                for name in range(low, high):
                    done[name] = True
                    more = _values(book, classes, text, lower, names[name, 0], names[name, 1], values[many:])
                    for _ in range(more):
                        values[many, 2] = names[name, 3] + LESS
                        many += 1
                        if _was_looked_for(text, values, 0, many):
                            continue
                        if count + (end - begin) // values[many - 1, 1] >= len(found):
                            found = _grown(found, count, count + end - begin)
                        count = _look(classes, text, names[low:high], values[many - 1], begin, end, found, count)
            low = high
        return found[:count], done

    return told_places


told_places = _told_places_of(VERSION)

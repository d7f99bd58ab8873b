"""The words of all lists in one table that compiled loops look words up in, and the slips of frequent words.

A word is a stretch of code points. Hashes only say where to look: what is found there is compared letter by letter, so
a look-up gives what one in the lists gives.
"""

import sys
from typing import NamedTuple

import numpy as np

from discreet.policy.finders.fast.compiled import NONE, Array, compiled
from discreet.policy.finders.fast.marks import ENDING, FAMILY, FREQUENT, GIVEN, JOINED, ORDINARY, PLACE, marked_words
from discreet.policy.lists import LONGEST_SLIP, SHORTEST_SLIP

CODEC = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
START = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)
MIX = np.uint64(0xFF51AFD7ED558CCD)
HALF = np.uint64(32)
APOSTROPHE, CURLY = np.uint32(ord("'")), np.uint32(ord("’"))
NO_PLACE = -1
"""Where a letter could be left out and none is."""


class Vocabulary(NamedTuple):
    """Tables with open addresses: the words and their marks, and frequent words with one letter left out."""

    letters: Array
    """All words one after the other; those of word n stand from starts[n] to starts[n + 1]."""
    starts: Array
    marks: Array
    slots: Array
    """The number of a word, or -1; the hash of that word."""
    hashes: Array
    slips: Array
    """The number of a frequent word, or -1; which letter was left out; the hash of what is left."""
    slip_places: Array
    slip_hashes: Array


def code_points(text: str) -> Array:
    return np.frombuffer(bytearray(text.encode(CODEC, "surrogatepass")), np.uint32)


def vocabulary() -> Vocabulary:
    """The table of all lists of words."""
    words, marks = marked_words()
    starts = np.zeros(len(words) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=starts[1:])
    letters = code_points("".join(words))
    frequent = np.flatnonzero(marks & FREQUENT)
    slips = int((starts[frequent + 1] - starts[frequent]).sum())
    made = Vocabulary(letters, starts, marks, *_empty(len(words)), *_empty(slips, places=True))
    fill(made, frequent)
    return made


def _empty(entries: int, places: bool = False) -> tuple[Array, ...]:
    size = 1 << (2 * entries).bit_length()
    numbers, hashes = np.full(size, -1, np.int32), np.zeros(size, np.uint64)
    return (numbers, np.zeros(size, np.int8), hashes) if places else (numbers, hashes)


@compiled  # type: ignore[untyped-decorator]
def hash_without(letters: Array, start: int, end: int, place: int) -> np.uint64:
    """The hash of a word from which the letter at a place, if it is not NO_PLACE, is left out."""
    value = START
    for at in range(start, end):
        if at - start != place:
            value = (value ^ np.uint64(letters[at])) * PRIME
    value = (value ^ (value >> HALF)) * MIX
    return value ^ (value >> HALF)


@compiled  # type: ignore[untyped-decorator]
def same(
    one: Array, start: int, end: int, place: int, other: Array, other_start: int, other_end: int, other_place: int
) -> bool:
    """Whether two words, each with a letter left out or none, are the same."""
    if end - start - (place >= 0) != other_end - other_start - (other_place >= 0):
        return False
    at, beside = start, other_start
    while True:
        if place >= 0 and at - start == place:
            at += 1
        if other_place >= 0 and beside - other_start == other_place:
            beside += 1
        if at >= end or beside >= other_end:
            return True
        if one[at] != other[beside]:
            return False
        at += 1
        beside += 1


@compiled  # type: ignore[untyped-decorator]
def fill(v: Vocabulary, frequent: Array) -> None:
    last = np.uint64(len(v.slots) - 1)
    for number in range(len(v.marks)):
        value = hash_without(v.letters, v.starts[number], v.starts[number + 1], NO_PLACE)
        slot = value & last
        while v.slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        v.slots[slot], v.hashes[slot] = number, value
    last = np.uint64(len(v.slips) - 1)
    for number in frequent:
        start, end = v.starts[number], v.starts[number + 1]
        for place in range(end - start):
            value = hash_without(v.letters, start, end, place)
            slot = value & last
            while v.slips[slot] >= 0:
                slot = (slot + np.uint64(1)) & last
            v.slips[slot], v.slip_places[slot], v.slip_hashes[slot] = number, place, value


@compiled  # type: ignore[untyped-decorator]
def marks_without(v: Vocabulary, letters: Array, start: int, end: int, place: int, value: np.uint64) -> np.uint64:
    """The marks of a word with this hash, a letter of which may be left out; none where no list has it."""
    last = np.uint64(len(v.slots) - 1)
    slot = value & last
    while v.slots[slot] >= 0:
        if v.hashes[slot] == value:
            number = v.slots[slot]
            if same(letters, start, end, place, v.letters, v.starts[number], v.starts[number + 1], NO_PLACE):
                return v.marks[number]
        slot = (slot + np.uint64(1)) & last
    return NONE


@compiled  # type: ignore[untyped-decorator]
def marks_of(v: Vocabulary, letters: Array, start: int, end: int) -> np.uint64:
    """The marks of the word from start to end."""
    return marks_without(v, letters, start, end, NO_PLACE, hash_without(letters, start, end, NO_PLACE))


@compiled  # type: ignore[untyped-decorator]
def is_slip(v: Vocabulary, letters: Array, start: int, end: int, place: int, value: np.uint64) -> bool:
    """Whether a word with this hash, a letter of which may be left out, is a frequent word with a letter left out."""
    last = np.uint64(len(v.slips) - 1)
    slot = value & last
    while v.slips[slot] >= 0:
        if v.slip_hashes[slot] == value:
            number = v.slips[slot]
            left_out = np.int64(v.slip_places[slot])
            if same(letters, start, end, place, v.letters, v.starts[number], v.starts[number + 1], left_out):
                return True
        slot = (slot + np.uint64(1)) & last
    return False


@compiled  # type: ignore[untyped-decorator]
def is_contraction(v: Vocabulary, letters: Array, start: int, end: int) -> bool:
    """As `lists` says it: an ordinary word, an apostrophe and one of the endings."""
    for at in range(start, end):
        if letters[at] == APOSTROPHE or letters[at] == CURLY:
            return bool(marks_of(v, letters, at + 1, end) & ENDING) and bool(marks_of(v, letters, start, at) & ORDINARY)
    return False


@compiled  # type: ignore[untyped-decorator]
def looks_ordinary(v: Vocabulary, letters: Array, start: int, end: int, marks: np.uint64) -> bool:
    """As `lists.looks_ordinary` says it, of a word with these marks."""
    if marks & ORDINARY or is_contraction(v, letters, start, end):
        return True
    if marks & (GIVEN | FAMILY | PLACE) or end - start > LONGEST_SLIP:
        return False
    for at in range(start + 2, end - 1):
        if marks_of(v, letters, start, at) & JOINED and marks_of(v, letters, at, end) & JOINED:
            return True
    if end - start < SHORTEST_SLIP:
        return False
    if is_slip(v, letters, start, end, NO_PLACE, hash_without(letters, start, end, NO_PLACE)):
        return True
    for place in range(end - start):
        value = hash_without(letters, start, end, place)
        if marks_without(v, letters, start, end, place, value) & FREQUENT:
            return True
        if is_slip(v, letters, start, end, place, value):
            return True
    return False

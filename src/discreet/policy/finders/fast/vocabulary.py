"""The words of all lists in one table that compiled loops look words up in, and the slips of frequent words.

A word is a stretch of code points. Words of up to 16 letters of ASCII are their own key, two numbers of 64 bits; of
others the key only says where to look, and what is found there is compared letter by letter. So a look-up gives what
one in the lists gives. Most of the time goes into waiting for memory: a slot holds all that is asked of it, and before
the table of slips is asked about a word, a small one of bits says whether it can be there. What slips are looked up by
is a polynomial of the letters, because that of a word without one letter takes one step.
"""

import sys
from itertools import compress
from typing import Any

import numpy as np

from discreet.policy.finders.fast.compiled import NONE, ZERO, Array, Number, compiled, kept
from discreet.policy.finders.fast.loading import VERSION
from discreet.policy.finders.fast.marks import ENDING, FAMILY, FREQUENT, GIVEN, JOINED, ORDINARY, PLACE, marked_words
from discreet.policy.lists import LONGEST_SLIP, SHORTEST_SLIP

CODEC = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
BASE = np.uint64(0x9E3779B97F4A7C15)
MIX = np.uint64(0xFF51AFD7ED558CCD)
ONE, TWO, THREE, SIX, EIGHT, HALF, LOW_SIX, SIXTY_FOUR = (np.uint64(n) for n in (1, 2, 3, 6, 8, 32, 63, 64))
POWERS = np.array([pow(int(BASE), power, 1 << 64) for power in range(LONGEST_SLIP + 1)], np.uint64)
APOSTROPHE, CURLY, HYPHEN, UNDERSCORE, QUESTION, SPACE, COMMA, POINT, AT, LINE_END = map(ord, "'’-_? ,.@\n")
LAST_ASCII = np.uint64(127)
NO_PLACE = ZERO - 1
"""Where a letter could be left out and none is."""
LONG = np.uint64(1 << 63)
"""In the second half of a key: the word is longer than its key, or has other letters."""
WORDS, SLIPS, JOINED_BITS, SLIP_BITS, STARTS, LETTERS, CHAPTERS = (np.uint64(number) for number in range(7))
"""What stands in the book: slots of words (both halves of the key, the marks, the number of the word), slots of slips
(the hash, which letter is left out, the number of the word), bits of both, and where the letters of every word begin.

All of it is one array because every array, and every tuple of them, that a compiled function is given costs time."""
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
"""Where no word has its number."""


def code_points(text: str) -> Array:
    return np.frombuffer(bytearray(text.encode(CODEC, "surrogatepass")), np.uint32)


def vocabulary(needed: int = -1) -> Array:
    """The book of all lists of words, or of those words that have one of the marks that are needed.

    A small book is read faster, because it stays near the processor.
    """
    words, marks = marked_words()
    chosen = marks & needed != 0
    words, marks = list(compress(words, chosen.tolist())), marks[chosen]
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    letters = code_points("".join(words))
    slips = int(lengths[marks & FREQUENT != 0].sum())
    sizes = (
        (WORDS, 4 * _slots(len(words))),
        (SLIPS, 4 * _slots(slips)),
        (JOINED_BITS, 1 << 10),
        (SLIP_BITS, 1 << 14),
        (STARTS, len(words) + 1),
        (LETTERS, len(letters)),
    )
    book = np.full(CHAPTERS + sum(size for _, size in sizes), EMPTY, np.uint64)
    at = CHAPTERS
    for chapter, size in sizes:
        book[chapter], at = at, at + size
    book[book[LETTERS] :] = letters
    book[book[STARTS] : book[LETTERS]] = np.concatenate([[0], np.cumsum(lengths)])
    book[book[JOINED_BITS] : book[STARTS]] = 0
    fill(book, letters, marks)
    return book


def _slots(entries: int) -> int:
    return 1 << (entries * 3 // 2).bit_length()


@compiled
def _finished(value: Number) -> Number:
    """Spreads a polynomial over all bits."""
    value = (value ^ (value >> HALF)) * MIX
    return value ^ (value >> HALF)


@compiled
def _polynomial(letters: Array, start: Number, end: Number, place: Number) -> Number:
    """That of a word, a letter of which may be left out."""
    value = NONE
    for at in range(start, end):
        if at - start != place:
            value = value * BASE + np.uint64(letters[at])
    return value


@compiled
def _without(whole: Number, before: Number, letter: Number, after: Number) -> Number:
    """The polynomial of a word without a letter, given that of what stands before it and how much stands after it."""
    return whole - (before * BASE + letter - before) * POWERS[after]


@compiled
def _may_be_in(book: Array, chapter: Number, value: Number) -> bool:
    bits = (book[chapter + ONE] - book[chapter]) * SIXTY_FOUR
    place = value & (bits - ONE)
    return bool((book[book[chapter] + (place >> SIX)] >> (place & LOW_SIX)) & ONE)


@compiled
def _note(book: Array, chapter: Number, value: Number) -> None:
    bits = (book[chapter + ONE] - book[chapter]) * SIXTY_FOUR
    place = value & (bits - ONE)
    book[book[chapter] + (place >> SIX)] |= ONE << (place & LOW_SIX)


@compiled
def _key(letters: Array, start: Number, end: Number, place: Number) -> tuple[Number, Number]:
    """The key of a word, a letter of which may be left out."""
    low = high = shift = NONE
    every = NONE
    if end - start <= 16:
        for at in range(start, end):
            if at - start != place:
                letter = np.uint64(letters[at])
                every = max(every, letter - ONE)
                if shift < SIXTY_FOUR:
                    low |= letter << shift
                else:
                    high |= letter << (shift - SIXTY_FOUR)
                shift += EIGHT
        if every < LAST_ASCII:
            return low, high
    return _polynomial(letters, start, end, place), LONG


@compiled
def _slot(book: Array, chapter: Number, value: Number) -> Number:
    """Where to look for a hash first."""
    slots = (book[chapter + ONE] - book[chapter]) >> TWO
    return value & (slots - ONE)


@compiled
def _next(book: Array, chapter: Number, slot: Number) -> Number:
    return _slot(book, chapter, slot + ONE)


@compiled
def _insert(book: Array, chapter: Number, value: Number, a: Number, b: Number, c: Number, number: Number) -> None:
    slot = _slot(book, chapter, value)
    while book[book[chapter] + (slot << TWO) + THREE] != EMPTY:
        slot = _next(book, chapter, slot)
    at = book[chapter] + (slot << TWO)
    book[at], book[at + ONE], book[at + TWO], book[at + THREE] = a, b, np.uint64(c), np.uint64(number)


@compiled
def _hash(low: Number, high: Number) -> Number:
    """Where a key is looked for."""
    value = (low ^ (high * MIX)) * BASE
    return value ^ (value >> HALF)


def _fill_of(version: int) -> Any:
    @kept
    def fill(book: Array, letters: Array, marks: Array) -> None:
        assert version
        for number in range(len(marks)):
            place = book[STARTS] + np.uint64(number)
            start, end = np.int64(book[place]), np.int64(book[place + ONE])
            low, high = _key(letters, start, end, NO_PLACE)
            _insert(book, WORDS, _hash(low, high), low, high, marks[number], number)
            whole = _polynomial(letters, start, end, NO_PLACE)
            if marks[number] & JOINED:
                _note(book, JOINED_BITS, _finished(whole))
            if marks[number] & FREQUENT:
                _note(book, SLIP_BITS, _finished(whole))
                before = NONE
                for at in range(start, end):
                    letter = np.uint64(letters[at])
                    shorter = _finished(_without(whole, before, letter, end - at - 1))
                    _insert(book, SLIPS, shorter, shorter, np.uint64(at - start), ZERO, number)
                    _note(book, SLIP_BITS, shorter)
                    before = before * BASE + letter

    return fill


fill = _fill_of(VERSION)


@compiled
def _is_word(
    book: Array, letters: Array, start: Number, end: Number, place: Number, number: Number, other: Number
) -> bool:
    """Whether letters, but for one at a place, are those of a word in the book but for another."""
    at = book[book[STARTS] + number]
    count = np.int64(book[book[STARTS] + number + ONE] - at)
    at += book[LETTERS]
    if end - start - (place >= 0) != count - (other >= 0):
        return False
    one = two = 0
    while True:
        one += one == place
        two += two == other
        if one >= end - start or two >= count:
            return True
        if np.uint64(letters[start + one]) != book[at + np.uint64(two)]:
            return False
        one += 1
        two += 1


@compiled
def _marks(book: Array, letters: Array, start: Number, end: Number, place: Number) -> Number:
    """The marks of a word, a letter of which may be left out; none where no list has it."""
    low, high = _key(letters, start, end, place)
    slot = _slot(book, WORDS, _hash(low, high))
    while True:
        at = book[WORDS] + (slot << TWO)
        if book[at + THREE] == EMPTY:
            return 0
        found = book[at] == low and book[at + ONE] == high
        if found and (high != LONG or _is_word(book, letters, start, end, place, book[at + THREE], NO_PLACE)):
            return np.int64(book[at + TWO])
        slot = _next(book, WORDS, slot)


@compiled
def marks_of(book: Array, letters: Array, start: int, end: int) -> int:
    """The marks of the word from start to end."""
    marks: int = _marks(book, letters, start, end, NO_PLACE)
    return marks


@compiled
def _is_slip(book: Array, letters: Array, start: Number, end: Number, place: Number, value: Number) -> bool:
    """Whether a word with this hash, a letter of which may be left out, is a frequent word with a letter left out."""
    slot = _slot(book, SLIPS, value)
    while True:
        at = book[SLIPS] + (slot << TWO)
        if book[at + THREE] == EMPTY:
            return False
        left_out = np.int64(book[at + ONE])
        if book[at] == value and _is_word(book, letters, start, end, place, book[at + THREE], left_out):
            return True
        slot = _next(book, SLIPS, slot)


@compiled
def _is_contraction(book: Array, letters: Array, start: Number, end: Number) -> bool:
    """As `lists` says it: an ordinary word, an apostrophe and one of the endings."""
    for at in range(start, end):
        if letters[at] == APOSTROPHE or letters[at] == CURLY:
            stem, ending = marks_of(book, letters, start, at), marks_of(book, letters, at + 1, end)
            return stem & ORDINARY != 0 and ending & ENDING != 0
    return False


@compiled
def looks_ordinary(book: Array, letters: Array, start: Number, end: Number, marks: int) -> bool:
    """As `lists.looks_ordinary` says it, of a word with these marks."""
    if marks & ORDINARY or _is_contraction(book, letters, start, end):
        return True
    if marks & (GIVEN | FAMILY | PLACE) or end - start > LONGEST_SLIP:
        return False
    before = NONE
    for at in range(start, end - 1):
        joined = at >= start + 2 and _may_be_in(book, JOINED_BITS, _finished(before))
        if joined and marks_of(book, letters, start, at) & marks_of(book, letters, at, end) & JOINED:
            return True
        before = before * BASE + np.uint64(letters[at])
    return end - start >= SHORTEST_SLIP and _has_slip(book, letters, start, end)


@compiled
def _has_slip(book: Array, letters: Array, start: Number, end: Number) -> bool:
    """Whether a word is a frequent one with a letter missing, too many or wrong."""
    whole = _polynomial(letters, start, end, NO_PLACE)
    value = _finished(whole)
    if _may_be_in(book, SLIP_BITS, value) and _is_slip(book, letters, start, end, NO_PLACE, value):
        return True
    before = NONE
    for at in range(start, end):
        letter = np.uint64(letters[at])
        value = _finished(_without(whole, before, letter, end - at - 1))
        if _may_be_in(book, SLIP_BITS, value):
            if _marks(book, letters, start, end, at - start) & FREQUENT:
                return True
            if _is_slip(book, letters, start, end, at - start, value):
                return True
        before = before * BASE + letter
    return False

"""Where rare words and signs stand that finders begin with: one walk over a page instead of a search for each."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from discreet.policy.finders import addresses, keys, numbers, online
from discreet.policy.finders.fast.compiled import ZERO, Array, Number, compiled, kept
from discreet.policy.finders.fast.digits import is_digit
from discreet.policy.finders.fast.loading import VERSION
from discreet.policy.finders.fast.marks import DECIMAL
from discreet.policy.finders.fast.vocabulary import HYPHEN, POINT

PASSWORD, PERSONAL, BIRTH, CORNER, SAID, SPOKEN, LINK, BARE, HOST, PRIVATE, DOTTED, COLONS, HYPHENS = range(13)
"""The sorts of signs: a finder asks for those of one sort. The last three are forms, not words."""
WORDS: dict[int, tuple[str, ...]] = {
    PASSWORD: keys.PASSWORD_WORDS,
    PERSONAL: numbers.PERSONAL,
    BIRTH: numbers.BIRTH_WORDS,
    CORNER: (addresses.CORNER_WORDS,),
    SAID: addresses.SAID_BEFORE,
    SPOKEN: online.SPOKEN_DOTS,
    LINK: online.LINK_HEADS,
    BARE: online.BARE_ENDS,
    HOST: tuple(f".{top}" for top in online.TOP.split("|")),
    PRIVATE: (keys.PRIVATE.lower(),),
}
COLON, A, F, CAPITAL_A, CAPITAL_F = map(ord, ":afAF")
SORT, LENGTH, KEY, LETTERS = range(4)
"""The words are rows of one array, sorted by their keys: their sort, how long they are, the key, and their letters."""
BITS, LOW, KEYS = 5, 31, 1 << 15
"""A key is the low bits of the first three letters."""
LONGEST_PART = 3
MOST_AT_ONE_PLACE = 3
"""A form, and two words of which one begins with the other."""


def _key(word: str) -> int:
    first, second, third = (ord(letter) & LOW for letter in word[:3])
    return first << 2 * BITS | second << BITS | third


@cache
def words() -> tuple[Array, Array]:
    """The words as rows, and for every key the first row that has it (0 where none does)."""
    every = sorted((_key(word), word, sort) for sort, several in WORDS.items() for word in several)
    rows = np.full((len(every) + 2, LETTERS + max(len(word) for _, word, _ in every)), -1, np.int32)
    first = np.zeros(KEYS, np.uint8)
    for number, (key, word, sort) in enumerate(every, 1):
        rows[number, SORT], rows[number, LENGTH], rows[number, KEY] = sort, len(word), key
        rows[number, LETTERS : LETTERS + len(word)] = [ord(letter) for letter in word]
        first[key] = first[key] or number
    return rows, first


@compiled
def _is_hex(letter: int) -> bool:
    return is_digit(letter) or A <= letter <= F or CAPITAL_A <= letter <= CAPITAL_F


@compiled
def _begins_dotted(classes: Array, text: Array, at: int) -> bool:
    """Whether a point, one to three digits and a point stand here."""
    stop = at + 1
    while stop < len(text) and stop - at <= LONGEST_PART and classes[text[stop]] & DECIMAL:
        stop += 1
    return stop > at + 1 and stop < len(text) and text[stop] == POINT


@compiled
def _form(classes: Array, text: Array, at: int) -> int:
    """Which of the forms begins here (`online.DOTTED`, the first half of it, `COLONS`, `HYPHENS`), or -1."""
    if text[at] == POINT:
        return DOTTED if _begins_dotted(classes, text, at) else -1
    if text[at] == COLON:
        stop = at + 1
        while stop < len(text) and stop - at <= 4 and _is_hex(text[stop]):
            stop += 1
        return COLONS if stop < len(text) and text[stop] == COLON else -1
    if text[at] != HYPHEN or at + 6 >= len(text) or text[at + 3] != HYPHEN or text[at + 6] != HYPHEN:
        return -1
    hexadecimal = _is_hex(text[at + 1]) and _is_hex(text[at + 2]) and _is_hex(text[at + 4]) and _is_hex(text[at + 5])
    return HYPHENS if hexadecimal else -1


def _signs_of(version: int) -> Any:
    @kept
    def signs(rows: Array, firsts: Array, classes: Array, text: Array, lower: Array) -> Array:
        """Signs in rows: sort, start, end (of forms, the start only)."""
        assert version
        found = np.empty((MOST_AT_ONE_PLACE * len(text), 3), np.int64)
        count = ZERO
        key: Number = ZERO
        for after in range(len(lower)):
            letter = lower[after]
            if letter in (POINT, COLON, HYPHEN):
                form = _form(classes, text, after)
                if form >= 0:
                    found[count, 0], found[count, 1], found[count, 2] = form, after, after
                    count += 1
            key = (key << BITS | np.int64(letter & LOW)) & (KEYS - 1)
            row = np.int64(firsts[key])
            if row:
                at = after - 2
                while rows[row, KEY] == key:
                    if _stands_at(lower, at, rows[row]):
                        found[count, 0], found[count, 1], found[count, 2] = rows[row, SORT], at, at + rows[row, LENGTH]
                        count += 1
                    row += 1
        return found[:count]

    return signs


@compiled
def _stands_at(lower: Array, at: int, word: Array) -> bool:
    length: int = word[LENGTH]
    if at < 0 or at + length > len(lower):
        return False
    same = 0
    while same < length and lower[at + same] == word[LETTERS + same]:
        same += 1
    return same == length


signs = _signs_of(VERSION)


def signs_of(classes: Array, text: Array, lower: Array) -> dict[int, list[tuple[int, int]]]:
    """Where the signs of each sort that is there begin and end."""
    found: dict[int, list[tuple[int, int]]] = {}
    for sort, start, end in signs(*words(), classes, text, lower).tolist():
        found.setdefault(sort, []).append((start, end))
    return found


def matches_at(pattern: re.Pattern[str], text: str, places: Iterable[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """All matches of a pattern that can only begin at these places."""
    after = 0
    for at, _ in places:
        if at >= after and (match := pattern.match(text, at)):
            after = match.end()
            yield match

r"""Chat by its shape: words that are alike in all that stretches ask of them are one letter, and lines words of those.

    >>> one, other, third = shapes(["hfb 756", "kqx 221", "yes please"])
    >>> one == other != third
    True
    >>> of_shape(one, frozenset(), sure=True)
    ((0, 2, 'REFERENCE', 0.7), (0, 2, 'ADDRESS', 0.65))

People write a few hundred kinds of words, and most short lines have a shape that was there before even where their
words are new. So a page is turned into shapes by a few calls that do not depend on the number of its lines, and what
is secret in a shape is found once, in words of which it is an example.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from discreet.policy.customersim import NO_NAMES
from discreet.policy.finders.asking import KINDS_OF
from discreet.policy.finders.chat import (
    ADDRESS_WORDS,
    CUES,
    INTRODUCES,
    NUMBER,
    NUMBER_WORDS,
    SHORTEST_CODE,
    SORTS,
    STRANGE,
    SURE_CUES,
    TOO_COMMON,
    UNIT_WORDS,
    code_like,
)
from discreet.policy.finders.page import ANSWER_WORDS
from discreet.policy.finders.stretches import PLAIN, TOKEN, Found, of_words
from discreet.policy.lists import family, given, ordinary, places

WALL = "\0"
"""What stands between two lines, as a word of its own."""
END = "\n"
"""The letter for it."""
FIRST_LETTER = 48
MOST_WORDS = 1 << 16
LONG_LINE = 4
"""A line of more words, all of them ordinary, has no secret."""
LISTS = (
    ANSWER_WORDS,
    frozenset(KINDS_OF),
    NO_NAMES,
    TOO_COMMON,
    CUES,
    SURE_CUES,
    ADDRESS_WORDS,
    UNIT_WORDS,
    NUMBER_WORDS,
)
LISTED = {word: tuple(word in one for one in LISTS) for words in LISTS for word in words}
"""Which of the lists each word stands on."""
IN_PHRASES = frozenset(word for phrase in INTRODUCES for word in phrase.split())


@cache
def names_too() -> frozenset[str]:
    """Ordinary words that are given names."""
    return (given() & ordinary()) - TOO_COMMON


def traits(word: str) -> Any:
    """All that is asked of a word; words with the same traits are found, or not, in the same way.

    What is never asked of words of a sort (whether a strange one is a family name) is left out, because fewer letters
    are more shapes that were there before.
    """
    if word in IN_PHRASES:
        return word
    sort = SORTS[word]
    listed = LISTED.get(word)
    if sort == NUMBER:
        return sort, listed, min(sum(map(str.isdigit, word)), SHORTEST_CODE - 1)
    coded: Any = None
    if code_like(word, sort == STRANGE):
        digits = sum(map(str.isdigit, word))
        coded = min(len(word) + digits, SHORTEST_CODE), digits > 0, len(word) == 1
    pieces = [word] if word.isalnum() else PLAIN.findall(word)
    known: Any = None
    if ordinary().issuperset(pieces):
        known = min(len(pieces), LONG_LINE + 1), NO_NAMES.issuperset(pieces), names_too().isdisjoint(pieces)
    return sort, listed, coded, known, word in given(), word in (places() if sort == STRANGE else family())


class Letters:
    """The letters that were given out, and what is known of each."""

    def __init__(self) -> None:
        self.examples: list[str] = []
        """For each letter, a word that it stands for."""
        self.known: set[str] = set()
        """The letters of ordinary words; of those that are no names; and of those that are no given names."""
        self.no_names: set[str] = set()
        self.not_given: set[str] = set()
        self._of_traits: dict[Any, str] = {}

    def of_word(self, word: str) -> str:
        known = traits(word)
        return self._of_traits.get(known) or self._new(word, known)

    def _new(self, word: str, known: Any) -> str:
        letter = self._of_traits[known] = chr(FIRST_LETTER + len(self.examples))
        self.examples.append(word)
        pieces = PLAIN.findall(word)
        if ordinary().issuperset(pieces):
            self.known.add(letter)
        if NO_NAMES.issuperset(pieces):
            self.no_names.add(letter)
        if names_too().isdisjoint(pieces):
            self.not_given.add(letter)
        return letter


class Chunks(dict[str, str]):
    """Of every run of visible characters that was seen lately: the letters of the words in it."""

    def __missing__(self, chunk: str) -> str:
        if len(self) >= MOST_WORDS:
            self.clear()
        if chunk.isdigit():
            letters = LETTERS.of_word(chunk[:SHORTEST_CODE])
        elif chunk.isalnum():
            letters = LETTERS.of_word(chunk)
        elif chunk == WALL:
            letters = END
        else:
            words = TOKEN.findall(chunk)
            letters = "".join([LETTERS.of_word(word) if word == chunk else self[word] for word in words])
        self[chunk] = letters
        return letters


LETTERS = Letters()
CHUNKS = Chunks()


def shapes(lines: Sequence[str]) -> list[str]:
    """The shapes of lines in lower case."""
    found = "".join(map(CHUNKS.__getitem__, f" {WALL} ".join(lines).split())).split(END)
    if len(found) != len(lines):  # a line holds the wall itself
        return ["".join(map(CHUNKS.__getitem__, line.replace(WALL, " ").split())) for line in lines]
    return found


@lru_cache(maxsize=1 << 16)
def of_shape(shape: str, asked: frozenset[str], sure: bool) -> tuple[Found, ...]:
    """The secrets of a stretch of this shape, given what was asked for."""
    return of_words(_examples(shape), asked, sure)


@lru_cache(maxsize=1 << 16)
def of_line(shape: str, asked: frozenset[str], sure: bool) -> tuple[Found, ...]:
    """The secrets of a line of this shape without a question in it; none where the line is dull."""
    return () if dull(shape, asked) else of_words(_examples(shape), asked, sure)


def dull(shape: str, asked: frozenset[str]) -> bool:
    """Whether a line has only ordinary words, too many of them or none that could be a name."""
    if not LETTERS.known.issuperset(shape):
        return False
    return (
        len(shape) > LONG_LINE
        or LETTERS.no_names.issuperset(shape)
        or ("PERSON" not in asked and LETTERS.not_given.issuperset(shape))
        or sum(len(PLAIN.findall(example)) for example in _examples(shape)) > LONG_LINE
    )


def _examples(shape: str) -> list[str]:
    examples = LETTERS.examples
    return [examples[ord(letter) - FIRST_LETTER] for letter in shape]

"""What compiled finders know of words and of characters, as bits.

The mark of a word says which lists it stands on; the class of a character, what Python says of it.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.policy.customersim import NO_NAMES
from discreet.policy.finders import addresses, answers, names, numbers, people
from discreet.policy.finders.asking import ASKING_WORDS, KINDS_OF, WORDS_FOR
from discreet.policy.finders.chat import (
    ADDRESS_WORDS,
    CUES,
    LITTLE,
    NUMBER_WORDS,
    SURE_CUES,
    TOO_COMMON,
    UNIT_WORDS,
)
from discreet.policy.finders.page import ANSWER_WORDS
from discreet.policy.lists import ENDINGS, family, frequent_words, given, joined_words, ordinary, places, word_set

ORDINARY = 1 << 0
GIVEN = 1 << 1
FAMILY = 1 << 2
PLACE = 1 << 3
ANSWER = 1 << 4
KIND = 1 << 5
NO_NAME = 1 << 6
COMMON = 1 << 7
CUE = 1 << 8
SURE_CUE = 1 << 9
ADDRESS_WORD = 1 << 10
UNIT = 1 << 11
NUMBER_WORD = 1 << 12
CALENDAR = 1 << 13
ENDING = 1 << 14
JOINED = 1 << 15
LITTLE_WORD = 1 << 16
NOT_NAME = 1 << 17
NATIONALITY = 1 << 18
COMPANY = 1 << 19
HONORIFIC = 1 << 20
BEFORE_PLACE = 1 << 21
PARTICLE = 1 << 22
FREQUENT = 1 << 23
ASKING = 1 << 24

JOINT = 1 << 50
SMALL_STREET = 1 << 51
STREET_ENDING = 1 << 52
SAID_END = 1 << 53
SHIP = 1 << 54
STREET = 1 << 55
UNIT_SIGN = 1 << 56
BOX_WORD = 1 << 57
BOX_SIGN = 1 << 58
MEASURE = 1 << 59

ABOUT_QUESTIONS = ANSWER | KIND | ASKING | MEASURE
ABOUT_ADDRESSES = (
    ABOUT_QUESTIONS | CALENDAR | NO_NAME | NOT_NAME | JOINT | SMALL_STREET | STREET | STREET_ENDING | SAID_END | SHIP
    | UNIT_SIGN | BOX_WORD | BOX_SIGN
)  # fmt: skip
"""The marks of the words that finders ask for most: a small book is read faster."""

UNIT_WORDS_OF_SIGNS = word_set("apt apartment suite ste unit floor fl flat room rm building bldg")
BOX_WORDS_OF_SIGNS = word_set("psc p po pobox box postbox apo dpo fpo uss usns usnv uscgc")
"""Every sign that `addresses.SIGN` matches begins with one of these words."""

MEASURES = word_set(
    """
    st nd rd th s am pm kb mb gb tb bb k m mm cm km kg lb lbs oz ft in hr hrs min mins x d b bn g l p c f h hz w v ml mg
    day days hour hours page fold bit bits
    """
)
"""What `numbers.NO_CODES` takes at a number, but for years, which may be an age."""

PHRASE = 25
"""From this bit on, four bits say which word of an introduction this is."""
NAME, IS, NAMES, I_, AM, IM, THIS, CALL, ME = range(1, 10)
PHRASES = {
    "name": NAME, "is": IS, "names": NAMES, "myself": NAMES, "i": I_, "am": AM, "im": IM, "i'm": IM, "mr": IM,
    "mrs": IM, "miss": IM, "ms": IM, "dr": IM, "this": THIS, "call": CALL, "me": ME,
}  # fmt: skip
"""Words of the same number do the same: those of `names` are a phrase by themselves, and a sure one."""
KINDS = 32
"""From this bit on, one for each kind of secret that a word announces, in the order of KIND_NAMES."""
KIND_NAMES = tuple(WORDS_FOR)

KNOWN = 1 << 0
ALNUM = 1 << 1
DECIMAL = 1 << 2
DIGIT = 1 << 3
UPPER = 1 << 4
CAPITAL = 1 << 5
"""What a run of capitalised words begins with, and what keeps a line from being chat."""
SHOWY = 1 << 6
SENTENCE_END = 1 << 7
WHITE = 1 << 8
SMALL = 1 << 9
LOWER = 1 << 10
ALPHA = 1 << 11
NEVER_BEFORE = 1 << 12


def marked_words() -> tuple[list[str], NDArray[np.int64]]:
    """Every word of every list, and its marks."""
    marks: dict[str, int] = {}
    lists: tuple[tuple[int, Iterable[str]], ...] = (
        (ORDINARY, ordinary()),
        (GIVEN, given()),
        (FAMILY, family()),
        (PLACE, places()),
        (ANSWER, ANSWER_WORDS),
        (KIND, KINDS_OF),
        (NO_NAME, NO_NAMES),
        (COMMON, TOO_COMMON),
        (CUE, CUES),
        (SURE_CUE, SURE_CUES),
        (ADDRESS_WORD, ADDRESS_WORDS),
        (UNIT, UNIT_WORDS),
        (NUMBER_WORD, NUMBER_WORDS),
        (CALENDAR, names.CALENDAR),
        (ENDING, ENDINGS),
        (JOINED, joined_words()),
        (LITTLE_WORD, LITTLE),
        (NOT_NAME, names.NOT_NAMES),
        (NATIONALITY, names.NATIONALITIES),
        (COMPANY, names.COMPANY),
        (HONORIFIC, names.HONORIFICS),
        (BEFORE_PLACE, people.BEFORE_PLACE),
        (PARTICLE, names.PARTICLES.split("|")),
        (FREQUENT, frequent_words()),
        (ASKING, ASKING_WORDS),
        (JOINT, addresses.JOINTS.split("|")),
        (SMALL_STREET, addresses.SMALL_WORDS),
        (STREET_ENDING, addresses.ENDINGS),
        (SAID_END, (end[::-1] for end in addresses.SAID_ENDS)),
        (STREET, addresses.STREETS),
        (UNIT_SIGN, UNIT_WORDS_OF_SIGNS),
        (BOX_SIGN, BOX_WORDS_OF_SIGNS),
        (MEASURE, MEASURES),
        (BOX_WORD, ("pobox", "postbox", "apo", "dpo", "uss", "usns", "usnv", "uscgc", "fpo")),
        (SHIP, ("USS", "USNS", "USNV", "USCGC")),
    )
    for bit, words in lists:
        for word in words:
            marks[word] = marks.get(word, 0) | bit
    for word, number in PHRASES.items():
        marks[word] = marks.get(word, 0) | number << PHRASE
    for word, kinds in KINDS_OF.items():
        marks[word] |= kinds_mask(kinds) << KINDS
    return list(marks), np.fromiter(marks.values(), np.int64, len(marks))


def kinds_mask(kinds: Iterable[str]) -> int:
    """Kinds as bits."""
    return sum(1 << KIND_NAMES.index(kind) for kind in kinds)


def class_of(letter: str) -> int:
    """What Python says of a character, as bits."""
    answered = (
        (KNOWN, True),
        (ALNUM, letter.isalnum()),
        (DECIMAL, letter.isdecimal()),
        (DIGIT, letter.isdigit()),
        (UPPER, letter.isupper()),
        (CAPITAL, names.CAPITALS.match(letter) is not None),
        (SHOWY, answers.SHOWY.match(letter) is not None),
        (SENTENCE_END, letter in names.END_OF_SENTENCE),
        (WHITE, letter.isspace()),
        (LOWER, letter.islower()),
        (ALPHA, letter.isalpha()),
        (NEVER_BEFORE, letter in numbers.NEVER_BEFORE),
        (SMALL, letter.islower() or (letter.istitle() and not letter.isupper())),
    )
    return sum(bit for bit, yes in answered if yes)

"""What a sentence asks for, as `finders.asking` says it, in bits."""

from discreet.policy.finders.asking import WORDS_FOR
from discreet.policy.finders.fast.compiled import Array, compiled
from discreet.policy.finders.fast.marks import ALNUM, ANSWER, ASKING, DIGIT, KINDS
from discreet.policy.finders.fast.vocabulary import APOSTROPHE, HYPHEN, QUESTION, SPACE, UNDERSCORE, marks_of

ALL_KINDS = (1 << len(WORDS_FOR)) - 1
UNSURE = -1
"""The sentence may ask who or where; `finders.asking` knows what that means."""
A, Z, W, H, O_, E, R = map(ord, "azwhoer")


@compiled
def _small(letter: int) -> bool:
    return A <= letter <= Z


@compiled
def _in_word(letter: int) -> bool:
    """Whether a character is surely part of a word."""
    return _small(letter) or 48 <= letter <= 57 or letter == UNDERSCORE


@compiled
def kinds_named(book: Array, lower: Array, start: int, end: int) -> int:
    """The kinds that words announce, or UNSURE."""
    found = 0
    at = start
    while at < end:
        if not _small(lower[at]):
            at += 1
            continue
        first = at
        while at < end and (_small(lower[at]) or lower[at] == APOSTROPHE or lower[at] == HYPHEN):
            at += 1
        found |= (marks_of(book, lower, first, at) >> KINDS) & ALL_KINDS
        for place in range(first, at - 2):
            if lower[place] == W and lower[place + 1] == H and (place == start or not _in_word(lower[place - 1])):
                if lower[place + 2] == O_ and place + 3 < end and lower[place + 3] == SPACE:
                    return UNSURE
                where = place + 4 < at and lower[place + 2] == E and lower[place + 3] == R and lower[place + 4] == E
                if where and (place + 5 == end or not _in_word(lower[place + 5])):
                    return UNSURE
    return found


@compiled
def asked_in(book: Array, classes: Array, lower: Array, start: int, end: int) -> int:
    """What a speaker asks for, or UNSURE."""
    at = start
    while at < end:
        if lower[at] == QUESTION:
            return kinds_named(book, lower, start, end)
        first = at
        while at < end and (classes[lower[at]] & ALNUM or lower[at] == UNDERSCORE):
            at += 1
        if at > first and marks_of(book, lower, first, at) & ASKING:
            return kinds_named(book, lower, start, end)
        at += at == first
    return 0


@compiled
def of_answers(book: Array, classes: Array, lower: Array, start: int, end: int) -> bool:
    """Whether all words are among those that people answer with, and no digit is there."""
    at = start
    while at < end:
        if classes[lower[at]] & DIGIT:
            return False
        if not _small(lower[at]):
            at += 1
            continue
        first = at
        while at < end and (_small(lower[at]) or lower[at] == APOSTROPHE or lower[at] == HYPHEN):
            at += 1
        if not marks_of(book, lower, first, at) & ANSWER:
            return False
    return True

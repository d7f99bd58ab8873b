"""Names in text with capitals, as `finders.people` finds them: runs of words, and what stands around them."""

from typing import Any

import numpy as np

from discreet.policy.finders.fast.compiled import ZERO, Array, compiled, kept
from discreet.policy.finders.fast.findings import PARTS, PERSON, PLACED, add
from discreet.policy.finders.fast.forms import (
    NAME,
    UNKNOWN,
    WORD_COLUMNS,
    WORD_END,
    WORD_FORM,
    WORD_MARKS,
    WORD_START,
    edges,
    form_of,
    is_heading,
    verdict,
)
from discreet.policy.finders.fast.loading import VERSION
from discreet.policy.finders.fast.marks import (
    ALNUM,
    BEFORE_PLACE,
    CAPITAL,
    DECIMAL,
    HONORIFIC,
    PARTICLE,
    SENTENCE_END,
    UPPER,
)
from discreet.policy.finders.fast.vocabulary import (
    APOSTROPHE,
    COMMA,
    CURLY,
    HYPHEN,
    LINE_END,
    POINT,
    SPACE,
    UNDERSCORE,
    marks_of,
)
from discreet.policy.finders.names import PARTICLES

HARD_SPACE, LONGER = 0xA0, 0x130
LONGEST_PARTICLE = max(map(len, PARTICLES.split("|")))
LONGEST_BEFORE = 11
"""So many characters before a run may be a title."""
AND = np.array([ord(letter) for letter in " and "], np.uint32)


@compiled
def _is_letter(classes: Array, letter: int) -> bool:
    return classes[letter] & ALNUM != 0 and not classes[letter] & DECIMAL


@compiled
def _in_word(classes: Array, text: Array, at: int) -> bool:
    return 0 <= at < len(text) and (classes[text[at]] & ALNUM != 0 or text[at] == UNDERSCORE)


@compiled
def _is_capital(classes: Array, text: Array, at: int) -> bool:
    return at < len(text) and classes[text[at]] & CAPITAL != 0


@compiled
def _letters_end(classes: Array, text: Array, at: int) -> int:
    while at < len(text) and _is_letter(classes, text[at]):
        at += 1
    return at


@compiled
def word_end(classes: Array, text: Array, at: int) -> int:
    """Where a word ends that begins with the capital here: after letters, with hyphens and apostrophes in it."""
    at = _letters_end(classes, text, at + 1)
    while at + 1 < len(text):
        if text[at] == APOSTROPHE or text[at] == CURLY:
            if text[at + 1] == ord("s") and not _in_word(classes, text, at + 2):
                return at
        elif text[at] != HYPHEN:
            return at
        if not _is_letter(classes, text[at + 1]):
            return at
        at = _letters_end(classes, text, at + 1)
    return at


@compiled
def _next_word(book: Array, classes: Array, text: Array, end: int) -> int:
    """Where the next word of a run begins that goes on after a word that ends here, or -1."""
    if end >= len(text):
        return -1
    if text[end] == SPACE or text[end] == HARD_SPACE:
        at = end + 1
        for _ in range(3):
            stop = at
            while stop < len(text) and ord("a") <= text[stop] <= ord("z") and stop - at <= LONGEST_PARTICLE:
                stop += 1
            if stop == at or stop == len(text) or text[stop] != SPACE or not marks_of(book, text, at, stop) & PARTICLE:
                break
            at = stop + 1
        return at if _is_capital(classes, text, at) else -1
    if end + 2 >= len(text) or text[end + 1] != SPACE or not _is_capital(classes, text, end + 2):
        return -1
    if text[end] == POINT:
        initial = ord("A") <= text[end - 1] <= ord("Z") and not _in_word(classes, text, end - 2)
        return end + 2 if initial else -1
    if text[end] == COMMA:
        at = word_end(classes, text, end + 2)
        for one in range(len(AND)):
            if at + one >= len(text) or text[at + one] != AND[one]:
                return -1
        return end + 2 if _is_capital(classes, text, at + len(AND)) else -1
    return -1


@compiled
def _begins_sentence(classes: Array, text: Array, at: int) -> bool:
    at -= 1
    while at >= 0 and text[at] == SPACE:
        at -= 1
    return at < 0 or classes[text[at]] & SENTENCE_END != 0


@compiled
def _before(lower: Array, start: int) -> int:
    """Where the word begins that stands before a place and a space; the place itself where there is none."""
    if start == 0 or lower[start - 1] != SPACE:
        return start
    at = start - 1
    while at > 0 and at > start - 1 - LONGEST_BEFORE and lower[at - 1] != SPACE and lower[at - 1] != LINE_END:
        at -= 1
    return at


@compiled
def _is_odd(text: Array, start: int, end: int) -> bool:
    """Whether only Python knows the form of a word.

    It has the letter that is longer in lower case, or another apostrophe than the lists have, or ends in an 's that
    belongs to it. (A sigma is another letter at the end of a word, but no list has a word with either.)
    """
    for at in range(start, end):
        if text[at] == LONGER or text[at] == CURLY:
            return True
    return end - start > 2 and text[end - 1] == ord("s") and text[end - 2] == APOSTROPHE


def _in_runs_of(version: int) -> Any:
    @kept
    def in_runs(
        book: Array, classes: Array, text: Array, lower: Array, replies: Array, floor: float
    ) -> tuple[Array, Array, Array]:
        """What is found; what is found where a title or a question says that it is a name; runs left to `people`."""
        assert version
        runs = 0
        for letter in text:
            runs += classes[letter] & CAPITAL != 0
        words = np.empty((runs + 1, WORD_COLUMNS), np.int64)
        found, told = np.empty((runs + 1, PARTS), np.int64), np.empty((runs + 1, PARTS), np.int64)
        left = np.empty((runs + 1, PARTS), np.int64)
        found[0, 0] = told[0, 0] = left[0, 0] = 0
        spelt = np.empty(0, np.uint32)
        at = reply = ZERO
        while at < len(text):
            if not classes[text[at]] & CAPITAL:
                at += 1
                continue
            start = begin = at
            count, odd = 0, False
            while begin >= 0:
                at = word_end(classes, text, begin)
                words[count, WORD_START], words[count, WORD_END] = begin, at
                odd |= _is_odd(text, begin, at)
                count += 1
                begin = _next_word(book, classes, text, at)
            if not classes[text[start]] & UPPER:
                continue
            while reply < len(replies) and replies[reply, 1] <= start:
                reply += 1
            asked = reply < len(replies) and replies[reply, 0] <= start
            if odd:
                add(left, start, at, asked, 0)
                continue
            for one in range(count):
                marks = marks_of(book, lower, words[one, WORD_START], words[one, WORD_END])
                words[one, WORD_MARKS] = marks
                words[one, WORD_FORM] = form_of(
                    book, classes, text, lower, words[one, WORD_START], words[one, WORD_END], marks
                )
            if len(spelt) < at - start + 1:
                spelt = np.empty(2 * (at - start) + 64, np.uint32)
            before = _before(lower, start)
            around = marks_of(book, lower, before, start - 1) if before < start - 1 else 0
            titled = around & HONORIFIC != 0
            first = _begins_sentence(classes, text, start)
            low, high = edges(words, count, first, titled)
            heading = is_heading(words, low, high)
            while low < high:
                end = high
                if heading:
                    while low < high and not words[low, WORD_FORM] & UNKNOWN:
                        low += 1
                    end = low
                    while end < high and words[end, WORD_FORM] & UNKNOWN:
                        end += 1
                    if low == high:
                        break
                score, kind = verdict(book, lower, words, low, end, first, titled, asked, spelt)
                if kind == NAME:
                    kind = PLACED if around & BEFORE_PLACE else PERSON
                if titled or asked:
                    own = before if titled and low == 0 else words[low, WORD_START]
                    add(told, own, words[end - 1, WORD_END], kind, score)
                elif score / 100 >= floor:
                    add(found, words[low, WORD_START], words[end - 1, WORD_END], kind, score)
                low = end
        return found[1 : found[0, 0] + 1], told[1 : told[0, 0] + 1], left[1 : left[0, 0] + 1]

    return in_runs


in_runs = _in_runs_of(VERSION)

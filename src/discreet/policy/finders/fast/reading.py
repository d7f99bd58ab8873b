"""A page as the compiled finders see it, and what they find on it, for the rest of the policy.

Loading this takes about a second (numba), and some more where nothing was compiled yet; so a policy reads the beginning
of a stream without it.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from discreet.policy.finders import addresses, answers, keys, numbers, online, people
from discreet.policy.finders.chat import UNSURE
from discreet.policy.finders.fast.address_shapes import RUN, SURE, TRIMMED
from discreet.policy.finders.fast.addresses import address_places, said_places
from discreet.policy.finders.fast.compiled import Array, kept
from discreet.policy.finders.fast.findings import KINDS, SCORES, secrets
from discreet.policy.finders.fast.lines import in_lines
from discreet.policy.finders.fast.loading import VERSION
from discreet.policy.finders.fast.marks import (
    ANSWER,
    ASKING,
    KIND,
    KIND_NAMES,
    KNOWN,
    SAID_PHRASE,
    class_of,
    kinds_mask,
)
from discreet.policy.finders.fast.numbers import NOTHING, judged_numbers
from discreet.policy.finders.fast.runs import in_runs
from discreet.policy.finders.fast.scan import numbers_and_words
from discreet.policy.finders.fast.turns import NO_ONE, WALL, asked_before, short_replies
from discreet.policy.finders.fast.vocabulary import code_points, vocabulary
from discreet.policy.finders.page import WALL as BETWEEN_TEXTS
from discreet.policy.finders.page import Page
from discreet.text.records import Secret

LETTERS = 0x110000
"""So many code points there are."""
PERSON, ADDRESS = kinds_mask(["PERSON"]), kinds_mask(["ADDRESS"])

known_vocabulary = cache(vocabulary)
ABOUT_QUESTIONS = ANSWER | KIND | ASKING | SAID_PHRASE


class Masks(dict[frozenset[str], int]):
    """Sets of kinds as bits."""

    def __missing__(self, kinds: frozenset[str]) -> int:
        self[kinds] = found = kinds_mask(kinds)
        return found


class Sets(dict[int, frozenset[str]]):
    """Bits as sets of kinds."""

    def __missing__(self, mask: int) -> frozenset[str]:
        self[mask] = found = frozenset(kind for bit, kind in enumerate(KIND_NAMES) if mask >> bit & 1)
        return found


MASKS, SETS = Masks(), Sets()


@cache
def _classes() -> Array:
    """The classes of all characters that were met; 0 for the others."""
    return np.zeros(LETTERS, np.uint16)


def _strangers_of(version: int) -> Any:
    @kept
    def _strangers(classes: Array, letters: Array) -> Array:
        """The characters that have no class yet."""
        assert version
        found = np.empty(len(letters), np.uint32)
        count = 0
        for letter in letters:
            if classes[letter] == 0:
                classes[letter] = KNOWN
                found[count] = letter
                count += 1
        return found[:count]

    return _strangers


_strangers = _strangers_of(VERSION)


class Reading:
    """A page in code points; what is asked is written on the page for those who read it as text."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.book, self.questions, self.classes = known_vocabulary(), known_vocabulary(ABOUT_QUESTIONS), _classes()
        self.text, self.lower = code_points(page.text), code_points(page.lower)
        for letters in (self.text, self.lower):
            for letter in _strangers(self.classes, letters).tolist():
                self.classes[letter] = class_of(chr(letter))
        self.numbers, words = numbers_and_words(self.classes, self.text)
        page.long_words = {page.text[start:end] for start, end in words.tolist()}
        self._read_lines()

    def _read_lines(self) -> None:
        page, lines = self.page, self.page.lines
        self.starts = np.array([line[0] for line in lines], np.int64)
        self.ends = np.array([line[1] for line in lines], np.int64)
        self.in_order = not (self.ends[:-1] > self.starts[1:]).any()
        """Whether no turn reaches into the next."""
        numbers = {"": NO_ONE, BETWEEN_TEXTS: WALL}
        self.speakers = np.array([numbers.setdefault(line[2], len(numbers)) for line in lines], np.int64)
        asked, unsure = asked_before(self.questions, self.classes, self.lower, self.starts, self.ends, self.speakers)
        if len(unsure):
            known = [0]
            for line in unsure.tolist():
                start, end, speaker, _ = lines[line - 1]
                known.append(MASKS[page.asked_by(start, end, bool(speaker or lines[line][2]))])
            asked = np.where(asked < 0, np.array(known)[np.minimum(asked, 0) * -1], asked)
        for number, line in enumerate(lines):
            if line[3]:
                asked[number] |= MASKS[line[3]]
        self.asked = asked
        self.pieces = self._pieces()
        page.pieces = list(map(tuple, self.pieces.tolist()))
        page.asked = list(map(SETS.__getitem__, asked.tolist()))

    def _pieces(self) -> Array:
        """What `page.pieces` says."""
        spans = np.stack([self.starts, self.ends], 1)
        parts = np.array([part[:2] for part in self.page.parts], np.int64).reshape(-1, 2)
        if not self.page.dialog:
            return parts
        said = self.speakers > WALL
        walls = np.flatnonzero(self.speakers == WALL)
        before = np.concatenate([[0], np.cumsum(said)])
        silent = np.diff(before[walls], prepend=0) == 0
        spans[walls] = parts
        said[walls] = silent
        return spans[said]

    def ways(self) -> Iterator[Iterable[Secret]]:
        """What all finders find, one after the other."""
        yield online.find(self.page)
        yield keys.find(self.page)
        yield self.numbered()
        yield self.addresses()
        yield self.names()
        yield self.chat()

    def chat(self) -> Iterator[Secret]:
        """What `answers.find` finds."""
        page = self.page
        if not self.in_order:
            return answers.find(page)
        sure = page.floor > UNSURE
        found, left = in_lines(
            self.book,
            self.classes,
            self.text,
            self.lower,
            self.starts,
            self.ends,
            self.asked,
            PERSON,
            ADDRESS,
            sure,
        )
        chat = secrets(found)
        for line in left.tolist():
            chat += answers.with_questions(page, page.lines[line][0], page.lines[line][1], sure)
        return iter(chat)

    def numbered(self) -> Iterator[Secret]:
        """What `numbers.find` finds."""
        page = self.page
        if not self.in_order:
            yield from numbers.find(page)
            return
        personal = numbers.is_personal(page.lower)
        rows = judged_numbers(
            self.questions,
            self.classes,
            self.text,
            self.lower,
            self.numbers,
            self.starts,
            self.ends,
            self.asked,
            personal,
            page.floor,
        )
        done = 0
        for start, end, kind, score in rows.tolist():
            if start < done:
                continue
            if kind != NOTHING:
                yield Secret(start, end, KINDS[kind], SCORES[score])
                continue
            for secret in numbers.in_number(page, start, end, personal):
                done = max(done, secret.end)
                yield secret
        yield from numbers.births(page)

    def addresses(self) -> Iterator[Secret]:
        """What `addresses.find` finds."""
        page = self.page
        if not self.in_order:
            yield from addresses.find(page)
            return
        places = address_places(
            self.book,
            self.classes,
            self.text,
            self.lower,
            self.numbers,
            self.pieces,
            self.starts,
            self.ends,
            self.asked,
            ADDRESS,
            page.floor,
        )
        for start, end, sort in places.tolist():
            if sort == SURE:
                yield Secret(start, end, "ADDRESS", addresses.SURE)
            elif sort == TRIMMED:
                yield from addresses.judged(page, start, end)
            elif sort == RUN:
                yield from addresses.in_run(page, start, end)
            elif addresses.announced(page, start, True):
                yield Secret(start, end, "ADDRESS", addresses.ALONE)
        for start, end in said_places(self.questions, self.lower).tolist():
            yield from addresses.after_phrase(page, start, end)
        yield from addresses.corners(page)

    def names(self) -> Iterator[Secret]:
        """What `people.find` finds."""
        page = self.page
        found, told, left = in_runs(self.book, self.classes, self.text, self.lower, self._replies(), page.floor)
        yield from secrets(found)
        names = secrets(told)
        for start, end, asked, _ in left.tolist():
            for secret, sure in people.in_run(page, page.text[start:end], start, bool(asked)):
                if sure:
                    names.append(secret)
                else:
                    yield secret
        if names:
            yield from names
            yield from people.everywhere(page, names)

    def _replies(self) -> Array:
        """The short answers to questions about names."""
        page = self.page
        if not page.asks_names:
            return np.empty((0, 2), np.int64)
        if not self.in_order:
            return np.array(page.replies("PERSON"), np.int64).reshape(-1, 2)
        found, unsure = short_replies(
            self.questions, self.lower, self.starts, self.ends, self.speakers, self.asked, PERSON
        )
        replies: Array = found
        if len(unsure):
            several = list(map(tuple, found.tolist()))
            for line in unsure.tolist():
                several += page.replies_among(page.lines[line][0], page.lines[line][1], "PERSON")
            replies = np.array(sorted(several), np.int64).reshape(-1, 2)
        return replies

"""A page as the compiled finders see it, and what they find on it, for the rest of the policy.

Loading this takes about a second (numba), and some more where nothing was compiled yet; so a policy reads the beginning
of a stream without it.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from discreet.policy.finders import answers, people
from discreet.policy.finders.chat import UNSURE
from discreet.policy.finders.fast.compiled import VERSION, Array, kept
from discreet.policy.finders.fast.lines import in_lines
from discreet.policy.finders.fast.marks import KNOWN, class_of, kinds_mask
from discreet.policy.finders.fast.runs import in_runs
from discreet.policy.finders.fast.stretches import KINDS
from discreet.policy.finders.fast.vocabulary import code_points, vocabulary
from discreet.policy.finders.page import Page
from discreet.text.records import Secret

LETTERS = 0x110000
"""So many code points there are."""
SCORES = [hundredths / 100 for hundredths in range(101)]
PERSON, ADDRESS = kinds_mask(["PERSON"]), kinds_mask(["ADDRESS"])

known_vocabulary = cache(vocabulary)


class Masks(dict[frozenset[str], int]):
    """Sets of kinds as bits."""

    def __missing__(self, kinds: frozenset[str]) -> int:
        self[kinds] = found = kinds_mask(kinds)
        return found


MASKS = Masks()


@cache
def _classes() -> Array:
    """The classes of all characters that were met; 0 for the others."""
    return np.zeros(LETTERS, np.uint16)


def _strangers_of(version: int) -> Any:
    @kept  # type: ignore[untyped-decorator]
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
    """A page in code points."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.vocabulary = known_vocabulary()
        self.classes = _classes()
        self.text, self.lower = code_points(page.text), code_points(page.lower)
        for letters in (self.text, self.lower):
            for letter in _strangers(self.classes, letters).tolist():
                self.classes[letter] = class_of(chr(letter))

    def chat(self) -> Iterator[Secret]:
        """What `answers.find` finds."""
        page = self.page
        lines = page.lines
        starts = np.array([line[0] for line in lines], np.int64)
        ends = np.array([line[1] for line in lines], np.int64)
        if (ends[:-1] > starts[1:]).any():  # turns that overlap
            return answers.find(page)
        asked = np.array([MASKS[kinds] for kinds in page.asked], np.int64)
        sure = page.floor > UNSURE
        found, left = in_lines(
            self.vocabulary, self.classes, self.text, self.lower, starts, ends, asked, PERSON, ADDRESS, sure
        )
        secrets = _secrets(found)
        for line in left.tolist():
            secrets += answers.with_questions(page, lines[line][0], lines[line][1], sure)
        return iter(secrets)

    def names(self) -> Iterator[Secret]:
        """What `people.find` finds."""
        page = self.page
        replies = np.array(page.replies("PERSON") if page.asks_names else [], np.int64).reshape(-1, 2)
        found, told, left = in_runs(self.vocabulary, self.classes, self.text, self.lower, replies, page.floor)
        yield from _secrets(found)
        names = _secrets(told)
        for start, end, asked, _ in left.tolist():
            for secret, sure in people.in_run(page, page.text[start:end], start, bool(asked)):
                if sure:
                    names.append(secret)
                else:
                    yield secret
        if names:
            yield from names
            yield from people.everywhere(page, names)


def _secrets(found: Array) -> list[Secret]:
    return [Secret(start, end, KINDS[kind], SCORES[score]) for start, end, kind, score in found.tolist()]

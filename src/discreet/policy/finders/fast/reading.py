"""A page as the compiled finders see it, and what they find on it, for the rest of the policy.

Loading this takes about a second (numba), and some more where nothing was compiled yet; so a policy reads the beginning
of a stream without it.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from discreet.policy.finders import addresses, answers, doubts, keys, numbers, online, people
from discreet.policy.finders.chat import UNSURE
from discreet.policy.finders.fast import signs
from discreet.policy.finders.fast.address_shapes import AFTER_PHRASE, RUN, TRIMMED
from discreet.policy.finders.fast.addresses import address_places
from discreet.policy.finders.fast.compiled import Array, kept
from discreet.policy.finders.fast.findings import PARTS, secrets
from discreet.policy.finders.fast.lines import in_lines
from discreet.policy.finders.fast.loading import VERSION
from discreet.policy.finders.fast.marks import ABOUT_ADDRESSES, ABOUT_QUESTIONS, KNOWN, class_of, kinds_mask
from discreet.policy.finders.fast.numbers import judged_numbers
from discreet.policy.finders.fast.runs import in_runs
from discreet.policy.finders.fast.said import Said
from discreet.policy.finders.fast.scan import numbers_and_words
from discreet.policy.finders.fast.settling import secrets_of_texts
from discreet.policy.finders.fast.signs import matches_at
from discreet.policy.finders.fast.told import told_places
from discreet.policy.finders.fast.turns import short_replies
from discreet.policy.finders.fast.vocabulary import code_points, vocabulary
from discreet.policy.finders.page import Page
from discreet.text.records import Secret

LETTERS = 0x110000
"""So many code points there are."""
PERSON, ADDRESS, BIRTH = kinds_mask(["PERSON"]), kinds_mask(["ADDRESS"]), kinds_mask(["BIRTH"])
NO_ROWS = np.empty((0, PARTS), np.int64)

known_vocabulary = cache(vocabulary)
Way = tuple[Array, list[Secret]]
"""What one way of finding finds: rows with scores in hundredths, and what was left to the other finders."""


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
        self.signs = signs.signs_of(self.classes, self.text, self.lower)
        self.said = page.read = Said(page, self.questions, self.classes, self.text, self.lower)
        page.dialog = self.said.dialog

    def secrets_of_texts(self, threshold: float, kinds: Mapping[str, float]) -> list[tuple[Secret, ...]]:
        """What all find in each of the texts that reaches a threshold (of its kind, if that has one), merged."""
        sure, rest = [], []
        for rows, more in self.ways():
            sure.append(rows)
            rest += more
        if self.page.floor <= doubts.HIGHEST:
            rest += doubts.find(self.page)
        said = self.said
        return secrets_of_texts(sure, rest, threshold, kinds, said.part_starts, said.part_ends, len(self.text))

    def ways(self) -> Iterator[Way]:
        """What all finders find, one after the other."""
        yield NO_ROWS, self.online() + self.keys()
        yield self.numbered()
        yield self.addresses()
        yield self.names()
        yield self.chat()

    def online(self) -> list[Secret]:
        """What `online.find` finds."""
        page, there = self.page, self.signs
        text, lower = page.text, page.lower
        found = list(online.mail(text))
        if signs.BARE in there:
            found += online.joined(page, matches_at(online.BARE_END, lower, there[signs.BARE]))
        if signs.SPOKEN in there:
            found += online.spoken(lower)
        if signs.LINK in there:
            found += online.links(text, matches_at(online.LINK, text, there[signs.LINK]))
        if signs.HOST in there:
            found += online.hosts(lower, matches_at(online.HOST_END, lower, there[signs.HOST]))
        if signs.DOTTED in there:
            found += online.dotted(text, matches_at(online.DOTTED, text, there[signs.DOTTED]))
        if signs.COLONS in there:
            found += online.colons(text, matches_at(online.COLONS, text, there[signs.COLONS]))
        if signs.HYPHENS in there:
            found += online.hyphens(text, matches_at(online.HYPHENS, text, there[signs.HYPHENS]))
        return found

    def keys(self) -> list[Secret]:
        """What `keys.find` finds."""
        page, there = self.page, self.signs
        found = list(keys.private(page)) if signs.PRIVATE in there else []
        for word in page.long_words:
            found += keys.in_word(page.text, word)
        for at, _ in there.get(signs.PASSWORD, ()):
            found += keys.password(page.lower, at)
        return found

    def chat(self) -> Way:
        """What `answers.find` finds."""
        page, said = self.page, self.said
        if not said.in_order:
            return NO_ROWS, list(answers.find(page))
        sure = page.floor > UNSURE
        rows, left = in_lines(
            self.book,
            self.classes,
            self.text,
            self.lower,
            said.starts,
            said.ends,
            said.asks,
            PERSON,
            ADDRESS,
            sure,
        )
        found: list[Secret] = []
        for line in left.tolist():
            found += answers.with_questions(page, int(said.starts[line]), int(said.ends[line]), sure)
        return rows, found

    def numbered(self) -> Way:
        """What `numbers.find` finds."""
        page, said = self.page, self.said
        if not said.in_order:
            return NO_ROWS, list(numbers.find(page))
        personal = np.zeros(len(said.part_starts), np.bool_)
        places = self.signs.get(signs.PERSONAL, ())
        for at, _ in places:
            personal[bisect_right(page.part_starts, at) - 1] = True
        rows, left = judged_numbers(
            self.questions,
            self.classes,
            self.text,
            self.lower,
            self.numbers,
            said.starts,
            said.ends,
            said.asks,
            said.part_starts,
            personal,
            page.floor,
        )
        found: list[Secret] = []
        covered: list[int] = []
        done = 0
        for start, end, row, _ in left.tolist():
            if start >= done:
                for secret in numbers.in_number(page, start, end, bool(places)):
                    done = max(done, secret.end)
                    found.append(secret)
                while row < len(rows) and rows[row, 0] < done:
                    covered.append(row)
                    row += 1
        if covered:
            rows = np.delete(rows, covered, 0)
        if signs.BIRTH in self.signs:
            asked = np.flatnonzero(said.asks & BIRTH)
            lines = zip(said.starts[asked].tolist(), said.ends[asked].tolist(), strict=True)
            found += numbers.births_about(page, self.signs[signs.BIRTH], lines)
        return rows, found

    def addresses(self) -> Way:
        """What `addresses.find` finds."""
        page, said, there = self.page, self.said, self.signs
        if not said.in_order:
            return NO_ROWS, list(addresses.find(page))
        rows, left = address_places(
            known_vocabulary(ABOUT_ADDRESSES),
            self.classes,
            self.text,
            self.lower,
            self.numbers,
            said.spans,
            said.starts,
            said.ends,
            said.asks,
            ADDRESS,
            page.floor,
            np.array(there.get(signs.SAID, ()), np.int64).reshape(-1, 2),
        )
        found: list[Secret] = []
        for start, end, sort, _ in left.tolist():
            if sort == TRIMMED:
                found += addresses.judged(page, start, end)
            elif sort == RUN:
                found += addresses.in_run(page, start, end)
            elif sort == AFTER_PHRASE:
                found += addresses.after_phrase(page, start, end)
            elif addresses.announced(page, start, True):
                found.append(Secret(start, end, "ADDRESS", addresses.ALONE))
        if signs.CORNER in there:
            found += addresses.corners(page)
        return rows, found

    def names(self) -> Way:
        """What `people.find` finds."""
        page, said = self.page, self.said
        rows, told, left = in_runs(self.book, self.classes, self.text, self.lower, self._replies(), page.floor)
        found: list[Secret] = []
        names: list[Secret] = []
        for start, end, asked, _ in left.tolist():
            for secret, sure in people.in_run(page, page.text[start:end], start, bool(asked)):
                (names if sure else found).append(secret)
        if names:
            names += secrets(told)
        elif len(told):
            places, done = told_places(
                self.book, self.classes, self.text, self.lower, told, said.part_starts, said.part_ends
            )
            names = [] if done.all() else secrets(told[~done])
            rows = np.concatenate([rows, told[done], places])
        if names:
            found += names
            found += people.everywhere(page, names)
        return rows, found

    def _replies(self) -> Array:
        """The short answers to questions about names."""
        page, said = self.page, self.said
        if not page.asks_names:
            return np.empty((0, 2), np.int64)
        if not said.in_order:
            return np.array(page.replies("PERSON"), np.int64).reshape(-1, 2)
        found, unsure = short_replies(
            self.questions, self.lower, said.starts, said.ends, said.speakers, said.asks, PERSON
        )
        replies: Array = found
        if len(unsure):
            several = list(map(tuple, found.tolist()))
            for line in unsure.tolist():
                several += page.replies_among(int(said.starts[line]), int(said.ends[line]), "PERSON")
            replies = np.array(sorted(several), np.int64).reshape(-1, 2)
        return replies

r"""Chat without capitals and punctuation: introductions, bare answers, codes with spaces, addresses in lower case.

    >>> from discreet.policy.finders.page import Page
    >>> text = "my name is harris i live at 22 elm st\nhfb 756\nyes please"
    >>> sorted({text[s.start : s.end] for s in find(Page(text)) if s.score >= 0.5})
    ['22 elm st', 'harris', 'hfb 756']

Only stretches without capitals (but for the first letter and `I`) are looked at. A word is *strange* when it is no
ordinary word, not even with a slip of the keyboard. A stretch of hardly anything but strange words and numbers is the
answer to a question, whether the question is there or not; strange words in a sentence are secret only where something
announces them.
"""

import re
from collections.abc import Iterator
from functools import cache

from discreet.policy.customersim import NO_NAMES
from discreet.policy.finders.chat import TOO_COMMON, UNSURE
from discreet.policy.finders.page import Page
from discreet.policy.finders.stretches import of_stretch
from discreet.policy.lists import given, ordinary
from discreet.text.records import Secret

CAPITAL = re.compile(r"[A-ZÀ-ÖØ-ÞΑ-ΩА-Я](?:(?<!I)|(?=[^\W_])|(?<=[^\W_]I))")
"""A capital that is not the word I; a pattern that begins with a class is searched for much faster than a choice."""
PLAIN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
ASKED = frozenset({"PERSON", "ADDRESS"})


def find(page: Page) -> Iterator[Secret]:
    text, lower = page.text, page.lower
    known, names, asks = ordinary(), _names_too(), page.asks_names
    sure = page.floor > UNSURE
    for (start, end, _, _), asked in zip(page.lines, page.asked, strict=True):
        if CAPITAL.search(text, start + 1, end):
            continue
        words = PLAIN.findall(lower, start, end)
        if known.issuperset(words) and (
            len(words) > 4
            or NO_NAMES.issuperset(words)
            or (names.isdisjoint(words) and not (asks and "PERSON" in page.asked_at(start)))
        ):
            continue
        if text.find("?", start, end) < 0:
            for first, last, kind, score in of_stretch(lower[start:end], asked & ASKED, sure):
                yield Secret(start + first, start + last, kind, score)
            continue
        at = start
        while at < end:
            stretch = page.stretch_at(at)
            begin = max(at, stretch.start)
            for first, last, kind, score in of_stretch(lower[begin : stretch.end], stretch.asked & ASKED, sure):
                yield Secret(begin + first, begin + last, kind, score)
            at = max(stretch.end, at + 1)


@cache
def _names_too() -> frozenset[str]:
    """Ordinary words that are given names."""
    return (given() & ordinary()) - TOO_COMMON

r"""What a careful reader would stop at: every number, every word that is not plainly ordinary, every capital inside a
sentence. For conservative policies only; the scores are low.

    >>> from discreet.policy.finders.page import Page
    >>> text = "Meet at the old Mill, 2nd door, right of the gate where the road turns, ask for zork."
    >>> [text[s.start : s.end] for s in find(Page(text))]
    ['Mill', '2nd', 'zork']

In a line that is short enough to be an answer it also stops at family names that are ordinary words (`smith`), at a
short word beside a number (`fly 321`), and at what stands between two words it stopped at.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from discreet.policy.finders.asking import KINDS_OF
from discreet.policy.finders.chat import LITTLE, LONGEST_ANSWER
from discreet.policy.finders.names import begins_sentence
from discreet.policy.finders.page import ANSWER_WORDS, WALL, Page
from discreet.policy.lists import family, given, ordinary
from discreet.text.records import Secret

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
HIGHEST = 0.2
"""No score here is higher."""


STOP = re.compile(r"[^\w\s'’-]")
LONGEST_LINE = 120
LONGEST_NAME = 4
"""In a line of no more words, a family name counts whatever else it is."""
LONGEST_GAP = 3
FRAME = ANSWER_WORDS | LITTLE | frozenset(KINDS_OF)
"""Words that stand beside numbers and are not part of a code."""


def find(page: Page) -> Iterator[Secret]:
    yield from _unusual(page)
    for start, end, speaker, _ in page.lines:
        if speaker != WALL and end - start <= LONGEST_LINE:
            yield from _in_answer(page.lower, start, end)


def _in_answer(lower: str, start: int, end: int) -> Iterator[Secret]:
    words = list(WORD.finditer(lower, start, end))
    if len(words) > LONGEST_ANSWER:
        return

    def together(one: int, other: int) -> bool:
        return not STOP.search(lower, words[one].end(), words[other].start())

    numbers = {at for at, word in enumerate(words) if any(map(str.isdigit, word[0]))}
    odd = {at for at, word in enumerate(words) if word[0] not in ordinary()} | numbers
    for one, other in pairwise(range(len(words))):
        if (one in numbers) != (other in numbers) and together(one, other):
            at = other if one in numbers else one
            if len(words[at][0]) <= 3 and words[at][0] not in FRAME:
                odd.add(at)
    if len(words) <= LONGEST_NAME:
        odd |= {at for at, word in enumerate(words) if word[0] in family() and word[0] not in FRAME}
    for at in odd - numbers:
        yield Secret(*words[at].span(), "WORD", 0.12)
    for one, other in pairwise(sorted(odd)):
        if other - one <= LONGEST_GAP and together(one, other):
            yield Secret(words[one].start(), words[other].end(), "WORD", 0.12)


def _unusual(page: Page) -> Iterator[Secret]:
    known, names = ordinary(), given()
    for match in WORD.finditer(page.text):
        word = match[0]
        low = word.lower()
        if low[0].isdigit() or any(map(str.isdigit, low)):
            yield Secret(*match.span(), "NUMBER", 0.15)
        elif low not in known and low.partition("'")[0] not in known:
            yield Secret(*match.span(), "WORD", 0.2)
        elif word[0].isupper() and word != "I" and not begins_sentence(page.text, match.start()):
            yield Secret(*match.span(), "WORD", 0.15)
        elif low in names and len(low) > 3:
            yield Secret(*match.span(), "WORD", 0.12)

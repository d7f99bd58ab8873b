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
from collections.abc import Iterator, Sequence

from discreet.policy.finders.chat import UNSURE
from discreet.policy.finders.page import Page
from discreet.policy.finders.shapes import dull, of_line, of_shape, shapes
from discreet.policy.finders.stretches import TOKEN, Found
from discreet.text.records import Secret

SHOWY = re.compile("[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]")
CAPITAL = re.compile(rf"{SHOWY.pattern}(?:(?<!I)|(?=[^\W_])|(?<=[^\W_]I))")
"""A capital that is not the word I; a pattern that begins with a class is searched for much faster than a choice."""
ASKED = frozenset({"PERSON", "ADDRESS"})


def find(page: Page) -> Iterator[Secret]:
    text, lower = page.text, page.lower
    sure = page.floor > UNSURE
    lines: list[tuple[int, int, frozenset[str]]] = []
    pieces: list[str] = []
    for (start, end, _, _), asked in zip(page.lines, page.asked, strict=True):
        if text[start + 1 : end] == lower[start + 1 : end] or not CAPITAL.search(text, start + 1, end):
            lines.append((start, end, asked & ASKED if asked else asked))
            pieces.append(lower[start:end])
    for shape, piece, (start, end, asked) in zip(shapes(pieces), pieces, lines, strict=True):
        if "?" in piece:
            if not dull(shape, asked):
                yield from with_questions(page, start, end, sure)
        elif found := of_line(shape, asked, sure):
            yield from _in_text(found, lower, start, end, len(shape))


def _in_text(found: Sequence[Found], lower: str, start: int, end: int, words: int) -> Iterator[Secret]:
    """What was found in words, in characters."""
    if found[0][:2] == (0, words) and len(found) == 1 and lower[start].isalnum() and lower[end - 1].isalnum():
        yield Secret(start, end, found[0][2], found[0][3])
        return
    edges = [match.span() for match in TOKEN.finditer(lower, start, end)]
    for first, last, kind, score in found:
        yield Secret(edges[first][0], edges[last - 1][1], kind, score)


def with_questions(page: Page, start: int, end: int, sure: bool) -> Iterator[Secret]:
    """The stretches of a line one by one."""
    at = start
    while at < end:
        stretch = page.stretch_at(at)
        begin = max(at, stretch.start)
        shape = shapes([page.lower[begin : stretch.end]])[0]
        if found := of_shape(shape, stretch.asked & ASKED, sure):
            yield from _in_text(found, page.lower, begin, stretch.end, len(shape))
        at = max(stretch.end, at + 1)

r"""Names of people and places in text with capitals.

    >>> from discreet.policy.finders.page import Page
    >>> text = "Yesterday Ann van Dyke met Mr. Rose in Trondheim."
    >>> [(text[s.start : s.end], s.kind) for s in sorted(find(Page(text))) if s.score >= 0.5]
    [('Ann van Dyke', 'PERSON'), ('Mr. Rose', 'PERSON'), ('Trondheim', 'PLACE')]

What of a run of capitalised words is a name, `finders.names` says; here is what stands around it: a title, a question
about a name. A name that someone gave when asked is found everywhere in the text.
"""

import sys
from collections.abc import Iterator, Sequence

from discreet.policy.finders.names import ASCII_RUN, HONORIFICS, HOPES, RUN, WORDS, begins_sentence, guesses, is_unknown
from discreet.policy.finders.page import Page
from discreet.text.records import Secret

BEFORE_PLACE = frozenset(("in", "at", "from", "to", "near", "visit", "visiting"))
TITLE_ENDS = frozenset(f" {title} "[-3:] for title in HONORIFICS)
"""The last characters of a title and the space after it: a look at them spares a look at the whole word."""
NEVER = (sys.maxsize, sys.maxsize)


def find(page: Page) -> Iterator[Secret]:
    text = page.text
    told: list[Secret] = []
    replies = iter(page.replies("PERSON") if page.asks_names else ())
    begin, end = next(replies, NEVER)
    for run in (ASCII_RUN if text.isascii() else RUN).finditer(text):
        start = run.start()
        while end <= start:
            begin, end = next(replies, NEVER)
        for secret, sure in in_run(page, run[0], start, begin <= start):
            if sure:
                told.append(secret)
            else:
                yield secret
    if told:
        yield from told
        yield from everywhere(page, told)


def in_run(page: Page, name: str, start: int, asked: bool) -> list[tuple[Secret, bool]]:
    """What of a run that begins at a place may be names, and whether a title or a question says so."""
    most = HOPES[name]
    if most < 0:
        return []
    lower, floor = page.lower, page.floor
    titled = lower[start - 3 : start] in TITLE_ENDS and _word_before(lower, start) in HONORIFICS
    told = asked or titled
    if most < floor and not told:
        return []
    found: list[tuple[Secret, bool]] = []
    for low, high, score, kind in guesses(name, begins_sentence(page.text, start), titled, asked):
        if kind == "NAME":
            kind = "PLACE" if _word_before(lower, start) in BEFORE_PLACE else "PERSON"
        if told:
            title = len(_word_before(lower, start)) + 1 if titled and not low else 0
            found.append((Secret(start + low - title, start + high, kind, score), True))
        elif score >= floor:
            found.append((Secret(start + low, start + high, kind, score), False))
    return found


def _word_before(lower: str, start: int) -> str:
    """The word, of no more than ten letters, that stands before a place and a space."""
    before = lower[max(0, start - 12) : start]
    return before[max(before.rfind(" ", 0, -1), before.rfind("\n", 0, -1)) + 1 : -1] if before[-1:] == " " else ""


def everywhere(page: Page, names: Sequence[Secret]) -> Iterator[Secret]:
    """Every other place of its text where a name that was told, or a word of it that is not ordinary, stands."""
    known = {name.start for name in names}
    values: dict[tuple[str, int], float] = {}
    ends: dict[int, int] = {}
    for name in names:
        value, part = page.text[name.start : name.end], page.part_at(name.start)
        ends[part.start] = part.end
        for word in (value, *[one for one in WORDS.findall(value) if is_unknown(one.lower().replace("’", "'"))]):
            if len(word) > 2:
                key = word, part.start
                values[key] = max(name.score - 0.05, values.get(key, 0))
    for (value, begin), score in values.items():
        at = page.text.find(value, begin, ends[begin])
        while at >= 0:
            end = at + len(value)
            whole = not page.text[at - 1 : at].isalnum() and not page.text[end : end + 1].isalnum()
            if whole and at not in known:
                yield Secret(at, end, "PERSON", score)
            at = page.text.find(value, end, ends[begin])

r"""The secrets of a stretch in lower case: introductions, codes with spaces, addresses, bare answers, strange names.

>>> text = "call me harris"
>>> [(text[s.start : s.end], s.kind) for s in of_stretch(text, frozenset(), sure=True)]
[('harris', 'PERSON')]

A stretch is a list of words here, beside it a string with the sort of each, `o`, `n` or `s`: ordinary, a number,
strange. `tests/policy/obvious_stretches.py` says the same in more words.
"""

import re
from collections.abc import Iterator, Sequence

from discreet.policy.customersim import NO_NAMES
from discreet.policy.finders.asking import ANNOUNCING
from discreet.policy.finders.chat import (
    ABOUT_ADDRESSES,
    ADDRESS_WORDS,
    BEGINNINGS,
    CUES,
    LONGEST_ANSWER,
    NUMBER,
    NUMBER_WORDS,
    ORDINARY,
    SHORTEST_CODE,
    SORTS,
    STRANGE,
    SURE,
    SURE_CUES,
    TOO_COMMON,
    UNIT_WORDS,
    UNSURE,
    code_like,
    may_be_bare,
    may_be_code,
    may_hold_names,
    may_introduce,
)
from discreet.policy.finders.page import ANSWER_WORDS
from discreet.policy.lists import family, given, places
from discreet.text.records import Secret

TOKEN = re.compile(r"[^\W_]+(?:['’@.][^\W_]+)*")
PLAIN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
"""Words as dictionaries have them: a token is one or more of these."""
HAS_DIGIT = re.compile(r"\d|[^\x00-\x7f]").search
"""A digit, or a letter that may be one in another script."""
STRANGE_RUN = re.compile(f"{STRANGE}+")
LONGEST_NAME = 4
FARTHEST_IN_ADDRESS = 3

Found = tuple[int, int, str, float]
"""Which words are secret (the first, and the one after the last), their kind and the score."""


def of_stretch(text: str, asked: frozenset[str], sure: bool = False) -> list[Secret]:
    """The secrets of a stretch in lower case, given what was asked for; if `sure`, without those that are UNSURE."""
    edges = [match.span() for match in TOKEN.finditer(text)]
    found = of_words([text[start:end] for start, end in edges], asked, sure)
    return [Secret(edges[first][0], edges[last - 1][1], kind, score) for first, last, kind, score in found]


def of_words(texts: Sequence[str], asked: frozenset[str], sure: bool = False) -> tuple[Found, ...]:
    """The secrets among the words of a stretch, each once and with its highest score.

    Most stretches are sentences with a slip or two in them, so words are looked up all at once and looked at one by one
    only where one of the ways to find something could succeed.
    """
    sorts = "".join(map(SORTS.__getitem__, texts))
    strange = STRANGE in sorts
    digits = any(map(HAS_DIGIT, texts))
    rest = [at for at, word in enumerate(texts) if word not in ANSWER_WORDS]
    found: list[Found] = []
    if may_introduce(texts):
        found += _introductions(texts, sorts)
    if digits and may_be_code(texts, sorts):
        found += _codes(texts, sorts, rest)
    if (strange or digits) and ("ADDRESS" in asked or not ABOUT_ADDRESSES.isdisjoint(texts)):
        found += _addresses(texts, sorts, asked)
    if may_be_bare([texts[at] for at in rest], "".join([sorts[at] for at in rest]), asked):
        found += _bare(texts, sorts, rest, asked)
    if strange and (not sure or may_hold_names(texts, sorts)):
        found += _in_sentence(texts, sorts)
    if len(found) < 2:
        return tuple(found)
    highest: dict[tuple[int, int, str], float] = {}
    for first, last, kind, score in found:
        if score > highest.get((first, last, kind), 0):
            highest[first, last, kind] = score
    return tuple([(*span, score) for span, score in highest.items()])


def _introductions(texts: Sequence[str], sorts: str) -> Iterator[Found]:
    """Names after `my name is`, `this is`, `i am`."""
    for at, text in enumerate(texts):
        for phrase in BEGINNINGS.get(text, ()):
            begin = at + len(phrase)
            if tuple(texts[at:begin]) == phrase:
                end = begin
                while end < min(len(texts), begin + LONGEST_NAME) and _may_be_name(
                    texts[end], sorts[end], phrase in SURE, end == begin
                ):
                    end += 1
                if end > begin:
                    yield begin, end, "PERSON", 0.8
                break


def _may_be_name(text: str, sort: str, sure: bool, first: bool) -> bool:
    if sort == NUMBER or text in ANNOUNCING or text in NO_NAMES or text in ANSWER_WORDS:
        return False
    if sort == STRANGE or (text in given() and text not in TOO_COMMON):
        return True
    return sure and (first or text in family())


def _codes(texts: Sequence[str], sorts: str, rest: Sequence[int]) -> Iterator[Found]:
    """Letters and digits with spaces between them, `w 2 f 4 j 1`."""
    last_word = len(texts) - 1
    coded = [
        at for at, (text, sort) in enumerate(zip(texts, sorts, strict=True))
        if sort == NUMBER or code_like(text, sort == STRANGE)
    ]  # fmt: skip
    for run in _near(coded, 1):
        first, last = run[0], run[-1]
        whole = bool(rest) and first <= rest[0] and last >= rest[-1]
        while first <= last and sorts[first] != NUMBER and _frames(texts, sorts, first, whole):
            first += 1
        while last >= first and sorts[last] == ORDINARY and last != last_word:
            last -= 1
        part = texts[first : last + 1]
        letters = sum([len(text) for text, sort in zip(part, sorts[first:], strict=False) if sort != NUMBER])
        digits = sum(map(str.isdigit, "".join(part)))
        if not digits or not letters or letters + digits < SHORTEST_CODE or part[-1] in UNIT_WORDS:
            continue
        announced = _code_before(texts, first)
        odd = all(sort != ORDINARY or len(text) == 1 for text, sort in zip(part, sorts[first:], strict=False))
        if whole or announced or odd:
            yield first, last + 1, "REFERENCE", 0.7 if whole or announced else 0.55


def _frames(texts: Sequence[str], sorts: str, at: int, whole: bool) -> bool:
    """Whether a short word at the beginning of a code is about the code and not part of it."""
    if texts[at] in ANSWER_WORDS or texts[at] in ANNOUNCING:
        return True
    return sorts[at] != STRANGE and not whole and not _code_before(texts, at)


def _code_before(texts: Sequence[str], at: int) -> bool:
    return at > 0 and texts[at - 1] in NUMBER_WORDS


def _addresses(texts: Sequence[str], sorts: str, asked: frozenset[str]) -> Iterator[Found]:
    """From the first number or strange word to the last, around a word for streets, or after `address`."""
    said = -1 if ADDRESS_WORDS.isdisjoint(texts) else next(at for at, text in enumerate(texts) if text in ADDRESS_WORDS)
    expected = said >= 0 or "ADDRESS" in asked
    marks = [at for at in range(said + 1, len(texts)) if sorts[at] != ORDINARY or texts[at] in CUES]
    if sorts.count(ORDINARY, said + 1) == len(sorts) - said - 1:
        return
    if not expected:
        cues = CUES.intersection(texts)
        if not (cues and STRANGE in sorts) and SURE_CUES.isdisjoint(cues):
            return
    walls = [at for at, text in enumerate(texts) if text in ANNOUNCING and text not in CUES]
    for run in _near(marks, FARTHEST_IN_ADDRESS, walls):
        first, end = run[0], run[-1] + 1
        if end - first < 2 or sorts.count(ORDINARY, first, end) == end - first:
            continue
        if expected or not CUES.isdisjoint(texts[first:end]):
            yield first, end, "ADDRESS", 0.7


def _near(places_: Sequence[int], gap: int, walls: Sequence[int] = ()) -> Iterator[list[int]]:
    """Places with no more than so many between them, and no wall."""
    run: list[int] = []
    for at in places_:
        if run and (at - run[-1] > gap or (walls and any(run[-1] < wall < at for wall in walls))):
            yield run
            run = []
        run.append(at)
    if run:
        yield run


def _bare(texts: Sequence[str], sorts: str, rest: Sequence[int], asked: frozenset[str]) -> Iterator[Found]:
    """A stretch that is hardly anything but strange words and numbers."""
    if not 0 < len(rest) <= LONGEST_ANSWER:
        return
    words = [texts[at] for at in rest]
    own = "".join([sorts[at] for at in rest])
    if STRANGE in own and (len(own) - own.count(ORDINARY)) * 2 >= len(own):
        named = [at for at, word in enumerate(words) if own[at] != ORDINARY or _could_be_name(word)]
        for run in _near(named, 2 if NUMBER in own else 1):
            first, end = run[0], run[-1] + 1
            if STRANGE in own[first:end] and ANNOUNCING.isdisjoint(words[first:end]):
                kind = "ADDRESS" if end - first > 3 or NUMBER in own[first:end] else "PERSON"
                yield rest[first], rest[end - 1] + 1, kind, 0.65
            else:
                for at in range(first, end):
                    if own[at] == STRANGE:
                        yield rest[at], rest[at] + 1, "PERSON", 0.6
    elif len(rest) <= 3 and NUMBER not in own:
        known = len(rest) <= 2 and any(word in given() and word not in TOO_COMMON for word in words)
        if (known and all(map(_could_be_name, words))) or (
            "PERSON" in asked and NO_NAMES.isdisjoint(words) and ANNOUNCING.isdisjoint(words)
        ):
            yield rest[0], rest[-1] + 1, "PERSON", 0.55


def _could_be_name(word: str) -> bool:
    """Names that are ordinary words too."""
    return (word in given() or word in family()) and word not in TOO_COMMON and word not in NO_NAMES


def _in_sentence(texts: Sequence[str], sorts: str) -> Iterator[Found]:
    """Strange words in a longer sentence: given names and runs of strange words."""
    for run in STRANGE_RUN.finditer(sorts):
        first, end = run.span()
        words = texts[first:end]
        known = not given().isdisjoint(words)
        kind = "PERSON" if places().isdisjoint(words) else "PLACE"
        yield first, end, kind, 0.6 if known else 0.5 if end - first > 1 else UNSURE

"""The parts of a record that are compared with those of others: its sentences, its turns, or all of it.

    >>> from discreet.text.records import Record
    >>> [(part.start, part.end) for part in parts(Record(id="1", text="Hi Ann. How are you?"), "sentence")]
    [(0, 7), (8, 20)]
    >>> normalised("  How ARE\\tyou? ")
    'how are you?'

Sentences are found by punctuation: a full stop, question or exclamation mark (with closing quotes and brackets) before
white space, unless a small letter follows or the word is an initial or a common abbreviation; a line end always ends
one. That is rough, and public: it looks at the record alone. In a dialog sentences are those of the turns; the names of
the speakers belong to none. A record without turns counts as one turn.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from discreet.errors import SettingError
from discreet.registry import nearest
from discreet.text.records import Record

LEVELS = ("sentence", "turn", "record")
TITLES = ("mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "inc", "ltd", "co", "corp", "dept")
SHORT = ("vs", "etc", "e.g", "i.e", "cf", "no", "nos", "vol", "fig", "approx", "est")
MONTHS = ("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec")
ABBREVIATIONS = frozenset((*TITLES, *SHORT, *MONTHS))
_END = re.compile(r"\n|[.!?…]+[\"'”’)\]]*(?=\s)|。")
_LAST_WORD = re.compile(r"[^\W\d_][\w.]*$")


class Part(NamedTuple):
    """Characters of a record's text that are compared as one."""

    start: int
    end: int


def check_level(level: str) -> str:
    if level not in LEVELS:
        raise SettingError(f"The level '{level}' is not known; {nearest(level, LEVELS)}")
    return level


def parts(record: Record, level: str) -> list[Part]:
    """The parts of a record's text, in order, each with something in it besides white space."""
    text = record.text
    if level == "record":
        found = [Part(0, len(text))]
    elif not record.turns:
        found = [Part(0, len(text))] if level == "turn" else sentences(text, 0, len(text))
    elif level == "turn":
        found = [Part(turn.start, turn.end) for turn in record.turns]
    else:
        found = [part for turn in record.turns for part in sentences(text, turn.start, turn.end)]
    return [part for part in found if not text[part.start : part.end].isspace() and part.end > part.start]


def sentences(text: str, start: int, end: int) -> list[Part]:
    """The sentences between two characters of a text, without the white space around them."""
    return [part for begin, stop in _stretches(text, start, end) if (part := _stripped(text, begin, stop))]


def normalised(text: str) -> str:
    """What is compared: composed characters, any white space as one space, case ignored."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split()).casefold()


def _stretches(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    begin = start
    for match in _END.finditer(text, start, end):
        if text[match.start()] == "." and _goes_on(text, begin, match.start(), match.end(), end):
            continue
        yield begin, match.end()
        begin = match.end()
    yield begin, end


def _goes_on(text: str, begin: int, dot: int, after: int, end: int) -> bool:
    """Whether the full stop does not end the sentence."""
    following = text[after : min(after + 40, end)].lstrip(" \t\"'“‘([")
    if following[:1].islower():
        return True
    word = _LAST_WORD.search(text[max(begin, dot - 12) : dot])
    return word is not None and (len(word[0]) == 1 or word[0].lower() in ABBREVIATIONS)


def _stripped(text: str, start: int, end: int) -> Part | None:
    piece = text[start:end]
    bare = piece.strip()
    if not bare:
        return None
    start += len(piece) - len(piece.lstrip())
    return Part(start, start + len(bare))

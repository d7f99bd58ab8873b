"""One JSON value too large to hold, read member by member.

Public corpora are often a single JSON file of hundreds of megabytes: MultiWOZ's `data.json` is one object with a
member per dialog, ABCD's is one object of three long lists.

    for (name,), dialog in members(Path("data.json")): ...
    for (split, number), dialog in members(Path("abcd_v1.1.json"), depth=2): ...

Only the member at hand is in memory. Every walk decodes the file from its beginning.
"""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from discreet.errors import InputError
from discreet.text.corpora.layout import source_of
from discreet.text.formats.decoding import opened

Keys = tuple[str | int, ...]
CHUNK = 1 << 20
CLOSING = {"{": "}", "[": "]"}
AFTER_VALUE = frozenset(",:]} \t\r\n")


def members(path: Path, depth: int = 1) -> Iterator[tuple[Keys, Any]]:
    """The values that lie `depth` objects or lists deep, each with the keys and positions that lead to it."""
    try:
        with opened(source_of(path)) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig") as text:
            yield from _members(_Window(text), depth, ())
    except ValueError:  # broken JSON or broken UTF-8
        raise InputError(f"{path}: not one whole JSON value; get the file again from its source.") from None


class _Window:
    """A stretch of the text, moved along as values are taken from its beginning."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream, self.text, self.at = stream, "", 0
        self.decode = json.JSONDecoder().raw_decode

    def more(self) -> bool:
        """Reads as much again as is at hand, so that a long value is tried only a few times."""
        rest = self.text[self.at :]
        chunk = self.stream.read(max(CHUNK, len(rest)))
        self.text, self.at = rest + chunk, 0
        return bool(chunk)

    def peek(self) -> str:
        """The next character that is not space; empty at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at].isspace():
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def take(self, wanted: str) -> str:
        mark = self.peek()
        if not mark or mark not in wanted:
            raise ValueError("another character was expected")
        self.at += 1
        return mark

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = self.decode(self.text, self.at)
            except json.JSONDecodeError:
                if not self.more():
                    raise
                continue
            if self.text[end : end + 1] not in AFTER_VALUE and self.more():
                continue  # half a number is a number too: 1 of 1.5 at the edge
            self.at = end
            return value


def _members(window: _Window, depth: int, keys: Keys) -> Iterator[tuple[Keys, Any]]:
    if depth == 0:
        yield keys, window.value()
        return
    opening = window.take("{[")
    closing = CLOSING[opening]
    if window.peek() == closing:
        window.take(closing)
        return
    number = 0
    while True:
        key: str | int = number
        if opening == "{":
            key = window.value()
            window.take(":")
        yield from _members(window, depth - 1, (*keys, key))
        number += 1
        if window.take("," + closing) == closing:
            return

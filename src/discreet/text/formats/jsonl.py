"""JSON lines: one object a line, any fields, nested values kept.

Numbers beyond 64 bits come back as floating point (orjson's rule); keep such things as strings.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import date, time
from decimal import Decimal
from itertools import islice
from typing import IO, Any

import orjson

from discreet.errors import InputError
from discreet.text.formats.contract import FORMATS, Bad, Format, Row, Source, Target
from discreet.text.formats.decoding import byte_lines, line_encoding, wrong_encoding

CHUNK = 256
"""Rows handed to the (perhaps compressed) output at once."""


class JsonLines(Format):
    """`.jsonl` files; the usual choice, because it keeps everything."""

    suffixes = (".jsonl", ".ndjson")

    def rows(self, source: Source) -> Iterator[tuple[int, Row | Bad]]:
        return rows_of_lines(byte_lines(source), line_encoding(source))

    def write(self, out: IO[bytes], rows: Iterator[Row], target: Target) -> None:
        dumps, newline = orjson.dumps, orjson.OPT_APPEND_NEWLINE
        try:
            while chunk := [dumps(row, plain, newline) for row in islice(rows, CHUNK)]:
                out.write(b"".join(chunk))
        except orjson.JSONEncodeError:
            raise InputError(
                f"{target.path}: a record holds what JSON cannot (bytes, half a surrogate pair, keys that are no "
                "strings); write to a .parquet file, or leave that field out."
            ) from None


FORMATS.register("jsonl")(JsonLines())


def rows_of_lines(lines: Iterable[bytes], encoding: str, first: int = 1) -> Iterator[tuple[int, Row | Bad]]:
    """The rows of some lines of a file, the first of which has this number."""
    loads = orjson.loads if encoding == "utf-8" else lambda line: orjson.loads(line.decode(encoding))
    for number, line in enumerate(lines, first):
        try:
            row = loads(line)
        except ValueError as error:  # malformed JSON or, below it, bytes in another encoding
            if line.strip():
                yield number, _wrong(line, encoding, error)
            continue
        yield number, row if row.__class__ is dict else Bad("not an object", _NOT_AN_OBJECT)


_NOT_AN_OBJECT = 'the line holds JSON but no object; write each record as {"text": …} on a line of its own.'


def as_json(value: Any) -> str:
    """A nested value as JSON text, for formats whose cells are flat."""
    return orjson.dumps(value, plain).decode()


def plain(value: Any) -> Any:
    """What JSON can say of the values a table may hold besides its own."""
    if isinstance(value, Decimal | date | time):  # also subclasses, which orjson leaves to us
        return value.isoformat() if not isinstance(value, Decimal) else str(value)
    raise TypeError


def _wrong(line: bytes, encoding: str, error: ValueError) -> Bad:
    try:
        line.decode(encoding)
    except UnicodeDecodeError as wrong:
        return wrong_encoding(wrong, line, encoding)
    column = f" at column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
    if b"\0" in line:
        return Bad("malformed JSON", f"not JSON{column}: it holds zero bytes; perhaps read it with --encoding utf-16.")
    if "surrogate" in str(error):
        return Bad("malformed JSON", f"half a surrogate pair{column}, which is no character; replace it in the file.")
    return Bad(
        "malformed JSON", f"not JSON{column} ({_reason(error)}); correct the line, or skip it with --on-bad skip."
    )


def _reason(error: ValueError) -> str:
    """The parser's reason, which never quotes the line."""
    return error.msg.split(":")[0] if isinstance(error, json.JSONDecodeError) else "unreadable"

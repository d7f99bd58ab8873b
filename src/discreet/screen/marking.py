"""What marking and unmarking do to the marks of a record; plain functions over sorted marks that do not overlap.

    >>> marks = mark((), Mark(0, 5, 8, "PERSON"))
    >>> mark(marks, Mark(0, 5, 14, "PERSON"))
    (Mark(part=0, start=5, end=14, kind='PERSON'),)

A new mark and those it shares a character with become one that covers them all, with the kind of the new: marking never
uncovers a character. To make a mark smaller, take it away and mark again.
"""

from collections.abc import Sequence
from typing import NamedTuple

from discreet.errors import InputError
from discreet.text.records import Record, Secret


class Mark(NamedTuple):
    """A secret of one of a record's texts: part 0 is the text, part 1 the pair text. In characters."""

    part: int
    start: int
    end: int
    kind: str


Marks = tuple[Mark, ...]


def texts_of(record: Record) -> tuple[str, ...]:
    """The texts of a record that are screened."""
    return (record.text,) if record.pair is None else (record.text, record.pair)


def mark(marks: Marks, new: Mark) -> Marks:
    """The marks with one more."""
    touched = [old for old in marks if old.part == new.part and old.start < new.end and new.start < old.end]
    start = min([new.start, *(old.start for old in touched)])
    end = max([new.end, *(old.end for old in touched)])
    return tuple(sorted([*(old for old in marks if old not in touched), Mark(new.part, start, end, new.kind)]))


def unmark(marks: Marks, part: int, start: int, end: int) -> Marks:
    """The marks without the one at this very place."""
    left = tuple(old for old in marks if (old.part, old.start, old.end) != (part, start, end))
    if len(left) == len(marks):
        raise InputError("There is no such mark; load the page again.")
    return left


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without the white space at its ends, which a hand with a mouse easily takes along."""
    if not 0 <= start < end <= len(text):
        raise InputError("The marked span lies outside the text; load the page again.")
    inner = text[start:end]
    start, end = start + len(inner) - len(inner.lstrip()), end - (len(inner) - len(inner.rstrip()))
    if start >= end:
        raise InputError("There is nothing but white space in the selection; select the secret.")
    return start, end


def marks_of(secrets: Sequence[Secret], part: int = 0) -> Marks:
    """Secrets as marks."""
    return tuple(Mark(part, secret.start, secret.end, secret.kind) for secret in secrets)


def secrets_of(marks: Marks, part: int = 0) -> tuple[Secret, ...]:
    """Marks as secrets, certain as a person is."""
    return tuple(Secret(start, end, kind) for of, start, end, kind in marks if of == part)

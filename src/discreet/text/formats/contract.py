"""The contract of a file format: rows out of a file, rows into a file, one at a time.

    class Upper(Format):
        suffixes = (".upper",)
        def rows(self, source):
            for number, line in enumerate(text_lines(source), 1):
                yield number, {source.fields.text: line.upper()}

    FORMATS.register("upper")(Upper())

A row that cannot be used is not raised but *yielded* as a `Bad`, so that the walk can go on after it where the user
asked for that. What makes the whole file unreadable (broken compression, no header) is raised as `InputError`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from discreet.errors import InputError, RefusedError
from discreet.files import COMPRESSIONS, bare_suffix
from discreet.registry import Registry

Row = dict[str, Any]

LOOK_AHEAD = 1000
"""So many rows settle the columns of a table that is written."""


class Bad(NamedTuple):
    """A row that cannot be used: a short reason to count under, and a sentence without place that names the fix."""

    reason: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Fields:
    """What the fields or columns are called that a record is made of."""

    text: str = "text"
    id: str = "id"
    author: str = "author"
    label: str = "label"
    pair: str = "pair"
    secrets: str = "secrets"
    pair_secrets: str = "pair_secrets"
    split: str = "split"
    turns: str = "turns"


USUAL = Fields()


@dataclass(frozen=True, slots=True)
class Source:
    """One file to walk through, and how."""

    path: Path
    name: str
    """What generated ids begin with: the file's name, or its path below the folder that is read."""
    format: str
    fields: Fields = USUAL
    records: str = "line"
    encoding: str = "utf-8"
    split: str | None = None
    """The split that the file's name stands for, if it does."""

    def place(self, number: int) -> str:
        return f"{self.path}, {FORMATS[self.format].unit} {number}"


@dataclass(frozen=True, slots=True)
class Target:
    """What a writer needs to know besides the rows."""

    path: Path
    fields: Fields = USUAL
    records: str = "line"
    like: Source | None = None
    """The file the rows came from, whose column types are kept."""


class Format(ABC):
    """One way of keeping rows in a file."""

    suffixes: tuple[str, ...] = ()
    unit: str = "line"
    """What the numbers of rows count."""
    flat: bool = False
    """Whether cells hold text only, so that an empty one may mean that there is nothing."""
    text_only: bool = False
    """Whether only the text of a record can be written."""

    @abstractmethod
    def rows(self, source: Source) -> Iterator[tuple[int, Row | Bad]]:
        """Every row with its number, in order, without holding the file in memory."""

    def columns(self, source: Source) -> list[str] | None:
        """The fields that every row has; None where each row decides for itself."""
        return None

    def schema(self, source: Source) -> Any:
        """The types of the columns as an Arrow schema; None where the format keeps none."""
        return None

    def write(self, out: IO[bytes], rows: Iterator[Row], target: Target) -> None:
        """Writes all rows as they come."""
        raise RefusedError(f"{target.path}: this format can only be read; write to a .jsonl file instead.")


FORMATS: Registry[Format] = Registry("format", "discreet.formats", "discreet.text.formats")


def format_of(path: Path) -> str | None:
    """The name of the format that a file's extension stands for, None for an extension nobody claims."""
    suffix = bare_suffix(path)
    return next((name for name in FORMATS.names() if suffix and suffix in FORMATS[name].suffixes), None)


def unknown_format(path: Path, otherwise: str = "") -> InputError:
    """The error for a file whose extension nobody claims, and what else there is to do about it."""
    known = ", ".join(suffix for name in FORMATS.names() for suffix in FORMATS[name].suffixes)
    said = f"the extension '{bare_suffix(path)}' is not known" if bare_suffix(path) else "it has no extension"
    packed = ", ".join(COMPRESSIONS)
    return InputError(f"{path}: {said}; use one of {known} (also with {packed}){otherwise}.")


class Table(NamedTuple):
    """Rows that have the same columns: the first of them, which settled the columns, and the rest."""

    columns: list[str]
    first: list[Row]
    rest: Iterator[Row]


def settled(rows: Iterator[Row], target: Target) -> Table:
    """Takes the columns from the first rows; a field that only appears later is refused rather than lost."""
    first = list(islice(rows, LOOK_AHEAD))
    columns = list(dict.fromkeys(key for row in first for key in row))
    known = frozenset(columns)

    def checked() -> Iterator[Row]:
        for row in rows:
            if not known.issuperset(row):
                extra = min(key for key in row if key not in known)
                raise InputError(
                    f"{target.path}: the field '{extra}' first appears after {LOOK_AHEAD} records, when the columns "
                    "are already written; write to a .jsonl file instead."
                )
            yield row

    return Table(columns, first, checked())

"""Tables of text: `.csv` and `.tsv`, whose first line names the columns.

Cells may be quoted and hold line ends. Files with tabs and no quoting at all, where a quote is a quote, are
the format `plain-tsv`; it has to be named, because nothing in the file tells the two apart. A cell holds text only:
lists and objects are written as JSON, and nothing and the empty text are both an empty cell.
"""

import csv
from collections.abc import Iterator
from itertools import chain, islice
from typing import IO, Any

from discreet.errors import InputError
from discreet.text.formats.contract import FORMATS, Bad, Format, Row, Source, Target, settled
from discreet.text.formats.decoding import byte_lines, line_encoding, wrong_encoding
from discreet.text.formats.jsonl import as_json

LARGEST_CELL = 1 << 26
"""A quote that is never closed would swallow the rest of the file; at 64 MB it is an error."""


class Separated(Format):
    """Columns separated by one character."""

    flat = True

    def __init__(self, suffixes: tuple[str, ...], separator: str, quoted: bool = True) -> None:
        self.suffixes = suffixes
        self._tabs = separator == "\t"
        self._dialect: dict[str, Any] = {"delimiter": separator, "strict": True}
        if not quoted:
            self._dialect |= {"quoting": csv.QUOTE_NONE, "quotechar": None}

    def columns(self, source: Source) -> list[str]:
        number, header = next(self._cells(source), (0, []))
        if isinstance(header, Bad):
            raise InputError(f"{source.path}, line {number}: {header.sentence}")
        if len(set(header)) < len(header):
            raise InputError(
                f"{source.path}, line {number}: two columns have the same name; the first line names them."
            )
        return header

    def rows(self, source: Source) -> Iterator[tuple[int, Row | Bad]]:
        header = self.columns(source)
        width = len(header)
        for number, cells in islice(self._cells(source), 1, None):
            if isinstance(cells, Bad):
                yield number, cells
            elif len(cells) != width:
                yield (
                    number,
                    Bad(
                        "wrong number of columns",
                        f"{len(cells)} columns where the first line has {width}; quote cells that hold a separator.",
                    ),
                )
            else:
                yield number, dict(zip(header, cells, strict=True))

    def write(self, out: IO[bytes], rows: Iterator[Row], target: Target) -> None:
        columns, first, rest = settled(rows, target)
        # the longer line end makes the writer quote a bare \r too
        writer = csv.writer(_Encoded(out), **self._dialect, lineterminator="\r\n")
        try:
            writer.writerow(columns)
            for row in chain(first, rest):
                writer.writerow([_cell(row.get(column)) for column in columns])
        except (csv.Error, UnicodeEncodeError):
            raise InputError(
                f"{target.path}: a record holds what this format cannot keep; write to a .jsonl file instead."
            ) from None

    def _cells(self, source: Source) -> Iterator[tuple[int, list[str] | Bad]]:
        """The cells of each row with the number of the row's first line; blank lines are no rows."""
        csv.field_size_limit(max(csv.field_size_limit(), LARGEST_CELL))
        lines = _Decoded(source)
        reader = csv.reader(lines, **self._dialect)
        while True:
            number = lines.number + 1
            try:
                cells: list[str] | Bad = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                cells = self._broken(source, number, str(error))
            if lines.bad:
                (number, cells), lines.bad = lines.bad, None
            if cells:
                yield number, cells

    def _broken(self, source: Source, number: int, error: str) -> Bad:
        if "new-line" in error:
            return Bad(
                "malformed row", "a carriage return stands alone; end lines with \\n and quote cells that hold one."
            )
        if "end of data" not in error and "field limit" not in error:
            return Bad("malformed row", "a quote ends inside its cell; double the quotes that a quoted cell holds.")
        plain = ", or read it as the format plain-tsv if quotes mean nothing in it" if self._tabs else ""
        raise InputError(f"{source.path}, line {number}: a quote is opened and never closed; close it{plain}.")


FORMATS.register("csv")(Separated((".csv",), ","))
FORMATS.register("tsv")(Separated((".tsv",), "\t"))
FORMATS.register("plain-tsv")(Separated((), "\t", quoted=False))


class _Decoded:
    """The lines of a file for the csv parser, which wants text: remembers the first line that does not decode."""

    def __init__(self, source: Source) -> None:
        self.number = 0
        self.bad: tuple[int, Bad] | None = None
        self._encoding = line_encoding(source)
        self._lines = byte_lines(source)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        try:
            return line.decode(self._encoding)
        except UnicodeDecodeError as error:
            self.bad = self.bad or (self.number, wrong_encoding(error, line, self._encoding))
            return line.decode(self._encoding, "replace")  # keeps quotes and separators where they are


class _Encoded:
    """The csv writer's output in UTF-8, its lines ended by `\\n` alone."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out

    def write(self, line: str) -> None:
        self._out.write(line[:-2].encode() + b"\n")


def _cell(value: Any) -> Any:
    return as_json(value) if isinstance(value, list | dict | tuple) else value

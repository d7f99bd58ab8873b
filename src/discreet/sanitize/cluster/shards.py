"""Files cut into shards that can be read by themselves: a range of lines, a row group, or a whole file.

    for shard in shards(open_records("mail")):
        for record in Walk(shard, on_bad="stop"): ...

`.jsonl` files that are not compressed are cut at line ends, Parquet files at their row groups; anything else is one
shard a file. A shard knows the number of its first row, so that generated ids and places are those of the whole file.
That ids are unique cannot be seen from one shard; who puts the shards together looks at that.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import NamedTuple

from discreet.errors import InputError
from discreet.files import COMPRESSIONS
from discreet.text.formats.contract import FORMATS, Bad, Row, Source
from discreet.text.formats.jsonl import rows_of_lines
from discreet.text.formats.parquet import row_groups, rows_of_group
from discreet.text.formats.rows import BadRow, RowReader
from discreet.text.reading import RecordFile
from discreet.text.records import Record

SIZE = 1 << 23
SMALLEST = 1 << 16
EACH = 4
"""Shards for each core, so that a slow one does not keep the others waiting at the end."""
MARK = b"\xef\xbb\xbf"


class Shard(NamedTuple):
    """A part of a file."""

    number: int
    """Its place among all shards of a corpus."""
    source: Source
    kind: str
    """`lines`, `group` or `file`."""
    start: int = 0
    """lines: the first byte; group: the number of the row group."""
    stop: int = 0
    first: int = 1
    """The number of its first row."""


def shards(records: RecordFile, size: int = SIZE) -> list[Shard]:
    """The shards of a file or folder, in the order in which it is read."""
    found: list[Shard] = []
    for source in records.sources:
        away = replace(source, path=source.path.resolve())
        for kind, start, stop, first in _cuts(away, size):
            found.append(Shard(len(found), away, kind, start, stop, first))
    return found


def cut_for(records: RecordFile, cores: int) -> list[Shard]:
    """The shards of a file or folder for so many cores: of 8 MB, or smaller where there would be too few."""
    total = sum(source.path.stat().st_size for source in records.sources)
    return shards(records, max(SMALLEST, min(SIZE, total // (EACH * cores))))


def _cuts(source: Source, size: int) -> Iterator[tuple[str, int, int, int]]:
    packed = source.path.suffix in COMPRESSIONS
    if source.format == "jsonl" and source.encoding == "utf-8" and not packed:
        yield from _lines(source, size)
    elif source.format == "parquet" and not packed:
        first = 1
        for group, rows in enumerate(row_groups(source)):
            yield "group", group, 0, first
            first += rows
    else:
        yield "file", 0, 0, 1


def _lines(source: Source, size: int) -> Iterator[tuple[str, int, int, int]]:
    """Ranges of bytes that end at a line end."""
    start, first = 0, 1
    with source.path.open("rb") as stream:
        while block := stream.read(size):
            rest = b"" if block.endswith(b"\n") else stream.readline()
            stop = start + len(block) + len(rest)
            yield "lines", start, stop, first
            first += block.count(b"\n") + rest.count(b"\n")
            start = stop


class Walk:
    """The records of one shard, walked once; `skipped` counts what was left out."""

    def __init__(self, shard: Shard, on_bad: str) -> None:
        self._shard, self._on_bad = shard, on_bad
        self.skipped: Counter[str] = Counter()
        self.ids: list[str] = []
        """The ids that rows gave their records."""

    def __iter__(self) -> Iterator[Record]:
        source = self._shard.source
        make = RowReader(source).record
        for number, row in _rows(self._shard):
            try:
                if isinstance(row, Bad):
                    raise BadRow(*row)
                record = make(number, row)
            except BadRow as error:
                if self._on_bad == "stop":
                    raise InputError(f"{source.place(number)}: {error.bad.sentence}") from None
                self.skipped[error.bad.reason] += 1
                continue
            if record.fields.layout.own_id:  # type: ignore[attr-defined]
                self.ids.append(record.id)
            yield record


def _rows(shard: Shard) -> Iterator[tuple[int, Row | Bad]]:
    if shard.kind == "group":
        return rows_of_group(shard.source, shard.start, shard.first)
    if shard.kind == "file":
        return FORMATS[shard.source.format].rows(shard.source)
    with shard.source.path.open("rb") as stream:
        stream.seek(shard.start)
        content = stream.read(shard.stop - shard.start)
    return rows_of_lines(BytesIO(content.removeprefix(MARK) if shard.start == 0 else content), "utf-8", shard.first)

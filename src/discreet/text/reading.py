"""Reading: a file or folder of any known format as a stream of records.

    mail = open_records("mail.jsonl.gz", fields=Fields(text="body"))
    for record in mail: ...             # starts afresh each time, one record in memory
    corpus = read("mail.jsonl.gz")      # the same with train, valid and test splits

A row that makes no record stops the walk with one sentence that names its place and the fix; with `on_bad="skip"` it is
left out and counted in `mail.skipped`. What breaks a whole file (its compression, its extension, a table without a text
column) always stops.

Ids come from the id field and must be unique; a row without one is called by its place, `mail.jsonl:3`.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field, replace
from itertools import islice
from pathlib import Path

from discreet.errors import InputError, SettingError
from discreet.registry import nearest
from discreet.text.corpus import SPLITS, Corpus, by_split
from discreet.text.formats.contract import FORMATS, USUAL, Bad, Fields, Row, Source, format_of, unknown_format
from discreet.text.formats.decoding import check_encoding
from discreet.text.formats.folder import folder_sources, saved_sources, splits_of
from discreet.text.formats.hugging_face import is_saved
from discreet.text.formats.lines import RECORDS
from discreet.text.formats.rows import BadRow, RowReader, missing_field
from discreet.text.identity import SeenIds
from discreet.text.records import Record

__all__ = ["Fields", "RecordFile", "is_being_read", "open_records", "read"]

ON_BAD = ("stop", "skip")
PLACES_SHOWN = 10
PEEK = 1000
"""So many records are looked at to learn whether a file says which split its records belong to."""


@dataclass
class Tally:
    """What one walk left out."""

    reasons: Counter[str] = field(default_factory=Counter)
    places: list[str] = field(default_factory=list)

    def add(self, reason: str, place: str) -> None:
        self.reasons[reason] += 1
        if len(self.places) < PLACES_SHOWN:
            self.places.append(f"{place}: {reason}")


class RecordFile:
    """The records of a file or folder, to be walked through as often as needed."""

    def __init__(
        self,
        whole: Source,
        sources: tuple[Source, ...],
        on_bad: str,
        passed_over: tuple[Path, ...] = (),
        undivided: bool = False,
    ) -> None:
        self.path, self.format, self.fields, self.records = whole.path, whole.format, whole.fields, whole.records
        self.sources = sources
        """The files, in the order in which they are read."""
        self._whole, self._on_bad, self._passed_over = whole, on_bad, passed_over
        self._undivided = undivided
        self._tally = Tally()

    @property
    def on_bad(self) -> str:
        """What a bad row does: `stop` or `skip`."""
        return self._on_bad

    @property
    def skipped(self) -> Counter[str]:
        """What the last walk left out: reason -> count."""
        return self._tally.reasons

    @property
    def skipped_places(self) -> list[str]:
        """Where the first things are that the last walk left out."""
        return self._tally.places

    def only(self, sources: list[Source]) -> "RecordFile":
        """The same for some of the files."""
        return RecordFile(self._whole, tuple(sources), self._on_bad)

    def without_splits(self) -> "RecordFile":
        """The same, refusing a record that names a split after all."""
        return RecordFile(self._whole, self.sources, self._on_bad, self._passed_over, undivided=True)

    def __iter__(self) -> Iterator[Record]:
        self._tally = Tally()
        for path in self._passed_over:
            self._tally.add("unknown extension", str(path))
        return self._walk(self._tally)

    def _walk(self, tally: Tally) -> Iterator[Record]:
        first_time = SeenIds().first_time
        undivided = self._undivided
        found = False
        for source in self.sources:
            make = RowReader(source).record
            for number, row in _rows(source):
                try:
                    if row.__class__ is Bad:
                        raise BadRow(*row)
                    record = make(number, row)  # type: ignore[arg-type]
                    if record.fields.layout.own_id and not first_time(record.id):  # type: ignore[attr-defined]
                        self._check_repeated(record)
                except BadRow as error:
                    if self._on_bad == "stop":
                        raise InputError(f"{source.place(number)}: {error.bad.sentence}") from None
                    tally.add(error.bad.reason, source.place(number))
                    continue
                if undivided and record.split is not None:
                    raise InputError(
                        f"{record.place}: the first record that names a split comes after {PEEK} that do not; "
                        "give every record one."
                    )
                found = True
                yield record
        if not found:
            raise self._empty(tally)

    def _check_repeated(self, record: Record) -> None:
        """Raises `BadRow` for a repeated id; before stopping, makes sure of it by looking for the first."""
        if self._on_bad == "skip":
            raise BadRow("duplicate id", "")
        for source in self.sources:
            reader = RowReader(source)
            for number, row in _rows(source):
                if isinstance(row, Bad):
                    continue
                with contextlib.suppress(BadRow):
                    other = reader.record(number, row)
                    if other.place == record.place:
                        return
                    if other.id == record.id:
                        raise InputError(
                            f"{record.place}: the id is that of {other.place}; make it unique, "
                            "or skip repeated records with --on-bad skip."
                        )

    def _empty(self, tally: Tally) -> InputError:
        if not tally.reasons:
            return InputError(f"{self.path}: there are no records in it; give a file that has some.")
        reasons = ", ".join(f"{reason}: {count}" for reason, count in tally.reasons.most_common())
        return InputError(f"{self.path}: nothing in it could be read ({reasons}), the first at {tally.places[0]}.")


def open_records(
    path: str | Path,
    *,
    fields: Fields = USUAL,
    records: str = "line",
    encoding: str = "utf-8",
    on_bad: str = "stop",
    format: str | None = None,
) -> RecordFile:
    """The records of a file or folder, as a stream.

    `records` says whether a record of a `.txt` file is a line, a paragraph or the file; `format` names the format of
    files whose extension does not.
    """
    path = Path(path)
    _check_choice("records", records, RECORDS)
    _check_choice("on_bad", on_bad, ON_BAD)
    if len(set(astuple(fields))) < len(astuple(fields)):
        raise SettingError("Two parts of a record cannot be read from one field; give each its own name.")
    if format is not None:
        FORMATS[format]
    whole = Source(path, path.name, format or "folder", fields, records, check_encoding(encoding))
    if not path.exists():
        raise InputError(f"{path}: there is no such file{_similar(path)}")
    if not path.is_dir():
        name = format or format_of(path)
        if name is None:
            raise unknown_format(path, otherwise=", or name its format")
        whole = replace(whole, format=name)
        return RecordFile(whole, (whole,), on_bad)
    if format == "datasets" or (format is None and is_saved(path)):
        whole = replace(whole, format="datasets")
        return RecordFile(whole, tuple(saved_sources(whole)), on_bad)
    sources, passed_over = folder_sources(whole, format)
    if not sources:
        raise InputError(f"{path}: no file in this folder has a known extension; add one of them, or name the format.")
    return RecordFile(replace(whole, format="folder"), tuple(sources), on_bad, tuple(passed_over))


def read(
    path: str | Path,
    *,
    fields: Fields = USUAL,
    records: str = "line",
    encoding: str = "utf-8",
    on_bad: str = "stop",
    format: str | None = None,
    name: str | None = None,
) -> Corpus:
    """A file or folder as a corpus, divided as its files, or the split field of its records, say."""
    whole = open_records(path, fields=fields, records=records, encoding=encoding, on_bad=on_bad, format=format)
    name = name or whole.path.resolve().name.split(".")[0]
    where = {"path": str(path), "format": whole.format}
    splits = splits_of(whole.path, whole.sources)
    if splits:
        order = [split for split in SPLITS if split in splits] + [split for split in splits if split not in SPLITS]
        return Corpus({split: whole.only(splits[split]) for split in order}, name, where)
    columns = [FORMATS[source.format].columns(source) for source in whole.sources]
    if all(names is not None and fields.split not in names for names in columns):
        return Corpus({"train": whole}, name, where)
    if any(record.split is not None for record in islice(whole, PEEK)):
        return Corpus(by_split(whole).splits, name, where)
    return Corpus({"train": whole.without_splits()}, name, where)


_open: Counter[tuple[int, int]] = Counter()


def is_being_read(path: Path) -> bool:
    """Whether a walk through this file is under way."""
    return path.exists() and _identity(path) in _open


def _rows(source: Source) -> Iterator[tuple[int, Row | Bad]]:
    """The rows of a file, which counts as being read while they come."""
    identity = _identity(source.path)
    _open[identity] += 1
    try:
        _check_columns(source)
        yield from FORMATS[source.format].rows(source)
    finally:
        _open[identity] -= 1
        if not _open[identity]:
            del _open[identity]


def _check_columns(source: Source) -> None:
    columns = FORMATS[source.format].columns(source)
    if columns and source.fields.text not in columns and source.fields.turns not in columns:
        raise InputError(f"{source.path}: {missing_field(source.fields.text, columns)}")


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _check_choice(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise SettingError(f"{what}='{value}' is not known; {nearest(value, known)}")


def _similar(path: Path) -> str:
    """The hint for a mistyped name: the file beside it that is called most like it."""
    try:
        close = nearest(path.name, (other.name for other in path.parent.iterdir()))
    except OSError:
        return f", nor a folder {path.parent}."
    return f"; {close}" if close.startswith("did") else "; check the path."

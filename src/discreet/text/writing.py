"""Writing: records back into a file, in the format its extension names, whole or not at all.

    mail = open_records("mail.jsonl")
    write("clean.jsonl", (redacted(record) for record in mail), like=mail)

A record that came from a file is written with the names and the order of its row and with all its other fields.
Text, pair, turns and secrets always come from the record as it is now, never from the row it was read from. A field
that redaction does not look at is written as it was: leave it out beforehand if it can hold a secret. Plain text keeps
the text alone.

The input is never modified: writing onto a file that is being read, or into a folder that is, is refused.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from discreet.errors import InputError, RefusedError
from discreet.files import whole_binary
from discreet.text.formats.contract import FORMATS, USUAL, Fields, Format, Row, Target, format_of, unknown_format
from discreet.text.formats.dialogs import written_turns
from discreet.text.formats.rows import ROLES, Kept
from discreet.text.formats.spans import written_secrets
from discreet.text.reading import RecordFile, is_being_read
from discreet.text.records import Record

PROGRESS_EVERY = 1000


def write(
    path: str | Path,
    records: Iterable[Record],
    *,
    fields: Fields = USUAL,
    like: RecordFile | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> int:
    """Writes records as they stream by and returns their number.

    `like` is the file they came from: its column types, and whether plain text is lines or paragraphs, are kept.
    `fields` names the fields of records that came from no file. `on_progress` is told the number written, now and then.
    """
    path = Path(path)
    like = records if like is None and isinstance(records, RecordFile) else like
    fields = like.fields if like else fields
    format, target = _target(path, fields, like)
    count = 0

    def rows() -> Iterator[Row]:
        nonlocal count
        for record in records:
            if not count and is_being_read(path):  # known only now: a stream opens its file for its first record
                raise _onto_input(path)
            count += 1
            if on_progress and count % PROGRESS_EVERY == 0:
                on_progress(count)
            yield {fields.text: record.text} if format.text_only else row_of(record, fields)

    with whole_binary(path) as out:
        format.write(out, rows(), target)
    if on_progress:
        on_progress(count)
    return count


def write_rows(path: str | Path, rows: Iterator[Row], like: RecordFile) -> None:
    """Writes the rows (see `row_of`) of records that were read from `like` elsewhere."""
    path = Path(path)
    format, target = _target(path, like.fields, like)
    with whole_binary(path) as out:
        format.write(
            out, ({like.fields.text: row[like.fields.text]} for row in rows) if format.text_only else rows, target
        )


def _target(path: Path, fields: Fields, like: RecordFile | None) -> tuple[Format, Target]:
    """The format of a file to write, and what it needs to know; refuses what cannot or must not be written."""
    name = format_of(path)
    if name is None:
        raise unknown_format(path)
    if path.is_dir():
        raise InputError(f"{path}: this is a folder; name a file in it.")
    if like is not None:
        _refuse_input(path, like)
    source = like.sources[0] if like else None
    return FORMATS[name], Target(path, fields, like.records if like else "line", source)


def row_of(record: Record, fields: Fields) -> Row:
    """The row of a record, laid out as the one it came from."""
    kept = record.fields
    if not isinstance(kept, Kept):
        return _row_of_new(record, fields)
    layout = kept.layout
    row: Row = {}
    for key, role in layout.plan:
        if role is None:
            if key in kept:
                row[key] = kept[key]
        elif role == "text":
            row[key] = record.text
        elif role == "id":
            row[key] = record.id if layout.id_as == "text" else _as_read(record.id, layout.id_as)
        elif role == "author":
            row[key] = record.author if layout.author_as == "text" else _as_read(record.author, layout.author_as)
        else:
            _put(row, key, role, record, kept)
    if "text" not in layout.roles and not record.turns and (record.text or "turns" not in layout.roles):
        row[layout.fields.text] = record.text
    for role, value in zip(layout.missing, layout.missing_of(record), strict=True):
        if value is not None and (value or role != "turns"):
            _put(row, getattr(layout.fields, role), role, record, kept)
    return row


def _row_of_new(record: Record, fields: Fields) -> Row:
    """The row of a record that came from no file: what it has, then its other fields."""
    row: Row = {fields.id: record.id, fields.text: record.text}
    for role in ROLES:
        if role not in ("id", "text") and getattr(record, role) is not None and (role != "turns" or record.turns):
            _put(row, getattr(fields, role), role, record, None)
    names = {getattr(fields, role) for role in ROLES}
    return row | {key: value for key, value in record.fields.items() if key not in names}


def _put(row: Row, key: str, role: str, record: Record, kept: Kept | None) -> None:
    value: Any = getattr(record, role)
    if role == "turns":
        row[key] = written_turns(record, None if kept is None else kept.shape)
    elif role in ("secrets", "pair_secrets"):
        if value is not None:
            row[key] = written_secrets(value)
    else:
        row[key] = value


def _as_read(value: str | None, kind: str) -> str | int | None:
    """An id or author in the kind of value it was read as, unless it has been given another since."""
    if kind == "null" or value is None:
        return None
    return int(value) if value.removeprefix("-").isdecimal() and str(int(value)) == value else value


def _refuse_input(path: Path, like: RecordFile) -> None:
    place = path.resolve()
    source = like.path.resolve()
    if path.exists() and any(path.samefile(source.path) for source in like.sources):
        raise _onto_input(path)
    if place == source or (like.path.is_dir() and source in place.parents):
        raise _onto_input(path)


def _onto_input(path: Path) -> RefusedError:
    return RefusedError(
        f"{path}: this is, or is inside, what is being read, and input is never modified; write elsewhere."
    )

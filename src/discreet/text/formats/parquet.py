"""Parquet tables, a batch of rows at a time.

Columns keep the types of the file the rows came from. Without one, types are taken from the first rows; objects, whose
keys may differ from row to row, are then written as JSON text, which the reader understands for turns.
"""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import IO, Any, cast

from discreet.errors import InputError
from discreet.files import COMPRESSIONS
from discreet.text.formats.contract import FORMATS, LOOK_AHEAD, Bad, Format, Row, Source, Target, settled
from discreet.text.formats.decoding import opened
from discreet.text.formats.jsonl import as_json

BATCH_BYTES = 1 << 22
"""Rows are read in batches of about so many bytes, whatever the size of a row."""
ROW_GROUP_BYTES = 1 << 25


class Parquet(Format):
    """`.parquet` files, read and written with pyarrow."""

    suffixes = (".parquet", ".pq")
    unit = "row"

    def columns(self, source: Source) -> list[str]:
        return list(self.schema(source).names)

    def schema(self, source: Source) -> Any:
        with _table(source) as table:
            return table.schema_arrow

    def rows(self, source: Source) -> Iterator[tuple[int, Row | Bad]]:
        number = 0
        with _table(source) as table:
            for batch in table.iter_batches(batch_size=_batch_size(table.metadata), use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row

    def write(self, out: IO[bytes], rows: Iterator[Row], target: Target) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns, first, rest = settled(rows, target)
        known = FORMATS[target.like.format].schema(target.like) if target.like else None
        schema = pa.schema([(name, _type(name, first, known, target)) for name in columns])
        with pq.ParquetWriter(out, schema, compression="zstd") as writer:
            held = [_batch(first, schema, target)]
            while chunk := list(islice(rest, LOOK_AHEAD)):
                held.append(_batch(chunk, schema, target))
                if sum(batch.nbytes for batch in held) > ROW_GROUP_BYTES:
                    writer.write_table(pa.Table.from_batches(held, schema))
                    held = []
            if held:
                writer.write_table(pa.Table.from_batches(held, schema))


FORMATS.register("parquet")(Parquet())


def row_groups(source: Source) -> list[int]:
    """How many rows each row group has."""
    with _table(source) as table:
        return [table.metadata.row_group(group).num_rows for group in range(table.metadata.num_row_groups)]


def rows_of_group(source: Source, group: int, first: int) -> Iterator[tuple[int, Row | Bad]]:
    """The rows of one row group, the first of which has this number."""
    with _table(source) as table:
        yield from enumerate(table.read_row_group(group, use_threads=False).to_pylist(), first)


@contextlib.contextmanager
def arrow_errors(source: Source) -> Iterator[None]:
    """Turns what pyarrow says of a broken file into one sentence (its own may quote values)."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's trouble, not the file's
        raise InputError(
            f"{source.path}: this is no {source.format} file, or a broken one; get it again or correct its extension."
        ) from None


@contextlib.contextmanager
def _table(source: Source) -> Iterator[Any]:
    """A Parquet file, which must be read back and forth: a compressed one is unpacked to a nameless file first."""
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(opened(source))
        if source.path.suffix in COMPRESSIONS:
            unpacked = cast("IO[bytes]", stack.enter_context(tempfile.TemporaryFile()))
            shutil.copyfileobj(stream, unpacked, 1 << 20)
            unpacked.seek(0)
            stream = unpacked
        stack.enter_context(arrow_errors(source))
        with pq.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 20) as table:
            names = table.schema_arrow.names
            if len(set(names)) < len(names):
                raise InputError(f"{source.path}: two columns have the same name; rename one of them.")
            yield table


def _batch_size(metadata: Any) -> int:
    size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    return max(1, min(4096, BATCH_BYTES * int(metadata.num_rows) // max(1, int(size))))


def _type(name: str, first: Sequence[Row], known: Any, target: Target) -> Any:
    """The Arrow type of a column that is written."""
    import pyarrow as pa

    if name in (target.fields.secrets, target.fields.pair_secrets):
        parts = {"start": pa.int64(), "end": pa.int64(), "kind": pa.string(), "score": pa.float64()}
        return pa.list_(pa.struct(list(parts.items())))
    if known is not None and name in known.names and not pa.types.is_null(known.field(name).type):
        return known.field(name).type
    try:
        found = pa.infer_type([row.get(name) for row in first])
    except (pa.ArrowException, ValueError, OverflowError):
        raise _mixed(name, target) from None
    return pa.string() if pa.types.is_null(found) or _open_ended(found) else found


def _open_ended(kind: Any) -> bool:
    """Whether other rows may hold what this inferred type cannot: the keys of objects, the items of empty lists."""
    import pyarrow as pa

    if pa.types.is_list(kind):
        return pa.types.is_null(kind.value_type) or _open_ended(kind.value_type)
    return bool(pa.types.is_struct(kind))


def _batch(rows: Sequence[Row], schema: Any, target: Target) -> Any:
    import pyarrow as pa

    arrays = []
    for column in schema:
        values = [row.get(column.name) for row in rows]
        if pa.types.is_string(column.type):
            values = [as_json(value) if isinstance(value, list | dict) else value for value in values]
        try:
            arrays.append(pa.array(values, type=column.type))
        except (pa.ArrowException, ValueError, OverflowError, TypeError):
            raise _mixed(column.name, target) from None
    return pa.record_batch(arrays, schema=schema)


def _mixed(name: str, target: Target) -> InputError:
    return InputError(
        f"{target.path}: the field '{name}' holds values of more than one type, which a table cannot keep; "
        "write to a .jsonl file instead."
    )

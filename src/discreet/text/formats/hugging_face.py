"""Folders that Hugging Face `datasets` wrote with `save_to_disk`.

The Arrow files in them are read as a stream, batch by batch, so nothing is mapped into memory and the `datasets`
package is not needed. A `DatasetDict` is a folder of such folders, one a split. Such folders are read, not written.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.errors import InputError
from discreet.files import read_json
from discreet.text.formats.contract import FORMATS, Bad, Format, Row, Source
from discreet.text.formats.parquet import BATCH_BYTES, arrow_errors

STATE = "state.json"
DICTIONARY = "dataset_dict.json"


class SavedDataset(Format):
    """A folder with `state.json` and Arrow files."""

    unit = "row"

    def columns(self, source: Source) -> list[str]:
        return list(self.schema(source).names)

    def schema(self, source: Source) -> Any:
        with _stream(_files(source)[0], source) as stream:
            return stream.schema

    def rows(self, source: Source) -> Iterator[tuple[int, Row | Bad]]:
        number = 0
        for path in _files(source):
            with _stream(path, source) as stream:
                for batch in _small_batches(stream):
                    for row in batch.to_pylist():
                        number += 1
                        yield number, row


FORMATS.register("datasets")(SavedDataset())


def is_saved(folder: Path) -> bool:
    """Whether a folder was written by `save_to_disk`."""
    return (folder / STATE).is_file() or (folder / DICTIONARY).is_file()


def saved_splits(folder: Path) -> dict[str | None, Path]:
    """The folders of a data set by the names of its splits; one without name where it is not divided."""
    if not (folder / DICTIONARY).is_file():
        return {None: folder}
    try:
        names = [Path(name).name for name in read_json(folder / DICTIONARY)["splits"]]
    except (ValueError, KeyError, TypeError):
        raise _not_saved(folder / DICTIONARY) from None
    return {name: folder / name for name in names}


@contextlib.contextmanager
def _stream(path: Path, source: Source) -> Iterator[Any]:
    import pyarrow as pa

    # an ordinary file, not a memory map, whose pages would count as ours while the data set streams by
    with arrow_errors(source), pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
        yield stream


def _small_batches(stream: Any) -> Iterator[Any]:
    for batch in stream:
        step = max(1, min(4096, BATCH_BYTES * batch.num_rows // max(1, batch.nbytes)))
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)


def _files(source: Source) -> list[Path]:
    folder = source.path
    try:
        state = read_json(folder / STATE)
        files = [folder / Path(entry["filename"]).name for entry in state["_data_files"]]
        selection = state.get("_indices_data_files")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise _not_saved(folder / STATE) from None
    if selection:
        raise InputError(f"{folder}: the data set is a selection of another; call flatten_indices() and save it again.")
    if not files or not all(file.is_file() for file in files):
        raise InputError(f"{folder}: files that {STATE} names are not there; save the data set again.")
    return files


def _not_saved(path: Path) -> InputError:
    return InputError(f"{path}: this is not what save_to_disk writes; save the data set again.")

"""Folders that Hugging Face `datasets` wrote with `save_to_disk`.

The Arrow files in them are read as a stream, batch by batch, so nothing is mapped into memory and the `datasets` package is
not needed. A `DatasetDict` is a folder of such folders, one a split. Such folders are read, not written.
"""

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
        for stream in _streams(source):
            return stream.schema
        raise InputError(f"{source.path}: the data set has no files; save it again with save_to_disk.")

    def rows(self, source: Source) -> Iterator[tuple[int, Row | Bad]]:
        number = 0
        for stream in _streams(source):
            for batch in stream:
                step = max(1, min(4096, BATCH_BYTES * batch.num_rows // max(1, batch.nbytes)))
                for start in range(0, batch.num_rows, step):
                    for row in batch.slice(start, step).to_pylist():
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


def _streams(source: Source) -> Iterator[Any]:
    import pyarrow as pa

    for path in _files(source.path):
        # an ordinary file, not a memory map, whose pages would count as ours while the data set streams by
        with arrow_errors(source), pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
            yield stream


def _files(folder: Path) -> list[Path]:
    try:
        state = read_json(folder / STATE)
        names = [Path(entry["filename"]).name for entry in state["_data_files"]]
        indices = state.get("_indices_data_files")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise _not_saved(folder / STATE) from None
    if indices:
        raise InputError(f"{folder}: the data set is a selection of another; call flatten_indices() and save it again.")
    return [folder / name for name in names]


def _not_saved(path: Path) -> InputError:
    return InputError(f"{path}: this is not what save_to_disk writes; save the data set again.")

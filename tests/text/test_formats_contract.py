"""What every registered format must do: give back what was put in, and say in one sentence what is wrong."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from discreet.errors import InputError
from discreet.files import COMPRESSIONS, whole_binary
from discreet.text.formats.contract import FORMATS, Source, Target
from discreet.text.reading import open_records
from discreet.text.writing import write

RECORDS = [
    {"text": "Call Ann on 555-0101.", "topic": "billing"},
    {"text": 'She said "no", twice\u2028; naïve 日本 🙂', "topic": "other"},
]
NAMES = FORMATS.names()


def saved_dataset(folder: Path, rows: list[dict[str, str]]) -> Path:
    """The folder that `datasets` writes, without needing it."""
    folder.mkdir()
    table = pa.Table.from_pylist(rows) if rows else pa.table({"text": pa.array([], pa.string())})
    with pa.OSFile(str(folder / "data.arrow"), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    return folder


def made(folder: Path, name: str, rows: list[dict[str, str]], packing: str = "") -> Path:
    """A file of the format that holds the rows."""
    if name == "datasets":
        return saved_dataset(folder / "made", rows)
    path = folder / f"made{(FORMATS[name].suffixes or ('.data',))[0]}{packing}"
    with whole_binary(path) as out:
        FORMATS[name].write(out, iter([dict(row) for row in rows]), Target(path))
    return path


@pytest.mark.parametrize("name", NAMES)
def test_rows_come_back_as_they_were_written(name, tmp_path):
    path = made(tmp_path, name, RECORDS)
    rows = [row for _, row in FORMATS[name].rows(Source(path, path.name, name))]
    assert rows == ([{"text": row["text"]} for row in RECORDS] if FORMATS[name].text_only else RECORDS)


@pytest.mark.parametrize("packing", COMPRESSIONS)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "datasets"])
def test_every_format_reads_through_every_compression(name, packing, tmp_path):
    path = made(tmp_path, name, RECORDS, packing)
    assert [record.text for record in open_records(path, format=name)] == [row["text"] for row in RECORDS]


@pytest.mark.parametrize("name", NAMES)
def test_a_walk_can_be_started_again_and_gives_the_same_records(name, tmp_path):
    records = open_records(made(tmp_path, name, RECORDS), format=name)
    first = next(iter(records))
    assert [record.text for record in records] == [row["text"] for row in RECORDS]
    assert next(iter(records)) == first


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_file_is_one_sentence_that_names_it(name, tmp_path):
    path = made(tmp_path, name, [])
    with pytest.raises(InputError, match="no records") as caught:
        list(open_records(path, format=name))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", [name for name in NAMES if not FORMATS[name].text_only])
def test_a_missing_text_names_the_nearest_field(name, tmp_path):
    path = made(tmp_path, name, [{"txt": "Call Ann.", "topic": "billing"}])
    with pytest.raises(InputError, match=r"no 'text'; did you mean 'txt'\?") as caught:
        list(open_records(path, format=name))
    assert str(path) in str(caught.value)
    assert "Ann" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name in NAMES if FORMATS[name].suffixes])
def test_a_redacted_copy_keeps_the_other_fields(name, tmp_path):
    records = open_records(made(tmp_path, name, RECORDS))
    copy = tmp_path / f"copy{FORMATS[name].suffixes[0]}"
    assert write(copy, (replace(record, text="gone") for record in records), like=records) == 2
    again = list(open_records(copy))
    assert [record.text for record in again] == ["gone", "gone"]
    assert [record.fields for record in again] == [record.fields for record in records]

"""Shards: read one by one and put together they are the file."""

import json
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.sanitize.cluster.shards import SMALLEST, Walk, cut_for, shards
from discreet.text.reading import open_records
from discreet.text.records import Record
from discreet.text.writing import write

quick = settings(derandomize=True, deadline=None, max_examples=40)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"text": st.text(st.characters(codec="utf-8"), max_size=20)}, optional={"n": st.integers(0, 9)}
    ),
    min_size=1,
    max_size=20,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("shards")


@quick
@given(ROWS, st.integers(1, 200), st.booleans(), st.sampled_from(["", "\n", "\n\n"]))
def test_lines_in_shards_are_the_lines_of_the_file(folder, rows, size, mark, end):
    path = folder / "mail.jsonl"
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + end
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
    records = open_records(path)
    cut = shards(records, size)
    assert [shard.number for shard in cut] == list(range(len(cut)))
    found = [record for shard in cut for record in Walk(shard, "stop")]
    expected = list(records)
    assert [(r.id, r.text, dict(r.fields)) for r in found] == [(r.id, r.text, dict(r.fields)) for r in expected]


@pytest.mark.parametrize("name", ["mail.jsonl.gz", "mail.csv", "mail.parquet", "mail.txt"])
def test_other_files_are_cut_where_they_can_be(tmp_path, name):
    write(tmp_path / name, [Record(f"r{n}", f"text {n}") for n in range(50)])
    records = open_records(tmp_path / name)
    found = [record for shard in shards(records, 100) for record in Walk(shard, "stop")]
    assert [(r.id, r.text) for r in found] == [(r.id, r.text) for r in records]


def test_small_files_are_cut_for_the_cores_there_are(tmp_path):
    write(tmp_path / "mail.jsonl", [Record(f"r{n}", "text " * 100) for n in range(3000)])
    records = open_records(tmp_path / "mail.jsonl")
    assert 7 <= len(cut_for(records, 2)) <= 8
    assert len(cut_for(records, 10_000)) <= 1 + (tmp_path / "mail.jsonl").stat().st_size // SMALLEST


def test_row_groups_of_parquet_are_shards(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table({"text": [f"text {n}" for n in range(10)]})
    pq.write_table(table, tmp_path / "mail.parquet", row_group_size=3)
    records = open_records(tmp_path / "mail.parquet")
    cut = shards(records)
    assert [shard.first for shard in cut] == [1, 4, 7, 10]
    assert [r.id for shard in cut for r in Walk(shard, "stop")] == [r.id for r in records]


def test_bad_rows_stop_with_their_place_or_are_counted(tmp_path):
    path = tmp_path / "mail.jsonl"
    path.write_text('{"text": "a"}\n{"text": "b"}\nnonsense\n{"text": 3}\n{"id": "x", "text": "c"}\n')
    cut = shards(open_records(path), 10)
    walks = [Walk(shard, "skip") for shard in cut]
    assert [record.text for walk in walks for record in walk] == ["a", "b", "c"]
    assert sum(sum(walk.skipped.values()) for walk in walks) == 2
    assert [identity for walk in walks for identity in walk.ids] == ["x"]
    with pytest.raises(InputError, match=r"mail\.jsonl, line 3"):
        list(chain.from_iterable(Walk(shard, "stop") for shard in cut))

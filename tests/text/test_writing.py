"""Writing: what went in comes out again, whole or not at all, and the input stays as it is."""

import json
import pickle
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import DiscreetError, InputError, RefusedError
from discreet.text.reading import Fields, open_records
from discreet.text.records import Record, Secret, Turn
from discreet.text.writing import write

quick = settings(derandomize=True, deadline=None, max_examples=60)

words = st.text(st.characters(blacklist_categories=["Cs"]), max_size=12)
names = st.sampled_from(["topic", "note", 'a "quoted", name', "zeile\n2"])
scalars = (
    st.none() | words | st.integers(-(2**53), 2**53) | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
)
nested = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=4
)


anything = st.dictionaries(names, nested, max_size=2)


@st.composite
def marked(draw, text):
    """Secrets of a text, sorted and apart, or None."""
    edges = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [(edges[place], edges[place + 1]) for place in range(0, len(edges) - 1, 2)]
    kinds = st.sampled_from(["PERSON", "PHONE"])
    scores = st.sampled_from([1.0, 0.25])
    return draw(st.none() | st.just(tuple(Secret(start, end, draw(kinds), draw(scores)) for start, end in spans)))


@st.composite
def records(draw, others=anything, blank=True):
    """Lists of records with different ids; with `blank` false, no empty text where a table would have nothing."""
    some = words if blank else words.filter(bool)
    made = []
    for number in range(draw(st.integers(1, 4))):
        text, pair = draw(words), draw(st.none() | some)
        made.append(
            Record(
                id=f"{draw(words)}{number}",
                text=text,
                author=draw(st.none() | some),
                label=draw(st.none() | some),
                pair=pair,
                secrets=draw(marked(text)),
                pair_secrets=None if pair is None else draw(marked(pair)),
                split=draw(st.none() | st.just("valid")),
                fields=draw(others),
            )
        )
    return made


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("writing")


def parts(record: Record) -> Record:
    return replace(record, fields=dict(record.fields), place="")


@given(records())
@quick
def test_json_lines_give_back_any_records(scratch, given_records):
    path = scratch / "any.jsonl"
    assert write(path, given_records) == len(given_records)
    assert [parts(record) for record in open_records(path)] == given_records
    copy = scratch / "copy.jsonl"
    write(copy, open_records(path))
    assert copy.read_bytes() == path.read_bytes()


@given(records(others=st.fixed_dictionaries({"topic": words, "a,b": words}), blank=False))
@quick
@pytest.mark.parametrize("name", ["any.csv", "any.tsv"])
def test_separated_tables_give_back_any_records(scratch, name, given_records):
    path = scratch / name
    write(path, given_records)
    assert [parts(record) for record in open_records(path)] == given_records


@given(
    records(
        others=st.fixed_dictionaries({"topic": st.none() | words, "size": st.none() | st.integers(-(2**60), 2**60)})
    )
)
@quick
def test_parquet_gives_back_any_records(scratch, given_records):
    path = scratch / "any.parquet"
    write(path, given_records)
    assert [parts(record) for record in open_records(path)] == given_records


@given(st.lists(words, min_size=1), st.sampled_from(["line", "paragraph"]))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_plain_text_gives_back_the_texts_or_refuses_them(scratch, texts, kind):
    path, like = scratch / "any.txt", scratch / "like.txt"
    like.write_text("x\n")
    try:
        write(
            path,
            [Record(str(number), text) for number, text in enumerate(texts)],
            like=open_records(like, records=kind),
        )
    except RefusedError:
        assert any(not text.strip() or "\n" in text or "\r" in text or "\ufeff" in text for text in texts)
        return
    assert [record.text for record in open_records(path, records=kind)] == texts


# the shape of a row


def test_a_row_keeps_its_names_its_order_and_the_kinds_of_its_id_and_author(tmp_path):
    path, copy = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    rows = [
        '{"n":[1,{"x":null}],"body":"one","key":7,"author":12}',
        '{"key":"seven","body":"two","author":null,"n":0.5}',
        '{"key":null,"body":"three"}',
        '{"body":"four","text":"other","key":"08"}',
    ]
    path.write_text("\n".join(rows) + "\n")
    write(copy, open_records(path, fields=Fields(text="body", id="key")))
    assert copy.read_text() == path.read_text()


def test_an_id_or_author_given_since_is_written_as_it_is(tmp_path):
    path, copy = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_text('{"id":7,"author":8,"text":"a"}\n')
    write(copy, (replace(record, id="seven", author="008") for record in open_records(path)))
    assert copy.read_text() == '{"id":"seven","author":"008","text":"a"}\n'


def test_what_a_record_has_come_by_is_written_too(tmp_path):
    path, copy = tmp_path / "a.txt", tmp_path / "b.jsonl"
    path.write_text("Ann\n")
    write(copy, (replace(r, secrets=(Secret(0, 3, "PERSON", 0.5),), label=1) for r in open_records(path)))
    assert json.loads(copy.read_text()) == {
        "text": "Ann",
        "label": 1,
        "secrets": [{"start": 0, "end": 3, "kind": "PERSON", "score": 0.5}],
    }


def test_a_new_record_is_written_with_the_given_names_and_its_parts_win(tmp_path):
    record = Record("1", "Ann: Hi\n", turns=(Turn("Ann", 5, 7),), fields={"body": "old", "topic": "t"})
    write(tmp_path / "a.jsonl", [record], fields=Fields(text="body"))
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {
        "id": "1",
        "body": "Ann: Hi\n",
        "turns": [{"speaker": "Ann", "text": "Hi"}],
        "topic": "t",
    }


def test_records_travel_between_processes_with_their_layout(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"topic":"t","id":1,"turns":[{"speaker":"A","text":"x","act":"y"}]}\n')
    records = list(open_records(path))
    write(tmp_path / "b.jsonl", records)
    write(tmp_path / "b.jsonl", pickle.loads(pickle.dumps(records)))
    assert (tmp_path / "b.jsonl").read_text() == path.read_text()


# tables


def test_parquet_keeps_the_types_of_the_table_it_came_from(tmp_path):
    path, copy = tmp_path / "a.parquet", tmp_path / "b.parquet"
    columns = {
        "id": pa.array([1, 2], pa.int32()),
        "text": pa.array(["a", "b"], pa.large_string()),
        "when": pa.array([datetime(2024, 1, 2), None], pa.timestamp("ms")),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(8, 2)),
        "vector": pa.array([[0.5], []], pa.list_(pa.float32())),
        "facts": pa.array([{"x": 1}, {"x": 2}], pa.struct([("x", pa.int8())])),
        "turns": pa.array([[{"speaker": "A", "text": "a"}], [{"speaker": "B", "text": "b"}]]),
        "nothing": pa.nulls(2),
    }
    pq.write_table(pa.table(columns), path)
    write(copy, open_records(path))
    schema = pq.read_schema(copy)
    assert {name: schema.field(name).type for name in columns if name != "nothing"} == {
        name: column.type for name, column in columns.items() if name != "nothing"
    }
    assert pq.read_table(copy).to_pylist() == pq.read_table(path).to_pylist()


def test_dates_and_decimals_of_a_table_become_text_in_json(tmp_path):
    path, copy = tmp_path / "a.parquet", tmp_path / "b.jsonl"
    pq.write_table(pa.table({"text": ["a"], "price": [Decimal("1.50")], "when": [datetime(2024, 1, 2)]}), path)
    write(copy, open_records(path))
    assert json.loads(copy.read_text()) == {"text": "a", "price": "1.50", "when": "2024-01-02T00:00:00"}


def test_objects_without_a_known_type_are_kept_as_json_in_tables(tmp_path):
    path = tmp_path / "a.parquet"
    write(path, [Record("1", "a", fields={"x": {"k": 1}, "tags": ["t"]}), Record("2", "b", fields={"x": {"other": 2}})])
    assert [record.fields for record in open_records(path)] == [
        {"x": '{"k":1}', "tags": ["t"]},
        {"x": '{"other":2}', "tags": None},
    ]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_columns_and_rows_beyond_the_first_thousand_are_not_lost(tmp_path, name):
    path = tmp_path / name
    many = [Record(f"{number}", f"text {number}", fields={"n": f"{number}"}) for number in range(2500)]
    assert write(path, many) == 2500
    assert [parts(record) for record in open_records(path)] == many
    many[2000] = replace(many[2000], fields={"n": "1", "late": "2"})
    with pytest.raises(InputError, match="'late' first appears after 1000 records"):
        write(path, many)
    assert len(list(open_records(path))) == 2500


def test_values_of_two_types_in_one_column_name_the_field(tmp_path):
    with pytest.raises(InputError, match=r"'n' holds values of more than one type.*\.jsonl"):
        write(tmp_path / "a.parquet", [Record("1", "a", fields={"n": 1}), Record("2", "b", fields={"n": "Ann"})])
    assert list(tmp_path.iterdir()) == []


# whole or not at all, and never onto the input


def test_a_failure_on_the_way_leaves_what_was_there(tmp_path):
    source, target = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    source.write_text('{"text": "a"}\n' * 600 + "broken\n")
    target.write_text("before")
    with pytest.raises(InputError, match="line 601"):
        write(target, open_records(source))
    assert target.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize("way", ["itself", "link", "generator", "like", "in the folder"])
def test_the_input_is_never_written_onto(tmp_path, way):
    folder = tmp_path / "mails"
    folder.mkdir()
    source = folder / "a.jsonl"
    source.write_text('{"text": "a"}\n')
    mail = open_records(folder if way == "in the folder" else source)
    target = source
    if way == "link":
        target = tmp_path / "link.jsonl"
        target.hardlink_to(source)
    if way == "in the folder":
        target = folder / "new.jsonl"
    records = (replace(record, text="b") for record in mail)
    with pytest.raises(RefusedError, match="input is never modified"):
        write(target, mail if way == "itself" else records, like=mail if way in ("like", "in the folder") else None)
    assert source.read_text() == '{"text": "a"}\n'
    assert [path.name for path in folder.iterdir()] == ["a.jsonl"]


def test_a_file_that_was_read_before_may_be_replaced(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n')
    write(path, [replace(record, text="b") for record in open_records(path)])
    assert path.read_text() == '{"text":"b"}\n'


@pytest.mark.parametrize("text", ["two\nlines", "ends in \r", " ", ""])
def test_plain_text_refuses_what_it_cannot_keep_and_names_the_fix(tmp_path, text):
    with pytest.raises(RefusedError, match=r"record 2 .*write to a \.jsonl file"):
        write(tmp_path / "a.txt", [Record("1", "fine"), Record("2", text)])


def test_what_json_cannot_hold_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="what JSON cannot"):
        write(tmp_path / "a.jsonl", [Record("1", "a", fields={"raw": b"bytes"})])
    with pytest.raises(InputError, match="what JSON cannot"):
        write(tmp_path / "a.jsonl", [Record("1", "\ud800")])


def test_targets_that_cannot_be_written_are_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"'\.docx' is not known"):
        write(tmp_path / "a.docx", [])
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(DiscreetError, match="this is a folder"):
        write(tmp_path / "folder.jsonl", [])


def test_progress_is_told_as_records_are_written(tmp_path):
    told: list[int] = []
    write(tmp_path / "a.jsonl.gz", (Record(str(number), "a") for number in range(2500)), on_progress=told.append)
    assert told == [1000, 2000, 2500]
    assert len(list(open_records(tmp_path / "a.jsonl.gz"))) == 2500

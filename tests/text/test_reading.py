"""Reading: what records come out of a file, and how they are divided."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.text.reading import Fields, open_records, read
from discreet.text.records import Secret, Turn

quick = settings(derandomize=True, deadline=None, max_examples=150)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("reading")


def jsonl(folder: Path, *rows: Any, name: str = "mail.jsonl") -> Path:
    path = folder / name
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def wrong(path: Path, **how: Any) -> str:
    """The sentence a walk through the file ends with."""
    with pytest.raises(InputError) as caught:
        list(open_records(path, **how))
    return str(caught.value)


# what a row becomes


def test_a_row_becomes_a_record_with_its_parts_and_the_rest_kept(tmp_path):
    row = {
        "id": 7,
        "text": "Call Ann",
        "author": "bob",
        "label": 1,
        "pair": "Who?",
        "secrets": [{"start": 5, "end": 8, "kind": "PERSON"}],
        "pair_secrets": [[0, 3, "WORD", 0.5]],
        "split": "test",
        "topic": {"a": [1]},
    }
    [record] = open_records(jsonl(tmp_path, row))
    assert asdict(record) == {
        "id": "7",
        "text": "Call Ann",
        "author": "bob",
        "label": 1,
        "pair": "Who?",
        "secrets": (Secret(5, 8, "PERSON"),),
        "pair_secrets": (Secret(0, 3, "WORD", 0.5),),
        "split": "test",
        "turns": (),
        "fields": {"topic": {"a": [1]}},
        "place": f"{tmp_path / 'mail.jsonl'}, line 1",
    }


def test_field_names_can_be_chosen_and_the_usual_ones_are_then_other_fields(tmp_path):
    path = jsonl(tmp_path, {"body": "Hi", "key": "k", "text": "not this"})
    [record] = open_records(path, fields=Fields(text="body", id="key"))
    assert (record.id, record.text, record.fields) == ("k", "Hi", {"text": "not this"})


def test_a_record_without_id_is_called_by_its_place(tmp_path):
    path = jsonl(tmp_path, {"text": "a"}, "", {"text": "b", "id": None})
    assert [record.id for record in open_records(path)] == ["mail.jsonl:1", "mail.jsonl:3"]


def test_turns_without_text_make_a_text_with_a_line_for_each(tmp_path):
    path = jsonl(tmp_path, {"turns": [{"speaker": "USR", "text": "Hi."}, {"speaker": "SYS", "text": "Hello\nAnn."}]})
    [record] = open_records(path)
    assert record.text == "USR: Hi.\nSYS: Hello\nAnn.\n"
    assert record.turns == (Turn("USR", 5, 8), Turn("SYS", 14, 24))
    assert [record.text[turn.start : turn.end] for turn in record.turns] == ["Hi.", "Hello\nAnn."]
    assert record.fields == {}


def test_turns_are_located_in_the_text_that_stands_beside_them(tmp_path):
    row = {
        "text": "[A] A\n[B] A too",
        "turns": [{"speaker": "A", "utterance": "A"}, {"speaker": "B", "utterance": "A too"}],
    }
    [record] = open_records(jsonl(tmp_path, row))
    assert record.text == "[A] A\n[B] A too"
    assert [record.text[turn.start : turn.end] for turn in record.turns] == ["A", "A too"]


def test_short_words_are_not_mistaken_for_a_part_of_the_speakers_name(tmp_path):
    row = {"text": "AGENT: A\n", "turns": [{"speaker": "AGENT", "text": "A"}]}
    [record] = open_records(jsonl(tmp_path, row))
    assert record.turns == (Turn("AGENT", 7, 8),)


def test_a_table_gives_nested_fields_as_json_and_empty_cells_as_nothing(tmp_path):
    path = tmp_path / "mail.csv"
    path.write_text('id,text,secrets,author,note\n,Call Ann,"[[5,8,""PERSON""]]",,\n')
    [record] = open_records(path)
    assert record.secrets == (Secret(5, 8, "PERSON"),)
    assert (record.id, record.author, record.fields) == ("mail.csv:2", None, {"note": ""})


def test_a_quoted_cell_may_hold_line_ends_and_the_next_row_knows_its_line(tmp_path):
    path = tmp_path / "mail.csv"
    path.write_bytes(b'text\r\n"one\r\ntwo, ""three"""\r\nfour\r\n')
    first, second = open_records(path)
    assert first.text == 'one\r\ntwo, "three"'
    assert second.place.endswith("line 4")


def test_a_very_large_cell_is_read(tmp_path):
    path = tmp_path / "mail.csv"
    path.write_text("text\n" + "a" * 300_000 + "\n")
    assert [len(record.text) for record in open_records(path)] == [300_000]


def test_plain_tsv_takes_quotes_as_they_are(tmp_path):
    path = tmp_path / "mail.tsv"
    path.write_text('text\tlabel\n"Stop, she said\t1\n')
    assert "never closed" in wrong(path)
    assert "plain-tsv" in wrong(path)
    assert [record.text for record in open_records(path, format="plain-tsv")] == ['"Stop, she said']


# plain text


def test_lines_end_at_line_feeds_only_and_blank_ones_are_no_records(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\u2028still one\r\n \n\ntwo\x0bstill two".encode())
    assert [(r.id, r.text) for r in open_records(path)] == [
        ("a.txt:1", "one\u2028still one"),
        ("a.txt:4", "two\x0bstill two"),
    ]


def test_paragraphs_end_at_blank_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\n\none\ntwo\r\n \t\n\nthree\n")
    found = [(record.id, record.text) for record in open_records(path, records="paragraph")]
    assert found == [("a.txt:3", "one\ntwo"), ("a.txt:7", "three")]


def test_a_file_can_be_one_record(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n\ntwo\n")
    assert [record.text for record in open_records(path, records="file")] == ["one\n\ntwo\n"]


@given(st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n\r"))))
@quick
def test_lines_are_what_stands_between_line_feeds(scratch, lines):
    path = scratch / "lines.txt"
    path.write_bytes(b"x\n" + "\n".join(lines).encode())
    expected = ["x", *(line for line in lines if line and not line.isspace())]
    assert [record.text for record in open_records(path)] == expected


@given(
    st.lists(
        st.lists(st.text(st.characters(blacklist_categories=["Cs", "Z", "Cc"]), min_size=1), min_size=1), min_size=1
    )
)
@quick
def test_paragraphs_are_what_stands_between_blank_lines(scratch, paragraphs):
    path = scratch / "paragraphs.txt"
    path.write_bytes(b"\n \n" + "\n\n\t\n".join("\n".join(lines) for lines in paragraphs).encode())
    expected = ["\n".join(lines) for lines in paragraphs]
    assert [record.text for record in open_records(path, records="paragraph")] == expected


# folders and splits


def test_a_folder_is_all_its_readable_files_in_order_with_ids_of_their_own(tmp_path):
    (tmp_path / "b.txt").write_text("three\n")
    jsonl(tmp_path, {"text": "one"}, name="a.jsonl")
    (tmp_path / "aa").mkdir()
    (tmp_path / "aa" / "b.txt").write_text("two\n")
    (tmp_path / "aa" / "empty.txt").write_text("")
    (tmp_path / ".hidden.txt").write_text("no\n")
    (tmp_path / "picture.png").write_text("no\n")
    folder = open_records(tmp_path)
    assert [(r.id, r.text) for r in folder] == [("a.jsonl:1", "one"), ("aa/b.txt:1", "two"), ("b.txt:1", "three")]
    assert folder.skipped == {"unknown extension": 1}


def test_a_folder_of_files_without_extension_is_read_as_the_named_format(tmp_path):
    (tmp_path / "1.").write_text("From: Ann\n\nHi\n")
    assert "no file in this folder" in wrong(tmp_path)
    [record] = open_records(tmp_path, format="txt", records="file")
    assert (record.id, record.text) == ("1.:1", "From: Ann\n\nHi\n")


def test_an_id_may_not_be_repeated_in_another_file_of_the_folder(tmp_path):
    jsonl(tmp_path, {"id": "x", "text": "one"}, name="a.jsonl")
    jsonl(tmp_path, {"text": "one"}, {"id": "x", "text": "two"}, name="b.jsonl")
    sentence = wrong(tmp_path)
    assert "b.jsonl, line 2" in sentence
    assert "a.jsonl, line 1" in sentence


@pytest.mark.parametrize("valid", ["valid", "validation", "val", "dev"])
def test_files_called_by_their_split_make_a_divided_corpus(tmp_path, valid):
    for name in ("test", valid, "train"):
        (tmp_path / f"{name}.txt").write_text(f"{name} text\n")
    (tmp_path / "LICENSE").write_text("free\n")
    corpus = read(tmp_path)
    assert {split: [r.text for r in corpus.records(split)] for split in corpus.splits} == {
        "train": ["train text"],
        "valid": [f"{valid} text"],
        "test": ["test text"],
    }
    assert {record.split for record in open_records(tmp_path)} == {"train", "valid", "test"}


def test_shards_and_folders_of_a_split_belong_together(tmp_path):
    for number in (0, 1):
        (tmp_path / f"train-0000{number}-of-00002.txt").write_text(f"{number}\n")
    (tmp_path / "test").mkdir()
    for number in (2, 3):
        (tmp_path / "test" / f"mail{number}.txt").write_text(f"{number}\n")
    corpus = read(tmp_path)
    assert {split: [r.text for r in corpus.records(split)] for split in corpus.splits} == {
        "train": ["0", "1"],
        "test": ["2", "3"],
    }


def test_a_folder_that_could_be_divided_or_not_is_refused(tmp_path):
    (tmp_path / "train.txt").write_text("one\n")
    (tmp_path / "more.txt").write_text("two\n")
    with pytest.raises(InputError, match=r"beside the train split stands 'more\.txt'"):
        read(tmp_path)


def test_two_files_cannot_be_the_same_split(tmp_path):
    (tmp_path / "train.txt").write_text("one\n")
    jsonl(tmp_path, {"text": "one"}, name="train.jsonl")
    with pytest.raises(InputError, match="both claim the train split"):
        read(tmp_path)


def test_records_that_name_their_split_are_divided(tmp_path):
    corpus = read(jsonl(tmp_path, {"text": "a"}, {"text": "b", "split": "dev"}, {"text": "c", "split": "test"}))
    assert {split: [r.text for r in corpus.records(split)] for split in corpus.splits} == {
        "train": ["a"],
        "valid": ["b"],
        "test": ["c"],
    }


def test_a_file_without_splits_is_the_train_split(tmp_path):
    corpus = read(jsonl(tmp_path, {"text": "a"}), name="mine")
    assert ([*corpus.splits], corpus.name) == (["train"], "mine")
    assert read(jsonl(tmp_path, {"text": "a"})).name == "mail"


def test_a_split_that_is_named_too_late_is_an_error_not_a_train_record(tmp_path):
    rows = [{"text": "a"}] * 1200 + [{"text": "b", "split": "test"}]
    corpus = read(jsonl(tmp_path, *rows))
    with pytest.raises(InputError, match="line 1201: the first record that names a split"):
        list(corpus.records("train"))


def test_saved_datasets_are_read_with_and_without_splits(tmp_path):
    datasets = pytest.importorskip("datasets")
    one = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "label": [0, 1, 1]})
    one.select([2, 0]).save_to_disk(str(tmp_path / "one"))
    assert [(record.text, record.label) for record in read(tmp_path / "one").records("train")] == [("c", 1), ("a", 0)]
    datasets.DatasetDict({"train": one, "validation": one.select([1])}).save_to_disk(str(tmp_path / "two"))
    corpus = read(tmp_path / "two")
    assert {split: [r.text for r in corpus.records(split)] for split in corpus.splits} == {
        "train": ["a", "b", "c"],
        "valid": ["b"],
    }
    assert [record.id for record in corpus.records("valid")] == ["two/validation:1"]

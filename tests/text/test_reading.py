"""Reading: what records come out of a file, and what is said of files that are wrong."""

import gzip
import json
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, SettingError, UnknownNameError
from discreet.text.reading import Fields, is_being_read, open_records, read
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


@contextmanager
def sentence_naming(path: Path) -> Iterator[None]:
    """Lets errors of the input pass if they name the file."""
    try:
        yield
    except InputError as error:
        if str(path) not in str(error):
            raise


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


# what is wrong


@pytest.mark.parametrize(
    ("row", "reason", "fix"),
    [
        ('{"text": "Ann"', "malformed JSON", "not JSON at column"),
        ('{"text": "\\ud800"}', "malformed JSON", "half a surrogate pair"),
        ('["Ann"]', "not an object", "no object"),
        ({"txt": "Ann"}, "missing text", "did you mean 'txt'?"),
        ({"text": 3}, "text is not a string", "not a string"),
        ({"text": None}, "text is not a string", "not a string"),
        (
            {"text": "Ann", "secrets": [{"start": 0, "end": 4, "kind": "P"}]},
            "secret outside its text",
            "0 to 4 of a text of 3",
        ),
        ({"text": "Ann", "secrets": [[0, 2, "P"], [1, 3, "P"]]}, "secret outside its text", "overlap"),
        ({"text": "Ann", "secrets": [{"start": 0, "end": 3}]}, "bad secrets", "list of"),
        ({"text": "Ann", "secrets": "Ann"}, "bad secrets", "list of"),
        ({"text": "Ann", "secrets": [[True, 3, "P"]]}, "bad secrets", "list of"),
        ({"text": "Ann", "pair": 5}, "wrong kind of value", "'pair' is not a string"),
        ({"text": "Ann", "label": [1]}, "wrong kind of value", "'label' is not"),
        ({"text": "Ann", "id": ""}, "bad id", "not empty"),
        ({"text": "Ann", "id": 1.5}, "bad id", "whole number"),
        ({"text": "Ann", "turns": [{"speaker": "A", "text": "Bob"}]}, "bad turns", "turn 1 are not in the text"),
        ({"turns": [{"speaker": "A", "text": "Ann"}, {"text": "Ann"}]}, "bad turns", "turn 2 needs"),
        ({"turns": "Ann"}, "bad turns", "list of"),
        ({"text": "other", "id": "first"}, "duplicate id", "mail.jsonl, line 1"),
    ],
)
def test_a_bad_row_names_its_place_and_the_fix_and_can_be_skipped(tmp_path, row, reason, fix):
    path = jsonl(tmp_path, {"text": "good", "id": "first"}, row, {"text": "good too", "id": "last"})
    sentence = wrong(path)
    assert sentence.startswith(f"{path}, line 2: ")
    assert fix in sentence
    assert "Ann" not in sentence
    records = open_records(path, on_bad="skip")
    assert [record.id for record in records] == ["first", "last"]
    assert records.skipped == {reason: 1}
    assert records.skipped_places == [f"{path}, line 2: {reason}"]
    assert [record.id for record in records] == ["first", "last"]
    assert records.skipped == {reason: 1}


def test_many_skipped_rows_are_counted_and_a_few_places_kept(tmp_path):
    records = open_records(jsonl(tmp_path, {"text": "a"}, *["no"] * 50), on_bad="skip")
    list(records)
    assert records.skipped == {"malformed JSON": 50}
    assert len(records.skipped_places) == 10


def test_a_file_of_bad_rows_only_is_not_an_empty_corpus(tmp_path):
    sentence = wrong(jsonl(tmp_path, "no", "no"), on_bad="skip")
    assert "malformed JSON: 2" in sentence
    assert "line 1" in sentence


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("text\n“Ann”\n".encode("cp1252"), "cp1252"),
        ("text\nrésumé\n".encode("latin-1"), "latin-1"),
        ("text\nAnn\n".encode("utf-16"), "utf-16"),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_a_wrong_encoding_names_the_byte_and_the_likely_one(tmp_path, content, encoding, name):
    path = tmp_path / name
    path.write_bytes(content)
    sentence = wrong(path)
    assert f"--encoding {encoding}" in sentence
    assert f"{path}, line {1 if encoding == 'utf-16' else 2}: byte " in sentence
    read_right = [record.text for record in open_records(path, encoding=encoding)]
    assert [text for text in read_right if text != "text"] == [content.decode(encoding).split()[1]]


def test_json_lines_in_another_encoding_name_their_line_and_can_be_skipped(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"text": "plain"}\n{"text": "é"}\n'.encode("latin-1"))
    assert "line 2: byte 11 (0xe9) is not utf-8; read it with --encoding latin-1" in wrong(path)
    records = open_records(path, on_bad="skip")
    assert [record.text for record in records] == ["plain"]
    assert records.skipped == {"wrong encoding": 1}
    assert [record.text for record in open_records(path, encoding="latin-1")] == ["plain", "é"]


def test_bytes_that_break_off_in_utf16_name_the_line_before(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("one\ntwo".encode("utf-16") + b"\0")
    assert "the bytes are not utf-16" in wrong(path, encoding="utf-16")


def test_a_csv_row_of_another_width_names_its_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\none,1\ntwo\nthree,3\n")
    assert f"{path}, line 3: 1 columns where the first line has 2" in wrong(path)
    records = open_records(path, on_bad="skip")
    assert [record.text for record in records] == ["one", "three"]
    assert records.skipped == {"wrong number of columns": 1}


def test_a_csv_line_in_another_encoding_spoils_its_own_row_only(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'text,label\n"one\nsm\xf6rg\xe5s",1\ntwo,2\n')
    assert "line 3: byte 3 (0xf6)" in wrong(path)
    assert [record.text for record in open_records(path, on_bad="skip")] == ["two"]


@pytest.mark.parametrize("content", ['text\n"one\ntwo\n', 'text,"label\none,1\n'])
def test_a_quote_that_is_never_closed_cannot_be_skipped(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_text(content)
    assert "never closed" in wrong(path, on_bad="skip")


def test_columns_must_have_names_of_their_own(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,text\na,b\n")
    assert "same name" in wrong(path)


def test_a_table_without_header_does_not_quote_its_first_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Call Ann on 555-0101,2024-01-01\n")
    sentence = wrong(path, on_bad="skip")
    assert "the first line of a table must name its columns" in sentence
    assert "Ann" not in sentence


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_cut_short_compression_always_stops(tmp_path, pack):
    content = "".join(json.dumps({"text": f"record {number}"}) + "\n" for number in range(500)).encode()
    path = tmp_path / ("a.jsonl.gz" if pack is gzip.compress else "a.jsonl.xz")
    path.write_bytes(pack(content)[:-40])
    assert "cut short or broken" in wrong(path, on_bad="skip")


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.xz", "a.jsonl.bz2"])
def test_a_file_that_is_not_compressed_as_it_says_is_one_sentence(tmp_path, name):
    (tmp_path / name).write_text('{"text": "a"}\n')
    assert "rename it" in wrong(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"not parquet at all", b"PAR1PAR1"])
def test_a_broken_table_is_one_sentence(tmp_path, content):
    (tmp_path / "a.parquet").write_bytes(content)
    assert "no parquet file" in wrong(tmp_path / "a.parquet", on_bad="skip")


def test_an_unknown_extension_lists_the_known_ones(tmp_path):
    (tmp_path / "a.docx").write_text("a")
    assert ".jsonl" in wrong(tmp_path / "a.docx")
    assert "'.docx' is not known" in wrong(tmp_path / "a.docx")


def test_a_missing_file_offers_the_one_beside_it(tmp_path):
    jsonl(tmp_path, {"text": "a"})
    assert wrong(tmp_path / "mial.jsonl").endswith("there is no such file; did you mean 'mail.jsonl'?")


def test_settings_that_make_no_sense_are_refused(tmp_path):
    path = jsonl(tmp_path, {"text": "a"})
    with pytest.raises(SettingError, match="did you mean 'paragraph'"):
        open_records(path, records="paragraphs")
    with pytest.raises(SettingError, match="known: skip, stop"):
        open_records(path, on_bad="ignore")
    with pytest.raises(SettingError, match="not a text encoding"):
        open_records(path, encoding="base64")
    with pytest.raises(UnknownNameError, match="jsonl"):
        open_records(path, format="jsnol")
    with pytest.raises(SettingError, match="one field"):
        open_records(path, fields=Fields(text="x", id="x"))


def test_a_file_counts_as_being_read_only_while_it_is(tmp_path):
    path = jsonl(tmp_path, {"text": "a"}, {"text": "b"})
    walk = iter(open_records(path))
    assert not is_being_read(path)
    next(walk)
    assert is_being_read(path)
    list(walk)
    assert not is_being_read(path)


@given(
    st.binary(max_size=60)
    | st.lists(
        st.sampled_from(
            [b'{"text":', b'"a"', b"}", b"\n", b"[", b"\xff", b'"id":1,', b'"turns":[]', b'"secrets":[[0,1,"K"]],']
        ),
        max_size=12,
    ).map(b"".join),
    st.sampled_from(["stop", "skip"]),
)
@settings(derandomize=True, deadline=None, max_examples=600)
def test_any_bytes_are_records_or_one_sentence(scratch, content, on_bad):
    path = scratch / "fuzz.jsonl"
    path.write_bytes(content)
    with sentence_naming(path):
        for record in open_records(path, on_bad=on_bad):
            assert isinstance(record.text, str)


@given(st.binary(max_size=60))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_any_bytes_of_a_table_are_records_or_one_sentence(scratch, content):
    path = scratch / "fuzz.csv"
    path.write_bytes(b"text,id\n" + content)
    with sentence_naming(path):
        list(open_records(path))

"""Reading: what is said of files that are wrong, and what is left out of them on request."""

import gzip
import json
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, SettingError, UnknownNameError
from discreet.text.reading import Fields, is_being_read, open_records


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

"""Writing: nothing that was redacted from a record comes out of it by another way."""

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.text.reading import open_records
from discreet.text.records import Edit, Record, Secret, edit
from discreet.text.writing import write

words = st.text(st.characters(blacklist_categories=["Cs"]), max_size=12)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("writing")


@given(st.lists(st.tuples(st.sampled_from(["USR", "Ann Lee", "A", ""]), words), max_size=5), st.data())
@settings(derandomize=True, deadline=None, max_examples=60)
def test_turns_follow_every_edit_of_the_text(scratch, said, data):
    path = scratch / "dialog.jsonl"
    row = {"id": "d", "turns": [{"speaker": speaker, "text": spoken} for speaker, spoken in said]}
    path.write_text(json.dumps(row) + "\n")
    [record] = open_records(path)
    edges = sorted(data.draw(st.sets(st.integers(0, len(record.text)), max_size=4)))
    edits = [Edit(edges[place], edges[place + 1], "▇") for place in range(0, len(edges) - 1, 2)]
    changed = edit(record, edits)
    copy = scratch / "dialog-copy.jsonl"
    write(copy, [changed])
    [again] = [json.loads(line) for line in copy.read_text().split("\n")[:-1]]
    assert list(again) == ["id", "turns"]
    assert [turn["text"] for turn in again["turns"]] == [changed.text[turn.start : turn.end] for turn in changed.turns]
    if not edits:
        assert again == row


def redacted_row(folder: Path, row: dict[str, Any], *secrets: str) -> Any:
    """The row after each of the given words was redacted from the text."""
    source, target = folder / "secret.jsonl", folder / "clean.jsonl"
    source.write_text(json.dumps(row) + "\n")
    mail = open_records(source)

    def clean(record: Record) -> Record:
        for secret in secrets:
            while secret in record.text:
                start = record.text.index(secret)
                record = edit(record, [Edit(start, start + len(secret), "<MASK>")])
        return record

    write(target, map(clean, mail), like=mail)
    assert not any(secret in target.read_text() for secret in secrets)
    return json.loads(target.read_text())


def test_text_and_turns_of_a_row_are_both_redacted(tmp_path):
    row = {
        "turns": [{"speaker": "USR", "text": "I am Ann."}, {"speaker": "SYS", "text": "Hi Ann!"}],
        "text": "USR: I am Ann.\nSYS: Hi Ann!\n",
    }
    assert redacted_row(tmp_path, row, "Ann") == {
        "turns": [{"speaker": "USR", "text": "I am <MASK>."}, {"speaker": "SYS", "text": "Hi <MASK>!"}],
        "text": "USR: I am <MASK>.\nSYS: Hi <MASK>!\n",
    }


def test_a_redacted_record_remembers_nothing_of_what_was_redacted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text":"S: I am Ann","turns":[{"speaker":"S","text":"I am Ann"}],"pair":"Ann","topic":1}\n')
    [record] = open_records(path)
    clean = replace(edit(record, [Edit(8, 11, "X")]), pair="X")
    assert b"Ann" in pickle.dumps(record)
    assert b"Ann" not in pickle.dumps(clean)


def test_a_redacted_speaker_is_redacted_in_the_turns_too(tmp_path):
    row = {"turns": [{"speaker": "Ann", "text": "Hello."}, {"speaker": "A", "text": "Bye, Ann."}]}
    assert redacted_row(tmp_path, row, "Ann", "A:")["turns"] == [
        {"speaker": "<MASK>", "text": "Hello."},
        {"speaker": "<MASK>", "text": "Bye, <MASK>."},
    ]


def test_a_speaker_the_text_does_not_show_stays(tmp_path):
    row = {
        "text": "Hello Ann. (pause) Bye.",
        "turns": [{"speaker": "1", "text": "Hello Ann."}, {"speaker": "2", "text": "Bye."}],
    }
    assert [turn["speaker"] for turn in redacted_row(tmp_path, row, "Ann")["turns"]] == ["1", "2"]


def test_other_keys_of_turns_are_dropped_once_the_text_has_changed(tmp_path):
    row = {
        "turns": [
            {"act": "name=Ann", "speaker": "USR", "text": "Ann."},
            {"speaker": "SYS", "text": "OK", "act": "ok Ann"},
        ]
    }
    assert redacted_row(tmp_path, row)["turns"] == row["turns"]
    assert list(redacted_row(tmp_path, row)["turns"][0]) == ["act", "speaker", "text"]
    assert redacted_row(tmp_path, row, "Ann")["turns"] == [
        {"speaker": "USR", "text": "<MASK>."},
        {"speaker": "SYS", "text": "OK"},
    ]


def test_what_a_secret_repeats_beside_its_span_is_not_written(tmp_path):
    row = {"text": "I am Ann.", "secrets": [{"start": 5, "end": 8, "kind": "PERSON", "value": "Ann"}]}
    assert redacted_row(tmp_path, row, "Ann") == {"text": "I am <MASK>."}
    assert redacted_row(tmp_path, row)["secrets"] == [{"start": 5, "end": 8, "kind": "PERSON"}]


def test_pair_and_secrets_come_from_the_record(tmp_path):
    path, copy = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    row = {"pair": "Ann?", "pair_secrets": [[0, 3, "PERSON"]], "text": "Ann", "secrets": [[0, 3, "PERSON"]], "topic": 1}
    path.write_text(json.dumps(row) + "\n")
    write(
        copy,
        (
            replace(r, text="X", pair="Y?", secrets=(Secret(0, 1, "MASK"),), pair_secrets=None)
            for r in open_records(path)
        ),
    )
    assert copy.read_text() == '{"pair":"Y?","text":"X","secrets":[{"start":0,"end":1,"kind":"MASK"}],"topic":1}\n'

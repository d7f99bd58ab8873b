"""How named corpora are read: what is kept and left out, files of another shape, large JSON files, dialogs."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, UnknownNameError
from discreet.text.corpora import big_json, named
from discreet.text.corpora.dialogs import Said, united, written
from discreet.text.records import Secret, check_secrets


def put_table(path: Path, *rows: tuple[str, ...]) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def test_an_unknown_corpus_offers_the_nearest_name(tmp_path):
    with pytest.raises(UnknownNameError, match="wikitext-2"):
        named("wikitext2", tmp_path)


def test_wikitext_keeps_headings_and_counts_blank_lines_in_ids(tmp_path):
    text = " \n = Otters = \n \n Otters swim @-@ well . \n\n = = Food = = \n They eat\u2028fish . \n"
    (tmp_path / "train.txt").write_text(text, encoding="utf-8")
    records = list(named("wikitext-2", tmp_path).records("train"))
    assert [record.id for record in records] == ["train:2", "train:4", "train:6", "train:7"]
    assert [record.fields["heading"] for record in records] == [True, False, True, False]
    assert records[1].text == "Otters swim @-@ well ."


def test_qqp_leaves_out_and_counts_the_broken_rows_of_the_public_file(tmp_path):
    header = ("id", "qid1", "qid2", "question1", "question2", "is_duplicate")
    put_table(tmp_path / "train.tsv", header, ("0", "1", "2", "Who?", "Whom?", "1"), ("1", "3", "4", "Broken"))
    put_table(tmp_path / "dev.tsv", header, ("0", "1", "2", "Who?", "Whom?", "1"))
    stream: Any = named("qqp", tmp_path).records("train")
    assert [(record.text, record.pair, record.label) for record in stream] == [("Who?", "Whom?", 1)]
    assert stream.skipped == {"fields": 1}


def test_mnli_keeps_no_second_copy_of_a_sentence(tmp_path):
    header = ("index", "genre", "sentence1", "sentence2", "label1", "gold_label")
    row = ("0", "x", "Otters.", "Seals.", "neutral", "neutral")
    put_table(tmp_path / "train.tsv", (*header, "sentence1_parse"), (*row, "(ROOT Otters)"))
    put_table(tmp_path / "dev_matched.tsv", header, row)
    [record] = named("mnli", tmp_path).records("train")
    assert record.fields == {"index": "0", "genre": "x", "label1": "neutral"}


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("sgd", "train.jsonl", '{"dialogue_id": "1", "services": [], "turns": [{"speaker": "USER", "spans": []}]}'),
        ("sgd", "train.jsonl", '{"dialogue_id": "1", "services": [], "turns": 7}'),
        ("ubuntu-irc", "train.jsonl", '{"log": "secret-word"'),
        (
            "multiwoz",
            "val.jsonl",
            '{"id": "secret-word", "turns": [{"speaker": "USER", "text": "x", "span_info": [["a"]]}]}',
        ),
        ("abcd", "valid.txt", "secret-word without a speaker"),
        ("abcd", "abcd_v1.1.json", '{"dev": [{"convo_id": 1, "original": [["secret-word", "x"]]}]}'),
        ("presidio-synth", "synth_dataset_v2.json", '[{"full_text": "secret-word", "spans": []'),
        ("sst-2", "train.tsv", "sentence\tlabel\nsecret-word"),
        ("sst-2", "train.tsv", "secret-word\tlabel\n"),
        (
            "customersim",
            "train.jsonl",
            '{"id": "a", "turns": [{"speaker": "SYS", "text": "x"}], "text": "secret-word"}',
        ),
        ("multidogo", "airline/train.tsv", "c\tsecret-word\tu\thello\tO\tintent"),
    ],
)
def test_a_file_of_another_shape_is_one_sentence_without_its_content(name, file, content, tmp_path):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(named(name, tmp_path).all())
    message = str(caught.value)
    assert Path(file).name in message
    assert "secret-word" not in message.replace("'secret-word' is missing", "")
    assert "\n" not in message


leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)
containers = st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=3), values, max_size=4)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(value=containers, chunk=st.integers(1, 9), indent=st.sampled_from([None, 1]))
def test_members_of_a_large_json_file_are_those_of_the_whole(value, chunk, indent, tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "one.json"
    path.write_text(json.dumps(value, indent=indent), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(big_json, "CHUNK", chunk)
        found = list(big_json.members(path))
    wanted = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    assert [(key, member) for (key,), member in found] == wanted


def test_members_two_deep_carry_both_keys(tmp_path):
    path = tmp_path / "two.json"
    path.write_text('{"a": [1, 22], "b": [], "c": {"d": null}}', encoding="utf-8")
    assert list(big_json.members(path, depth=2)) == [(("a", 0), 1), (("a", 1), 22), (("c", "d"), None)]


spans = st.tuples(st.integers(0, 20), st.integers(1, 6), st.sampled_from("AB")).map(
    lambda s: Secret(s[0], s[0] + s[1], s[2])
)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(spans, max_size=6).flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))))
def test_united_secrets_cover_the_same_characters_without_overlap_in_any_order(both):
    secrets, shuffled = both
    result = united(secrets)
    assert result == united(shuffled)
    assert check_secrets(result, " " * 30, "here") == tuple(result)
    covered = [{position for s in some for position in range(s.start, s.end)} for some in (secrets, result)]
    assert covered[0] == covered[1]


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(["USER", "SYSTEM"]), st.text(min_size=1, max_size=8)), max_size=5))
def test_turns_and_secrets_of_a_dialog_lie_on_what_was_said(said):
    text, turns, secrets = written(Said(speaker, words, [Secret(0, len(words), "ALL")]) for speaker, words in said)
    assert [(turn.speaker, text[turn.start : turn.end]) for turn in turns] == said
    assert [text[secret.start : secret.end] for secret in secrets] == [words for _, words in said]

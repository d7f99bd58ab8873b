"""The public files themselves, where they are at hand: known numbers of records, secrets on the marked words."""

import gzip
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from discreet.text.corpora import named
from discreet.text.corpus import Corpus
from discreet.text.records import Record


def words(record: Record) -> Iterator[tuple[str, str]]:
    return ((secret.kind, record.text[secret.start : secret.end]) for secret in record.secrets or ())


def counted(corpus: Corpus) -> dict[str, int]:
    return {split: sum(1 for _ in corpus.records(split)) for split in corpus.splits}


@pytest.mark.parametrize(
    ("name", "folder", "counts"),
    [
        ("wikitext-2", "wikitext-2-raw", {"train": 23_767, "valid": 2_461, "test": 2_891}),
        ("customersim", "customersim", {"train": 10_010, "valid": 1_000, "test": 1_000}),
        ("sgd", "sgd", {"train": 12_174, "valid": 2_098}),
        ("cola", "glue", {"train": 8_551, "valid": 1_043}),
        ("mrpc", "glue", {"train": 3_667, "valid": 408}),
        ("rte", "glue", {"train": 2_490, "valid": 277}),
    ],
)
def test_the_public_files_have_the_known_number_of_records(name, folder, counts, shared_data):
    assert counted(named(name, shared_data / folder)) == counts


@pytest.mark.parametrize(
    ("name", "folder", "count"),
    [
        ("multiwoz", "multiwoz-2.1", 999),
        ("abcd", "abcd", 1_004),
        ("presidio-synth", "presidio-synth", 1_500),
        ("qnli", "glue", 5_463),
    ],
)
def test_a_public_part_that_stands_alone_is_divided_without_loss(name, folder, count, shared_data):
    counts = counted(named(name, shared_data / folder))
    assert sum(counts.values()) == count
    assert counts["train"] > 0.8 * count > counts["valid"] > 0


def test_abcd_records_are_the_file_dialog_by_dialog(shared_data):
    *dialogs, after = (shared_data / "abcd" / "valid.txt").read_text(encoding="utf-8").split("<|endoftext|>")
    assert not after.strip()
    assert sorted(record.text for record in named("abcd", shared_data / "abcd").all()) == sorted(dialogs)


def test_sgd_secrets_are_the_marked_characters(shared_data):
    with gzip.open(shared_data / "sgd" / "dev.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in itertools.islice(stream, 200)]
    records = itertools.islice(named("sgd", shared_data / "sgd").records("valid"), 200)
    for row, record in zip(rows, records, strict=True):
        marked = [
            (slot.upper(), turn["utterance"][start:end])
            for turn in row["turns"]
            for slot, start, end, _ in sorted(turn["spans"], key=lambda span: span[1])
        ]
        assert list(words(record)) == marked


def test_multiwoz_secrets_are_the_marked_words(shared_data):
    with gzip.open(shared_data / "multiwoz-2.1" / "val.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = {row["id"]: row for row in map(json.loads, itertools.islice(stream, 200))}
    checked = 0
    for record in named("multiwoz", shared_data / "multiwoz-2.1").records("train"):
        if record.id in rows:
            marked = {
                (slot.upper(), " ".join(turn["text"].split()[first : last + 1]))
                for turn in rows[record.id]["turns"]
                for _, slot, value, first, last in turn["span_info"]
            }
            # overlapping values become one secret, so a few are longer than any single mark
            found = {(kind, " ".join(text.split())) for kind, text in words(record)}
            assert len(found & marked) >= 0.9 * len(found)
            checked += len(found)
    assert checked > 1_000


def test_multidogo_and_ubuntu_irc_parts_have_the_known_size(shared_data):
    dogo: Any = named("multidogo", shared_data / "multidogo").records("valid")
    assert sum(1 for _ in dogo) == 695
    assert dogo.skipped == {"fields": 71, "empty": 4}
    irc: Any = named("ubuntu-irc", shared_data / "ubuntu-irc").records("test")
    assert sum(1 for _ in irc) == 13_840
    assert irc.skipped == {"empty": 1}

"""Corpora and their splits."""

from itertools import chain

import pytest

from discreet.errors import InputError, SettingError
from discreet.text.corpus import Corpus, by_split, divide
from discreet.text.records import Record

RECORDS = [Record(str(n), f"text {n}", split=("train", "dev", "test")[n % 3]) for n in range(30)]


def test_records_go_to_the_split_they_name():
    corpus = by_split(RECORDS)
    assert list(corpus.splits) == ["train", "valid", "test"]
    assert [r.id for r in corpus.records("valid")] == [str(n) for n in range(1, 30, 3)]
    assert [r.id for r in corpus.records("valid")] == [r.id for r in corpus.records("valid")]  # again


def test_an_unknown_split_is_named_with_its_place():
    with pytest.raises(InputError, match=r"mail.jsonl, line 2: the split 'x' is none of"):
        by_split([Record("1", "a", split="x", place="mail.jsonl, line 2")])


def test_a_missing_split_says_which_there_are():
    with pytest.raises(SettingError, match="no 'test' split; it has: train"):
        Corpus({"train": []}).records("test")


def test_dividing_puts_each_record_in_one_split_and_the_same_one_each_time():
    corpus = Corpus({"train": [Record(str(n), "t") for n in range(4000)]})
    parts = divide(corpus, valid=0.1, test=0.2)
    ids = {split: [r.id for r in parts.records(split)] for split in parts.splits}
    assert sorted(chain.from_iterable(ids.values())) == sorted(str(n) for n in range(4000))
    # Binomial with 4,000 draws: six standard deviations, false alarm below 1e-8.
    assert abs(len(ids["valid"]) - 400) < 6 * (4000 * 0.1 * 0.9) ** 0.5
    assert abs(len(ids["test"]) - 800) < 6 * (4000 * 0.2 * 0.8) ** 0.5
    assert ids == {split: [r.id for r in divide(corpus, 0.1, 0.2).records(split)] for split in parts.splits}
    assert ids["valid"] != [r.id for r in divide(corpus, 0.1, 0.2, seed=1).records("valid")]


def test_dividing_what_is_divided_is_refused():
    with pytest.raises(SettingError, match="already divided"):
        divide(by_split(RECORDS))


def test_the_fingerprint_changes_with_anything_training_can_see():
    base = Corpus({"train": [Record("1", "a", author="x")]}).fingerprint()
    assert base == Corpus({"train": [Record("1", "a", author="x", place="elsewhere")]}).fingerprint()
    for other in (Record("2", "a", author="x"), Record("1", "b", author="x"), Record("1", "a", author="y")):
        assert Corpus({"train": [other]}).fingerprint() != base
    assert Corpus({"valid": [Record("1", "a", author="x")]}).fingerprint() != base


def test_limits_and_changes_touch_only_the_splits_named():
    corpus = by_split(RECORDS).limited(train=2).map(lambda r: Record(r.id, "x"), ["test"])
    assert len(list(corpus.records("train"))) == 2
    assert {r.text for r in corpus.records("test")} == {"x"}
    assert len(list(corpus.records("valid"))) == 10

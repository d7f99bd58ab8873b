"""Disparity between authors: hand-computed values, groups by number of records, nobody named."""

import json
import math

import pytest
import torch

from discreet.errors import InputError, SettingError
from discreet.evaluate.disparity import AuthorScore, Disparity, disparity, disparity_of
from discreet.evaluate.stored import read_evaluation
from discreet.models.language import load_model
from discreet.policy.specs import policy
from discreet.text.corpus import Corpus
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer
from tests.evaluate.small_run import letters, untrained_run


@pytest.fixture(scope="module")
def corpus():
    return letters()


@pytest.fixture(scope="module")
def runs(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("runs")
    return [untrained_run(folder / str(seed), corpus, seed) for seed in (1, 2)]


def by_hand(run, corpus, author):
    """The perplexity of an author's records, one at a time and with the whole softmax."""
    encoder, model = Encoder(load_tokenizer(str(run.model_folder))), load_model(run.model_folder).eval()
    losses = []
    for record, secrets in policy("gold").secrets_of_all(corpus.records("test")):
        if record.author == author:
            ids = torch.from_numpy(encoder.encode(record, secrets).ids.astype("int64"))
            logits = model(input_ids=ids[None, :-1]).logits[0].log_softmax(-1)
            losses += (-logits.gather(1, ids[1:, None])).squeeze(1).tolist()
    return math.exp(sum(losses) / len(losses))


def test_perplexities_and_increases_are_those_computed_by_hand(runs, corpus):
    found = disparity(runs[0], corpus, reference=runs[1])
    assert [one.trained for one in found.authors] == [6, 5, 4, 3, 2, 1]
    assert [one.records for one in found.authors] == [2] * 6
    for one, author in zip(found.authors, ("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn"), strict=True):
        assert one.perplexity == pytest.approx(by_hand(runs[0], corpus, author), rel=1e-5)
        assert one.reference == pytest.approx(by_hand(runs[1], corpus, author), rel=1e-5)
    assert found.group == 3  # six authors make two groups of three


def test_it_is_kept_in_the_run_without_names(runs, corpus):
    found = disparity(runs[0], corpus)
    kept = read_evaluation(runs[0]).disparity["test"]  # type: ignore[union-attr]
    assert kept["gap"] == found.gap == found.bottom - found.top
    assert kept["top_increase"] is None
    text = json.dumps(kept)
    assert not any(name in text for name in ("Ada", "Finn"))


def test_groups_are_the_authors_with_most_and_fewest_records():
    authors = tuple(AuthorScore(20 - n, 2, 10.0 + n, 9.0) for n in range(12))
    found = Disparity(authors, 5)
    assert (found.top, found.bottom) == (12.0, 19.0)
    assert (found.top_increase, found.bottom_increase, found.gap) == (3.0, 10.0, 7.0)
    assert Disparity((*authors[:1], AuthorScore(1, 1, 14.5)), 1).gap == 4.5  # no reference for one: by perplexity


def test_another_tokenizer_and_text_without_authors_are_refused(runs, corpus, tmp_path):
    other = untrained_run(tmp_path / "other", corpus, vocabulary=280)
    with pytest.raises(SettingError, match="another tokenizer"):
        disparity(runs[0], corpus, reference=other)
    nameless = Corpus(
        {"train": [Record("1", "the cat", secrets=())], "test": [Record("2", "the mat", secrets=())]}, "nameless"
    )
    with pytest.raises(InputError, match="author"):
        disparity(runs[0], nameless)


def test_records_without_an_author_are_left_out(runs, corpus):
    encoder, model = Encoder(load_tokenizer(str(runs[0].model_folder))), load_model(runs[0].model_folder)
    test = list(corpus.records("test"))
    mixed = [Record("x", "nobody wrote this", secrets=()), *test]
    one, two = (
        disparity_of(model, encoder.encode_all(policy("gold").secrets_of_all(part)), {"Ada": 3})
        for part in (test, mixed)
    )
    assert len(one.authors) == len(two.authors) == 6
    assert one.authors[0].trained == 3
    assert two.top == pytest.approx(one.top, rel=1e-5)

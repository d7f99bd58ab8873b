"""Evaluations stay in the run, if they are the run's own, and hold no text."""

import dataclasses

import pytest

from discreet.errors import RunError
from discreet.evaluate.perplexity import evaluate
from discreet.evaluate.stored import read_evaluation, store
from discreet.files import read_json
from discreet.policy.specs import policy
from discreet.text.corpus import Corpus
from tests.evaluate.small_run import letter, letters, untrained_run


@pytest.fixture(scope="module")
def corpus():
    return letters()


@pytest.fixture
def run(tmp_path, corpus):
    return untrained_run(tmp_path / "run", corpus)


def test_the_figures_of_a_runs_own_data_are_kept(run, corpus):
    scores = evaluate(run, corpus)
    kept = read_evaluation(run)
    assert kept is not None
    assert kept.splits == {"test": scores.to_json()}
    evaluate(run, corpus, split="train")
    assert list(read_evaluation(run).splits) == ["test", "train"]  # type: ignore[union-attr]
    text = (run.path / "evaluation.json").read_text()
    assert not any(word in text for word in ("Ada", "0100", "thank"))


def test_figures_of_other_data_or_another_policy_are_not_the_runs(run, corpus):
    other = Corpus({"train": [letter("Ada", 1)], "test": [letter("Ada", 2)]}, "others")
    evaluate(run, other)
    evaluate(run, corpus, policy="digits")
    assert not (run.path / "evaluation.json").exists()


def test_figures_of_other_weights_are_dropped(run, corpus, tmp_path):
    evaluate(run, corpus, split="train")
    untrained = untrained_run(tmp_path / "other", corpus, seed=2)
    weights = "model.safetensors"
    (run.model_folder / weights).write_bytes((untrained.model_folder / weights).read_bytes())
    assert read_evaluation(run) is None
    evaluate(run, corpus)
    assert list(read_evaluation(run).splits) == ["test"]  # type: ignore[union-attr]


def test_what_is_no_number_is_null(run, corpus):
    scores = dataclasses.replace(evaluate(run, corpus), perplexity_secret=float("inf"))
    assert store(run, corpus, policy("gold"), "test", scores=scores.to_json())
    assert read_json(run.path / "evaluation.json")["splits"]["test"]["perplexity_secret"] is None


def test_a_broken_file_is_refused_with_what_to_do(run):
    (run.path / "evaluation.json").write_text('{"model": 1}')
    with pytest.raises(RunError, match="discreet evaluate"):
        read_evaluation(run)

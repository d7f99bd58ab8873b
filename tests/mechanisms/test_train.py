"""From a corpus to a run."""

import numpy as np
import pytest

from discreet.errors import InputError, RefusedError, RunError, SettingError
from discreet.mechanisms.language import LanguageTask, mean_loss
from discreet.mechanisms.recipe import make_recipe
from discreet.mechanisms.run import Run
from discreet.mechanisms.train import read_corpus, train, train_recipe
from discreet.mechanisms.training import Training
from discreet.models.language import load_model
from discreet.policy.specs import policy
from discreet.progress import TrainingBar
from discreet.text.corpus import Corpus
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer


def test_training_a_tokenizer_without_a_policy_is_refused_with_the_reason(tmp_path, notes, small):
    with pytest.raises(RefusedError, match="a vocabulary learned from secrets holds them"):
        train(notes, None, output=tmp_path / "run", progress=False, **small)
    assert not (tmp_path / "run").exists()


def test_the_vocabulary_is_the_same_whether_or_not_the_training_text_is_redacted(tmp_path, notes, small):
    runs = [
        train(notes, "gold", name, output=tmp_path / name, progress=False, **small) for name in ("none", "redacted")
    ]
    first, second = (load_tokenizer(run.model_folder).get_vocab() for run in runs)
    assert first == second
    assert not any(name in token for token in first for name in ("Cleo", "Finn"))


def test_redacted_text_has_masks_that_are_never_targets(tmp_path, notes, small):
    recipe = make_recipe({"policy": "gold", **small})
    tokenizer = load_tokenizer(train(notes, "gold", output=tmp_path / "r", progress=False, **small).model_folder)
    task = LanguageTask(Encoder(tokenizer))
    training = Training(Run(tmp_path), recipe, notes, policy("gold"), task, None, TrainingBar(False))  # type: ignore[arg-type]
    redacted, plain = training.redacted("train"), training.encoded("train")
    assert (redacted.ids[redacted.ignored] == tokenizer.mask_token_id).all()
    assert redacted.ignored.sum() == 2 * 60
    assert not redacted.secret.any()
    assert np.array_equal(plain.ids[~plain.secret], redacted.ids[~redacted.ignored])


def test_an_empty_training_split_is_named(tmp_path, small):
    corpus = Corpus({"train": [], "valid": [Record("1", "a")]}, "mine")
    with pytest.raises(InputError, match=r"no text|no records"):
        train(corpus, "nothing", output=tmp_path / "run", progress=False, **small)


def test_another_corpus_cannot_go_on_with_a_run(tmp_path, notes, small, monkeypatch):
    def stop(self: Training, encoded: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Training, "fit", stop)
        with pytest.raises(KeyboardInterrupt):
            train(notes, "gold", output=tmp_path / "run", progress=False, **small)
    with pytest.raises(RunError, match="another corpus"):
        train(notes.limited(train=10), "gold", output=tmp_path / "run", progress=False, **small)


def test_a_recipe_without_data_says_what_to_add(tmp_path):
    with pytest.raises(SettingError, match="--data FILE"):
        train_recipe(make_recipe({"policy": "digits"}), tmp_path / "run")


def test_data_settings_divide_and_limit(tmp_path):
    path = tmp_path / "mail.txt"
    path.write_text("".join(f"mail {n}\n" for n in range(400)))
    recipe = make_recipe({"data": {"path": str(path), "divide": {"valid": 0.2, "test": 0}, "limit": {"train": 7}}})
    corpus = read_corpus(recipe.data)
    assert list(corpus.splits) == ["train", "valid"]
    assert len(list(corpus.records("train"))) == 7
    assert 50 < len(list(corpus.records("valid"))) < 110  # binomial, 400 draws of .2: 3.75 standard deviations


def test_bad_rows_that_were_skipped_are_counted_in_the_run(tmp_path, small):
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(f'{{"id": "{n}", "text": "note number {n}"}}\n' for n in range(60)) + "not json\n{}\n")
    settings = {**small, "data": {"path": str(path), "on_bad": "skip"}, "policy": "digits"}
    run = train_recipe(make_recipe(settings), tmp_path / "run", progress=False)
    assert sum(run.manifest["skipped"].values()) == 2


def test_an_lstm_learns_what_is_regular_in_the_text(tmp_path, notes, small):
    settings = {**small, "training": {"epochs": 8, "batch_size": 4, "learning_rate": 0.05}}
    run = train(notes, "gold", output=tmp_path / "run", progress=False, **settings)
    assert run.metrics[-1]["valid_loss"] < 0.6 * run.metrics[0]["valid_loss"]


def test_a_redacted_run_is_judged_by_its_public_targets_only(tmp_path, notes, small):
    run = train(notes, "gold", "redacted", output=tmp_path / "run", progress=False, **small)
    model, encoder = load_model(run.model_folder), Encoder(load_tokenizer(run.model_folder))
    encoded = encoder.encode_all(policy("gold").secrets_of_all(notes.records("valid")))
    best = min(row["valid_loss"] for row in run.metrics)
    assert mean_loss(model, encoded, public_only=True) == pytest.approx(best, rel=1e-5)
    assert mean_loss(model, encoded) > best + 0.5

"""Kept epochs: one folder each that loads by itself, in the order of the training, also after a kill."""

import pytest
import torch

import discreet
from discreet.attacks.over_time import attack_epochs
from discreet.engine import plain
from discreet.errors import InputError
from discreet.mechanisms import training as training_module
from discreet.mechanisms.epochs import kept_epochs
from discreet.models.language import load_model


def kept(small, **changes):
    return small | {"training": small["training"] | {"keep_epochs": True} | changes}


def weights(folder):
    return load_model(folder).state_dict()


def same(one, two):
    return all(torch.equal(one[name], two[name]) for name in one)


def test_every_epoch_is_kept_and_the_last_is_the_model(notes, small, tmp_path):
    only_train = discreet.Corpus({"train": list(notes.records("train"))}, "notes")
    run = discreet.train(only_train, "gold", output=tmp_path / "run", progress=False, **kept(small, epochs=3))
    epochs = kept_epochs(run.path)
    assert [(epoch.phase, epoch.step) for epoch in epochs] == [("train", 8), ("train", 16), ("train", 24)]
    assert same(weights(epochs[2].folder), weights(run.model_folder))
    assert not same(weights(epochs[0].folder), weights(epochs[1].folder))


def test_phases_follow_one_another(notes, small, tmp_path):
    mechanism = {"name": "selective", "noise": 1.0, "batch": 20, "epochs": 2, "randomness": "fast"}
    run = discreet.train(notes, "gold", mechanism, output=tmp_path / "run", progress=False, **kept(small))
    found = [(epoch.phase, epoch.step) for epoch in kept_epochs(run.path)]
    assert found == [("public", 8), ("public", 16), ("secrets", 19), ("secrets", 22)]


def test_nothing_is_kept_unasked_and_then_there_is_nothing_to_attack(notes, small, tmp_path):
    run = discreet.train(notes, "gold", output=tmp_path / "run", progress=False, **small)
    assert kept_epochs(run.path) == []
    with pytest.raises(InputError, match="keep-epochs"):
        attack_epochs(run)


def test_keeping_changes_nothing_in_what_is_learned_also_with_lora(notes, small, tmp_path):
    small = {key: value for key, value in small.items() if key != "tokenizer"}
    small |= {"model": {"name": "mini", "lora": {"r": 2}}, "training": small["training"] | {"precision": "float32"}}
    mechanism = {"name": "dp-sgd", "noise": 1.0, "batch": 10, "epochs": 1, "randomness": "fast"}
    few = notes.limited(train=20)
    kept_run = discreet.train(few, "gold", mechanism, output=tmp_path / "kept", progress=False, **kept(small))
    plain_run = discreet.train(few, "gold", mechanism, output=tmp_path / "plain", progress=False, **small)
    assert same(weights(kept_run.model_folder), weights(plain_run.model_folder))
    assert same(weights(kept_epochs(kept_run.path)[-1].folder), weights(kept_run.model_folder))


def test_a_killed_training_keeps_each_epoch_once(notes, small, tmp_path, monkeypatch):
    settings = kept(small, epochs=3)
    whole = discreet.train(notes, "gold", output=tmp_path / "whole", progress=False, **settings)
    observed = training_module.RunObserver.epoch

    def dies(observer, end: plain.EpochEnd):
        observed(observer, end)
        if end.epoch == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(training_module.RunObserver, "epoch", dies)
    with pytest.raises(KeyboardInterrupt):
        discreet.train(notes, "gold", output=tmp_path / "run", progress=False, **settings)
    monkeypatch.undo()
    run = discreet.train(notes, "gold", output=tmp_path / "run", progress=False, **settings)
    ours, theirs = kept_epochs(run.path), kept_epochs(whole.path)
    assert [epoch[:2] for epoch in ours] == [epoch[:2] for epoch in theirs]
    assert all(same(weights(one.folder), weights(two.folder)) for one, two in zip(ours, theirs, strict=True))

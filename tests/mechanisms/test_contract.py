"""Every mechanism: trains, is loadable, is reproducible, and goes on after a kill to the same weights."""

import random

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from discreet.accounting.verify import verify
from discreet.errors import SettingError
from discreet.mechanisms.contract import MECHANISMS, mechanism_of
from discreet.mechanisms.recipe import make_recipe
from discreet.mechanisms.run import open_run
from discreet.mechanisms.train import train
from discreet.progress import TrainingBar

NAMES = MECHANISMS.names()


BUDGET = {"noise": 3.0, "batch": 20, "randomness": "fast"}
OPEN = ("none", "redacted", "anonymized", "adversarial", "triplet")
"""Mechanisms that prove nothing."""
SETTINGS: dict[str, dict[str, object]] = {
    **{name: {"name": name} for name in OPEN},
    "dp-sgd": {"name": "dp-sgd", **BUDGET, "public_vocabulary": True},
    "crt": {"name": "crt", **BUDGET, "public_vocabulary": True, "conservative": "gold", "dedup": False},
    "smdp": {"name": "smdp", "epsilon": 5.0, "randomness": "fast"},
    "mdp": {"name": "mdp", "epsilon": 5.0, "randomness": "fast", "public_vocabulary": True},
}
"""What a mechanism needs to be told besides its name; those that are private need a budget."""
ALL_PRIVATE = ("dp-sgd", "selective-paper", "crt")
"""Mechanisms whose steps are all private or made between private ones, so that no loss of theirs is written."""


def trained(corpus, folder, name, small, **changes):
    mechanism = SETTINGS.get(name, {"name": name, **BUDGET})
    if name in ("smdp", "mdp"):
        mechanism = {**mechanism, "embedding": embedding(folder.parent)}
    return train(corpus, "gold", mechanism, output=folder, progress=False, **{**small, **changes})


def embedding(folder):
    """A few words as points."""
    draw = random.Random(0)
    words = ["dear", "ada", "ben", "cleo", "your", "code", "is", ",", ".", "thank", "you", "calling", "red", "blue"]
    lines = [f"{word} {draw.random():.3f} {draw.random():.3f}\n" for word in words]
    (folder / "words.txt").write_text("".join(lines), encoding="utf-8")
    return str(folder / "words.txt")


def weights(run):
    return load_file(run.model_folder / "model.safetensors")


def same(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_complete_and_its_model_loads_with_transformers(tmp_path, notes, small, name):
    run = trained(notes, tmp_path / "run", name, small)
    assert open_run(run.path).finished
    model = AutoModelForCausalLM.from_pretrained(run.model_folder)
    tokenizer = AutoTokenizer.from_pretrained(run.model_folder)
    assert model.config.vocab_size == len(tokenizer)
    if name in ALL_PRIVATE:
        assert run.metrics
        assert all(set(row) == {"phase", "step", "seconds"} for row in run.metrics)
    else:
        epochs = [row for row in run.metrics if "phase" not in row]
        assert [row["epoch"] for row in epochs] == [0, 1]
        assert epochs[1]["train_loss"] < epochs[0]["train_loss"]
    assert run.manifest["corpus_fingerprint"] == notes.fingerprint()
    assert not run.checkpoint_folder.exists()


@pytest.mark.parametrize("name", NAMES)
def test_a_run_says_what_is_proved_and_its_records_bear_it_out(tmp_path, notes, small, name):
    run = trained(notes, tmp_path / "run", name, small)
    assert run.guarantee.mechanism == name
    assert [check.problem for check in verify(run.path) if check.problem] == []
    if name in OPEN:
        assert run.guarantee.epsilon is None


@pytest.mark.parametrize("name", NAMES)
def test_the_same_recipe_and_seed_give_the_same_weights_and_another_seed_others(tmp_path, notes, small, name):
    first = weights(trained(notes, tmp_path / "a", name, small))
    assert same(first, weights(trained(notes, tmp_path / "b", name, small)))
    assert not same(first, weights(trained(notes, tmp_path / "c", name, small, seed=4)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kill_at", [0.05, 0.5, 0.7, 0.95])
def test_a_killed_run_goes_on_to_the_same_weights(tmp_path, notes, small, name, kill_at, monkeypatch):
    """Killed after a share of its steps, plain or private."""
    heard: list[int] = []
    limit = [10**6]

    def step(*_: object) -> None:
        heard.append(1)
        if len(heard) == limit[0]:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TrainingBar, "step", step)
        whole = trained(notes, tmp_path / "whole", name, small)
        limit[0] = max(1, round(kill_at * len(heard)))
        heard.clear()
        with pytest.raises(KeyboardInterrupt):
            trained(notes, tmp_path / "killed", name, small)
    resumed = trained(notes, tmp_path / "killed", name, small)
    assert same(weights(whole), weights(resumed))
    assert [row["step"] for row in resumed.metrics] == [row["step"] for row in whole.metrics]
    assert resumed.guarantee.epsilon == whole.guarantee.epsilon


@pytest.mark.parametrize("name", NAMES)
def test_no_text_of_a_secret_is_left_in_the_run_folder(tmp_path, notes, small, name):
    run = trained(notes, tmp_path / "run", name, small)
    codes = {r.text[s.start : s.end].encode() for r in notes.records("train") for s in r.secrets if s.kind == "CODE"}
    for path in run.path.rglob("*"):
        if path.is_file() and path.suffix in (".json", ".jsonl", ".yaml", ".txt"):
            content = path.read_bytes()
            # Four digits may turn up in a loss or a fingerprint by chance; a code between its own words may not.
            assert not any(b"code is " + code in content for code in codes), path.name


def test_a_mechanism_that_needs_a_policy_says_so():
    with pytest.raises(SettingError, match="'redacted' needs a policy"):
        mechanism_of(make_recipe({"data": "a", "mechanism": "redacted"}))


def test_a_mistyped_setting_of_a_mechanism_is_refused():
    with pytest.raises(SettingError, match="there is no key 'epsilonn'"):
        mechanism_of(make_recipe({"data": "a", "mechanism": {"name": "none", "epsilonn": 3}}))

"""What both regularizers share: any attribute, redaction, schedules, models, and input that cannot be used."""

import json
from dataclasses import replace

import pytest
import torch

from discreet.errors import InputError, RunError, SettingError
from discreet.mechanisms.contract import mechanism_of
from discreet.mechanisms.epochs import kept_epochs
from discreet.mechanisms.leakage import area
from discreet.mechanisms.recipe import make_recipe
from discreet.mechanisms.regularized import RegularizerOptions, Tally, attributed, prefix_lengths, text_states
from discreet.mechanisms.train import train
from discreet.mechanisms.training import Training
from discreet.models.language import load_model, output_layer
from discreet.progress import TrainingBar
from discreet.text.corpus import Corpus
from discreet.text.records import Record
from tests.mechanisms.styles import settings, styled, styles

REGULARIZERS = ["adversarial", "triplet"]
QUICK = {"epochs": 1, "batch_size": 12}


def trained(folder, mechanism, corpus=None, policy="nothing", **changes):
    own = {**settings(**QUICK), **changes}
    return train(corpus or styles(48, 16), policy, mechanism, output=folder, progress=False, **own)


@pytest.mark.parametrize("name", REGULARIZERS)
@pytest.mark.parametrize("protect", ["author", "label", "clinic"])
def test_any_attribute_of_the_records_can_be_hidden(tmp_path, name, protect):
    run = trained(tmp_path / "run", {"name": name, "protect": protect})
    assert run.manifest["attribute"] == protect
    assert any(f"'{protect}'" in own.what for own in run.guarantee.measured)


@pytest.mark.parametrize("name", REGULARIZERS)
def test_the_run_says_in_plain_words_that_nothing_is_proved_and_what_was_measured(tmp_path, name):
    run = trained(tmp_path / "run", name)
    assert run.guarantee.epsilon is None
    text = str(run.guarantee)
    assert text.startswith("No privacy guarantee")
    assert "What was measured (not a guarantee)" in text
    assert all(own.records == 16 and 0 <= own.value <= 1 for own in run.guarantee.measured)
    stored = json.loads((run.path / "privacy.json").read_text())
    assert len(stored["measured"]) == (2 if name == "adversarial" else 1)
    everything = "".join(path.read_text() for path in run.path.glob("*.json*"))
    assert not any(author in everything for author in ("Ada", "Ben", "Cleo", "Dan"))


@pytest.mark.parametrize("name", REGULARIZERS)
def test_figures_of_the_regularizer_stand_beside_the_language_loss_of_each_epoch(tmp_path, name):
    rows = trained(tmp_path / "run", {"name": name, "weight": 3}).metrics
    assert rows[0]["privacy_loss"] > 0
    assert ("discriminator_loss" in rows[0]) == (name == "adversarial")
    plain = trained(tmp_path / "plain", {"name": name, "weight": 0}).metrics
    assert rows[0]["train_loss"] == pytest.approx(plain[0]["train_loss"], rel=0.1)  # the loss of language alone


@pytest.mark.parametrize("name", REGULARIZERS)
@pytest.mark.parametrize("state", ["last", "mean", "both", "prefix"])
def test_transformers_are_trained_too(tmp_path, name, state):
    model = {"name": "gpt", "width": 16, "layers": 1, "heads": 2, "context": 32}
    run = trained(tmp_path / "run", {"name": name, "state": state, "batches": "mixed"}, model=model)
    assert output_layer(load_model(run.model_folder)).weight.shape[1] == 16


@pytest.mark.parametrize("name", REGULARIZERS)
def test_redaction_goes_together_with_hiding(tmp_path, name, notes, small):
    mechanism = {"name": name, "redact": True}
    both = train(notes, "gold", mechanism, output=tmp_path / "both", progress=False, **small)
    alone = train(notes, "gold", name, output=tmp_path / "alone", progress=False, **small)
    assert both.metrics[0]["targets"] < alone.metrics[0]["targets"]  # masks are no targets


def test_redaction_without_a_policy_is_refused(tmp_path):
    with pytest.raises(SettingError, match="needs a policy"):
        trained(tmp_path / "run", {"name": "triplet", "redact": True}, policy=None, tokenizer="gpt2")


def nobody(record: Record) -> Record:
    return replace(record, author=None)


BAD = {
    "no author anywhere": ({}, lambda c: c.map(nobody), "None of the records has an 'author'"),
    "one without": ({}, lambda c: c.map(lambda r: nobody(r) if r.id == "7" else r), "Record 7 has no 'author'"),
    "one author": ({}, lambda c: c.map(lambda r: replace(r, author="Ada")), "All records have the same 'author'"),
    "no such field": ({"protect": "clinci"}, lambda c: c, "no field 'clinci'.*did you mean 'clinic'"),
    "a list": ({"protect": "rooms"}, lambda c: c, "'rooms' must be a string or a number"),
    "an empty value": (
        {"protect": "clinic"},
        lambda c: c.map(lambda r: replace(r, fields={"clinic": ""}) if r.id == "9" else r),
        "Record 9 has no 'clinic'",
    ),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("name", REGULARIZERS)
def test_records_that_cannot_be_used_are_named_in_one_sentence(tmp_path, name, case):
    options, change, sentence = BAD[case]
    with pytest.raises(InputError, match=sentence):
        trained(tmp_path / "run", {"name": name, **options}, change(styles(48, 16)))


def test_a_classifier_is_refused(tmp_path):
    with pytest.raises(SettingError, match="is for language models"):
        trained(tmp_path / "run", "adversarial", task="classification", model="minilm", tokenizer=None)


@pytest.mark.parametrize(
    ("mechanism", "sentence"),
    [
        ({"name": "adversarial", "weight": -1}, "weight"),
        ({"name": "adversarial", "discriminator": {"hiden": 3}}, "did you mean 'hidden'"),
        ({"name": "adversarial", "rise": 0}, "rise"),
        ({"name": "triplet", "margn": 1}, "did you mean 'margin'"),
        ({"name": "triplet", "auxiliary": 2}, "auxiliary"),
    ],
)
def test_settings_that_make_no_sense_are_refused(mechanism, sentence):
    with pytest.raises(SettingError, match=sentence):
        mechanism_of(make_recipe({"data": "a", "mechanism": mechanism}))


def test_the_weight_rises_as_the_schedule_says():
    weights = {
        schedule: [
            RegularizerOptions(name="x", weight=4, schedule=schedule, rise=0.5).weight_at(at / 4) for at in range(5)
        ]
        for schedule in ("constant", "linear", "sigmoid")
    }
    assert weights["constant"] == [4, 4, 4, 4, 4]
    assert weights["linear"] == [0, 2, 4, 4, 4]
    assert weights["sigmoid"][0] == 0
    assert 3.9 < weights["sigmoid"][1] < weights["sigmoid"][2] == weights["sigmoid"][4] < 4


@pytest.mark.parametrize("name", REGULARIZERS)
def test_a_killed_run_has_the_same_figures_and_refuses_other_values_of_the_attribute(tmp_path, name, monkeypatch):
    heard: list[int] = []

    def step(*_: object) -> None:
        heard.append(1)
        if len(heard) == 3:
            raise KeyboardInterrupt

    options = {"name": name, "protect": "clinic"}
    training = {"training": {**settings(**QUICK)["training"], "checkpoint_seconds": 0}}
    whole = trained(tmp_path / "whole", options, **training)
    with monkeypatch.context() as patch:
        patch.setattr(TrainingBar, "step", step)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "killed", options, **training)
    other = styles(48, 16).map(lambda r: replace(r, fields={"clinic": f"clinic {int(r.id) % 3}"}))
    with pytest.raises(RunError, match="another attribute fingerprint"):
        trained(tmp_path / "killed", options, other, **training)
    resumed = trained(tmp_path / "killed", options, **training)
    kept = ("train_loss", "valid_loss", "privacy_loss")
    assert [resumed.metrics[0][key] for key in kept] == [whole.metrics[0][key] for key in kept]
    assert resumed.guarantee == whole.guarantee


def test_the_last_epoch_is_kept_unless_the_best_is_asked_for(tmp_path, monkeypatch):
    """Validation is made to get worse with every epoch, so that the best is the first."""
    settled = {"training": {**settings(**QUICK)["training"], "epochs": 3, "keep_epochs": True}}
    found = {}
    for keep in ("last", "best"):
        losses = iter([1.0, 2.0, 3.0])
        monkeypatch.setattr(Training, "validation", lambda *_, rising=losses, **__: lambda model: next(rising))
        run = trained(tmp_path / keep, {"name": "triplet", "keep": keep}, **settled)
        own = load_model(run.model_folder).state_dict()
        epochs = [load_model(epoch.folder).state_dict() for epoch in kept_epochs(run.path)]
        found[keep] = [all(torch.equal(own[key], other[key]) for key in own) for other in epochs]
    assert found == {"last": [False, False, True], "best": [True, False, False]}


def test_an_attribute_takes_the_place_of_the_author_in_every_split():
    corpus = attributed(Corpus({"train": [styled(0)], "test": [styled(1)]}, "c"), "clinic")
    assert [record.author for record in corpus.all()] == ["clinic 0", "clinic 1"]


def test_every_beginning_of_a_text_is_drawn_as_often_as_any_other():
    torch.manual_seed(0)
    drawn = torch.stack([prefix_lengths(torch.tensor([1, 4])) for _ in range(4000)])
    assert drawn[:, 0].unique().tolist() == [1]
    counts = torch.bincount(drawn[:, 1], minlength=5)
    assert counts[0] == 0
    # 5 standard deviations of a binomial count: a false alarm in less than one of 10^5 seeds
    assert ((counts[1:] - 1000).abs() < 5 * (4000 * 0.25 * 0.75) ** 0.5).all()


def test_the_state_of_a_text_leaves_its_padding_out():
    states = torch.arange(12.0).view(2, 3, 2)
    lengths = torch.tensor([2, 3])
    assert text_states(states, lengths, "last").tolist() == [[2, 3], [10, 11]]
    assert text_states(states, lengths, "mean").tolist() == [[1, 2], [8, 9]]
    assert text_states(states, lengths, "both").tolist() == [[2, 3, 1, 2], [10, 11, 8, 9]]


def test_a_tally_gives_means_and_begins_afresh():
    tally = Tally("a", "b")
    tally.add(torch.tensor(1.0), torch.tensor(2.0))
    tally.add(torch.tensor(3.0), torch.tensor(2.0))
    assert tally.take() == {"a": 2, "b": 2}
    assert tally.take() == {"a": 0, "b": 0}


def test_the_area_counts_pairs_and_ties_by_half():
    assert area(torch.tensor([2.0, 3.0]).numpy(), torch.tensor([1.0, 2.0]).numpy()) == pytest.approx(3.5 / 4)

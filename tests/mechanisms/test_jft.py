"""Just Fine-tune Twice: the forms of its first phase, and what each proves."""

import pytest
import torch
from safetensors.torch import load_file

from discreet.accounting.verify import verify
from discreet.engine.ledger import read_ledger
from discreet.errors import DiscreetError, RefusedError, SettingError
from discreet.mechanisms.train import train
from discreet.mechanisms.training import Training
from discreet.policy.miss_rate import MissRate, write_miss_rate
from discreet.policy.specs import policy
from discreet.text.writing import write

JFT = {"name": "jft", "epsilon": 4.0, "batch": 20, "epochs": 2, "randomness": "fast"}


@pytest.fixture
def screened(tmp_path, notes):
    """Ten notes whose secrets a person has marked."""
    path = tmp_path / "screened.jsonl"
    write(path, list(notes.records("train"))[:10])
    return str(path)


def bounds(run):
    return {bound.subject.split()[3]: bound.epsilon for bound in run.guarantee.bounds}


def test_the_direct_form_says_that_missed_secrets_are_not_bounded(tmp_path, notes, small):
    run = train(notes, "gold", JFT, output=tmp_path / "run", progress=False, **small)
    epsilons = [bound.epsilon for bound in run.guarantee.bounds]
    assert epsilons[0] == pytest.approx(4.0, rel=1e-3)
    assert epsilons[1] is None


def test_the_screened_form_reads_the_screened_records_alone(tmp_path, notes, small, screened, monkeypatch):
    sizes = []
    fit = Training.fit_public

    def watched(self, examples, *, choose):
        sizes.append(len(examples))
        fit(self, examples, choose=choose)

    monkeypatch.setattr(Training, "fit_public", watched)
    mechanism = {**JFT, "screened": screened, "public_vocabulary": True}
    run = train(notes, "gold", mechanism, output=tmp_path / "run", progress=False, **small)
    assert sizes == [10]
    detected, missed = (bound.epsilon for bound in run.guarantee.bounds)
    assert detected == pytest.approx(missed)
    assert "screening" in {item.name for item in run.guarantee.assumptions}
    assert [check.problem for check in verify(run.path) if check.problem] == []


def test_light_noise_bounds_missed_secrets_too_and_a_screening_gives_the_average(tmp_path, notes, small):
    write_miss_rate(tmp_path / "missed.json", MissRate(3, 200, policy("gold").fingerprint()))
    mechanism = {**JFT, "light": {"noise": 1.5}, "miss_rate": str(tmp_path / "missed.json"), "public_vocabulary": True}
    run = train(notes, "gold", mechanism, output=tmp_path / "run", progress=False, **small)
    detected, missed, average = (bound.epsilon or 0 for bound in run.guarantee.bounds)
    assert detected < average < missed
    assert {name: phase.releases for name, phase in read_ledger(run.path / "ledger.jsonl").items()} == {
        "phase 1": 6,
        "phase 2": 6,
    }
    assert run.guarantee.paper is not None
    assert [check.problem for check in verify(run.path) if check.problem] == []


def test_a_run_on_redacted_text_can_stand_for_phase_1(tmp_path, notes, small):
    first = train(notes, "gold", "redacted", output=tmp_path / "first", progress=False, **small)
    own = {key: value for key, value in small.items() if key not in ("model", "tokenizer")}
    mechanism = {**JFT, "existing": str(first.path), "learning_rate": 1e-9}
    run = train(notes, "gold", mechanism, str(first.model_folder), output=tmp_path / "run", progress=False, **own)
    before, after = (load_file(r.model_folder / "model.safetensors") for r in (first, run))
    assert all(torch.allclose(before[name], after[name], atol=1e-5) for name in before)
    with pytest.raises(RefusedError, match="another policy"):
        train(notes, "digits", mechanism, str(first.model_folder), output=tmp_path / "a", progress=False, **own)
    with pytest.raises(SettingError, match="set model"):
        train(notes, "gold", mechanism, output=tmp_path / "b", progress=False, **small)
    plain = train(notes, "gold", "none", output=tmp_path / "plain", progress=False, **small)
    wrong = {**JFT, "existing": str(plain.path)}
    with pytest.raises(RefusedError, match="redacted text only"):
        train(notes, "gold", wrong, str(plain.model_folder), output=tmp_path / "c", progress=False, **own)


@pytest.mark.parametrize(
    "wrong",
    [
        {"light": {"noise": 1.0}, "screened": "a.jsonl"},
        {"missed": 3},
        {"missed": 3, "sample": 9, "miss_rate": "a.json"},
        {"light": {"noise": -1.0}},
    ],
)
def test_settings_that_do_not_fit_together_are_refused(tmp_path, notes, small, wrong):
    with pytest.raises(SettingError):
        train(notes, "gold", {**JFT, **wrong}, output=tmp_path / "run", progress=False, **small)


def test_an_average_against_masks_is_refused_where_surrogates_take_their_place(tmp_path, notes, small):
    for redaction in ({"style": "surrogate"}, {"style": "kind"}):
        made = {"output": tmp_path / redaction["style"], "progress": False, "redaction": redaction, **small}
        with pytest.raises(SettingError, match="against their masks"):
            train(notes, "gold", {**JFT, "missed": 3, "sample": 200}, **made)


def test_a_vocabulary_of_redacted_text_holds_missed_secrets(tmp_path, notes, small, screened):
    for form in ({"light": {"noise": 1.0}}, {"screened": screened}):
        with pytest.raises(RefusedError, match="vocabulary"):
            train(notes, "gold", {**JFT, **form}, output=tmp_path / "run", overwrite=True, progress=False, **small)


def test_the_miss_rate_of_another_policy_is_refused_before_anything_is_trained(tmp_path, notes, small):
    write_miss_rate(tmp_path / "missed.json", MissRate(3, 200, policy("digits").fingerprint()))
    mechanism = {**JFT, "miss_rate": str(tmp_path / "missed.json")}
    with pytest.raises(RefusedError, match="another policy"):
        train(notes, "gold", mechanism, output=tmp_path / "run", progress=False, **small)
    assert not (tmp_path / "run" / "ledger.jsonl").exists()


def test_a_missing_screened_file_is_one_sentence(tmp_path, notes, small):
    mechanism = {**JFT, "screened": "nowhere.jsonl", "public_vocabulary": True}
    with pytest.raises(DiscreetError, match="nowhere"):
        train(notes, "gold", mechanism, output=tmp_path / "run", progress=False, **small)

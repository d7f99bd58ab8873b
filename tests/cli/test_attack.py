"""`discreet attack` from the command line: a run trained and attacked, and a wrong guarantee that fails loudly."""

import json

import pytest

from discreet.accounting.dp import DifferentialPrivacy
from discreet.attacks.attack import Attacked
from discreet.cli.attack import _settings, attack
from discreet.engine.plan import Plan
from discreet.errors import DiscreetError, RefusedError, SettingError
from discreet.files import read_json
from discreet.mechanisms.recipe import make_recipe
from discreet.mechanisms.train import train_recipe
from tests.attacks.conftest import door_manifest, note, planted
from tests.command_server import discreet

RECIPE = {
    "policy": "gold",
    "mechanism": {"name": "dp-sgd", "noise": 6.0, "batch": 20, "randomness": "fast", "public_vocabulary": True},
    "model": {"name": "lstm", "embedding": 8, "hidden": 8},
    "tokenizer": {"train": "bpe", "vocabulary": 300},
    "training": {"epochs": 1, "learning_rate": 0.05},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    manifest = door_manifest(number=4, copies=8)
    rows = [(note(n), "train") for n in range(40)] + [(note(n), "test") for n in range(600, 630)]
    rows += [(planted(canary, copy), "train") for canary in manifest.canaries for copy in range(8)]
    with (folder / "mail.jsonl").open("w") as out:
        for record, split in rows:
            secrets = [{"start": s.start, "end": s.end, "kind": s.kind} for s in record.secrets or ()]
            out.write(json.dumps({"id": record.id, "text": record.text, "split": split, "secrets": secrets}) + "\n")
    (folder / "canaries.json").write_text(json.dumps(manifest.to_json()))
    train_recipe(make_recipe({**RECIPE, "data": str(folder / "mail.jsonl")}), folder / "runs" / "a", progress=False)
    return folder


def test_a_run_is_attacked_with_the_canaries_beside_its_data(folder):
    changes = ("membership.records=20", "membership.resamples=20", "membership.neighbours=1", "tab.real=5")
    flags = [flag for change in changes for flag in ("--set", change)]
    done = discreet("attack", "runs/a", "--json", *flags, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["findings"]) == {"audit", "engine", "exposure", "extraction", "membership", "tab"}
    assert "a value for 'author'" in found["left_out"]["attribute"]  # these records name none
    assert found["refuted"] is None
    assert found["guarantee"]["lower_bound"] <= found["guarantee"]["epsilon"]
    assert read_json(folder / "runs/a/attacks.json")["findings"] == json.loads(json.dumps(found["findings"]))
    assert (folder / "runs/a/roc.svg").is_file()


def test_people_get_a_line_for_each_fact(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    attack(folder / "runs/a", ["exposure", "tab"], changes=["tab.real=3"], output=folder / "out.json")
    told = capsys.readouterr()
    assert "space of 1,000 secrets" in told.out
    assert "word for word" in told.out
    assert "Written to" in told.err


def test_kept_epochs_are_attacked_over_time(folder, monkeypatch, capsys):
    changed = {
        "data": str(folder / "mail.jsonl"),
        "training": {"epochs": 2, "learning_rate": 0.05, "keep_epochs": True},
    }
    train_recipe(make_recipe({**RECIPE, **changed}), folder / "runs" / "watched", progress=False)
    monkeypatch.chdir(folder)
    attack(folder / "runs/watched", over_time=True, changes=["membership.records=10"])
    assert "membership AUC" in capsys.readouterr().out
    attack(folder / "runs/watched", over_time=True, changes=["exposure.samples=100"], json_output=True)
    rows = json.loads(capsys.readouterr().out)
    assert [(row["epoch"], row["step"]) for row in rows] == [(1, 4), (2, 8)]
    assert all(row["exposure"] >= 0 and 0 <= row["membership_auc"] <= 1 for row in rows)
    written = (folder / "runs/watched/attacks-over-time.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in written] == rows


@pytest.mark.parametrize(
    ("options", "what"),
    [({"attacks": ["tab"]}, "takes no --attack"), ({"changes": ["tab.real=3"]}, "not tab.real"), ({}, "keep-epochs")],
)
def test_attacks_over_time_say_what_they_cannot_do(folder, options, what):
    with pytest.raises(DiscreetError, match=what):
        attack(folder / "runs/a", over_time=True, **options)


def test_a_lower_bound_above_the_claim_exits_with_one(folder):
    """A run without protection that says it has some."""
    run = train_recipe(
        make_recipe(
            {
                "data": str(folder / "mail.jsonl"),
                "policy": "gold",
                "model": {"name": "lstm", "embedding": 32, "hidden": 96, "dropout": 0.0},
                "tokenizer": {"train": "bpe", "vocabulary": 300},
                "training": {"epochs": 40, "batch_size": 12, "learning_rate": 0.03},
            }
        ),
        folder / "runs" / "liar",
        progress=False,
    )
    plan = Plan(rate=0.1, steps=100, noise=500.0, neighbours="replace", population=72)
    DifferentialPrivacy(phases=(plan,), delta=1e-4).guarantee().write(run.path / "privacy.json")
    done = discreet("attack", "runs/liar", "--attack", "audit", cwd=folder)
    assert done.returncode == 1
    assert "The guarantee is wrong: it allows epsilon" in done.stderr
    written = read_json(run.path / "attacks.json")
    assert written["refuted"]
    assert written["guarantee"]["lower_bound"] > written["guarantee"]["epsilon"]


def test_settings_are_read_and_mistakes_are_told():
    assert _settings(["membership.records=50", "tab.beams=2", "membership.signals=[loss]"]) == {
        "membership": {"records": 50, "signals": ["loss"]},
        "tab": {"beams": 2},
    }
    for bad in ("records=50", "membership.=3", "membership.records"):
        with pytest.raises(SettingError, match="not of the form"):
            _settings([bad])


def test_a_refuted_guarantee_is_an_error_after_all_is_told(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(Attacked, "refuted", property(lambda self: "It is wrong."))
    with pytest.raises(RefusedError, match="It is wrong"):
        attack(folder / "runs/a", ["exposure"], output=folder / "out2.json")
    assert "space of" in capsys.readouterr().out
    assert read_json(folder / "out2.json")["refuted"] == "It is wrong."

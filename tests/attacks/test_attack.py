"""From a run or a model's folder to attacks.json."""

import json
from typing import Any

import pytest

from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.guarantee import Guarantee
from discreet.attacks.attack import attack, open_target
from discreet.attacks.engine_audit import PLAN
from discreet.errors import InputError, RunError, SettingError
from discreet.files import read_json
from discreet.models.language import new_model
from discreet.models.pretrained import rows_of
from discreet.sanitize.canaries.manifest import Manifest

QUICK: dict[str, dict[str, Any]] = {
    "membership": {"records": 30, "resamples": 20, "neighbours": 2, "groups": 50, "signals": ["loss", "reference"]},
    "extraction": {"secrets": 20, "samples": 3},
    "tab": {"beams": 2, "real": 5},
}


def test_all_attacks_whose_needs_are_met_are_made_and_written(leaky, corpus, manifest_file, encoder, tmp_path):
    reference = new_model("lstm", encoder.vocabulary_size, {"embedding": 8, "hidden": 8}, seed=0)
    heard = []
    found = attack(
        leaky,
        canaries=manifest_file,
        data=corpus,
        settings=QUICK,
        reference=reference,
        output=tmp_path / "attacks.json",
        told=lambda *told: heard.append(told),
    )
    assert set(found.findings) == {"attribute", "audit", "exposure", "extraction", "membership", "tab"}
    assert set(found.left_out) == {"engine"}
    assert found.refuted is None
    written = read_json(tmp_path / "attacks.json")
    assert written["version"] == 1
    assert written["findings"]["exposure"]["mean"] == found.findings["exposure"].to_json()["mean"]
    assert written["findings"]["membership"]["records"]["reference"]["auc"] > 0.6
    assert written["guarantee"]["epsilon"] is None
    assert written["guarantee"]["lower_bound"] > 0
    assert (tmp_path / "roc.svg").is_file()
    assert heard
    secrets = {canary.secret[0] for canary in Manifest.read(manifest_file).canaries}
    text = json.dumps(written["findings"]["tab"]) + json.dumps(written["findings"]["extraction"])
    assert not any(f'"{secret}"' in text for secret in secrets)


def test_findings_of_other_attacks_on_the_same_model_stay(leaky, corpus, manifest_file, tmp_path):
    place = tmp_path / "attacks.json"
    attack(leaky, ["exposure"], canaries=manifest_file, output=place)
    attack(leaky, ["tab"], data=corpus, settings={"tab": QUICK["tab"]}, output=place)
    assert set(read_json(place)["findings"]) == {"exposure", "tab"}
    changed = read_json(place) | {"model": "another"}
    place.write_text(json.dumps(changed))
    attack(leaky, ["exposure"], canaries=manifest_file, output=place)
    assert set(read_json(place)["findings"]) == {"exposure"}


def test_a_models_folder_is_attacked_like_a_run(leaky, manifest_file, tmp_path):
    by_folder = attack(
        leaky.model_folder, ["exposure"], canaries=manifest_file, policy="gold", output=tmp_path / "a.json"
    )
    by_run = attack(leaky, ["exposure"], canaries=manifest_file, output=tmp_path / "b.json")
    assert by_folder.findings["exposure"] == by_run.findings["exposure"]
    assert by_folder.guarantee is None


def test_a_lower_bound_above_the_claim_is_told(leaky, manifest_file, tmp_path, monkeypatch):
    wrong = DifferentialPrivacy(phases=(PLAN.with_noise(1000.0),), delta=1e-4).guarantee()
    monkeypatch.setattr(Guarantee, "read", lambda path: wrong)
    found = attack(leaky, ["audit"], canaries=manifest_file, output=tmp_path / "attacks.json")
    assert "The guarantee is wrong" in (found.refuted or "")
    written = read_json(tmp_path / "attacks.json")
    assert written["refuted"] == found.refuted
    assert written["guarantee"]["lower_bound"] > written["guarantee"]["epsilon"]


def test_a_manifest_beside_the_data_is_found(tmp_path, monkeypatch, leaky, manifest_file):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "mail.jsonl").write_text('{"id": "1", "text": "hello"}\n')
    (folder / "canaries.json").write_bytes(manifest_file.read_bytes())
    recipe = leaky.recipe.model_copy(
        update={"data": leaky.recipe.model_validate({"data": str(folder / "mail.jsonl")}).data}
    )
    monkeypatch.setattr(type(leaky), "recipe", property(lambda self: recipe))
    target = open_target(leaky.path)
    assert target.manifest == Manifest.read(manifest_file)
    assert target.corpus is not None


def test_what_cannot_be_done_is_one_sentence(leaky, manifest_file, tmp_path):
    (tmp_path / "small").mkdir()
    small: Any = new_model("lstm", 7, {"embedding": 4, "hidden": 4}, seed=0)
    small.save_pretrained(tmp_path / "small")
    cases = [
        (lambda: attack(leaky, ["exposure"]), InputError, "needs a manifest of canaries"),
        (lambda: attack(leaky.model_folder), InputError, "no attack can be made on a model alone"),
        (lambda: attack(leaky, ["engine"]), InputError, "needs the guarantee of a private training"),
        (lambda: attack(tmp_path / "nothing"), RunError, "not a run"),
        (lambda: attack(leaky, ["tab"], settings={"exposure": {}}), SettingError, "not among the attacks"),
        (lambda: attack(leaky, canaries=manifest_file, reference=tmp_path / "small"), SettingError, "has 7 tokens"),
    ]
    for make, kind, sentence in cases:
        with pytest.raises(kind, match=sentence) as caught:
            make()
        assert "\n" not in str(caught.value)
    assert rows_of(small) == 7

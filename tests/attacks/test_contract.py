"""What every attack must do: run on any causal model, tell facts and no secrets, and say what it needs."""

import json

import pytest

from discreet.accounting.dp import DifferentialPrivacy
from discreet.attacks.contract import ATTACKS, Refuting, Target, options_of, silent
from discreet.attacks.engine_audit import PLAN
from discreet.errors import SettingError, UnknownNameError
from discreet.models.language import new_model
from discreet.policy.specs import policy

SIZES = {"lstm": {"embedding": 12, "hidden": 12}, "gpt": {"width": 16, "layers": 1, "heads": 2, "context": 128}}
QUICK = {
    "membership": {"records": 40, "resamples": 10, "neighbours": 2, "groups": 50},
    "extraction": {"secrets": 20, "samples": 3},
    "tab": {"beams": 2, "real": 10},
    "engine": {"canaries": 200, "releases": 2},
    "exposure": {"samples": 200},
}


def target_of(name, encoder, corpus, manifest, folder=None):
    guarantee = DifferentialPrivacy(phases=(PLAN.with_noise(6.0),), delta=1e-4).guarantee()
    model = new_model(name, encoder.vocabulary_size, SIZES[name], seed=1).eval()
    return Target(model, encoder, policy("gold"), corpus, manifest, guarantee=guarantee, folder=folder)


@pytest.mark.parametrize("model", SIZES)
@pytest.mark.parametrize("name", ATTACKS.names())
def test_an_attack_runs_on_any_model_and_tells_facts_without_secrets(name, model, encoder, corpus, manifest, tmp_path):
    target = target_of(model, encoder, corpus, manifest, tmp_path)
    heard = []
    found = ATTACKS[name]().run(target, options_of(name, QUICK.get(name, {})), lambda *told: heard.append(told))
    again = json.loads(json.dumps(found.to_json()))
    assert again
    assert all(isinstance(line, str) and "\n" not in line for line in found.lines())
    assert found.lines()
    assert all(isinstance(what, str) and done >= 0 for what, done, _ in heard)
    told = json.dumps(again) + " ".join(found.lines())
    for record in corpus.records("train"):
        for secret in record.secrets:
            text = record.text[secret.start : secret.end]
            if secret.kind == "CODE":
                assert f"{text}." not in told
                assert f" {text} " not in told
    if isinstance(found, Refuting):
        assert found.refuted is None  # an untrained model refutes nothing


@pytest.mark.parametrize("name", ATTACKS.names())
def test_the_same_seed_finds_the_same(name, encoder, corpus, manifest):
    if name == "engine":
        pytest.skip("measures secure randomness, which does not repeat")
    target = target_of("lstm", encoder, corpus, manifest)
    one, two = (ATTACKS[name]().run(target, options_of(name, QUICK.get(name, {})), silent).to_json() for _ in "12")
    assert one == two


@pytest.mark.parametrize("name", ATTACKS.names())
def test_needs_are_known_and_options_are_checked(name, encoder, leaky_model):
    alone = Target(leaky_model, encoder, policy("gold"))
    assert not all(alone.has(need) for need in ATTACKS[name].needs)  # no attack can be made on a model alone
    with pytest.raises(SettingError, match=f"attack {name}: there is no key 'sampels'"):
        options_of(name, {"sampels": 3})


def test_a_mistyped_attack_is_offered_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'exposure'"):
        options_of("exposur", {})

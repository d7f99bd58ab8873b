"""Extraction counts secrets that come out and does not tell them unless asked."""

import json

import pytest

from discreet.attacks.contract import Target, silent
from discreet.attacks.extraction import ExtractionAttack, ExtractionOptions, extract
from discreet.attacks.reading import reader_of
from discreet.attacks.texts import secrets_of
from discreet.policy.specs import policy
from discreet.text.corpus import Corpus
from discreet.text.records import Record
from tests.attacks.conftest import planted

GOLD = policy("gold")


@pytest.fixture(scope="module")
def doors(manifest):
    """The canaries as records of a corpus, each once, and doors the model has never seen."""
    own = [planted(canary, 0) for canary in manifest.canaries]
    fresh = manifest.template.draw(6, seed=9, without=[canary.secret for canary in manifest.canaries])
    others = [
        Record(f"o{n}", manifest.template.fill(filling).text, secrets=manifest.template.fill(filling).secrets)
        for n, filling in enumerate(fresh)
    ]
    return Corpus({"train": own, "test": others})


def test_secrets_learned_by_heart_come_out_and_others_do_not(leaky_model, encoder, doors):
    target = Target(leaky_model, encoder, GOLD, doors)
    found = ExtractionAttack().run(target, ExtractionOptions(samples=60), silent)
    trained, others = found.kinds["CANARY"], found.others["CANARY"]
    assert trained.secrets == others.secrets == 6
    assert trained.continuations == 360
    assert trained.regurgitated >= 4
    assert trained.with_secret > 3 * others.with_secret
    assert "came out" in found.lines()[0]


def test_secrets_are_told_only_when_asked_for(leaky_model, encoder, doors, manifest):
    target = Target(leaky_model, encoder, GOLD, doors)
    quiet = ExtractionAttack().run(target, ExtractionOptions(samples=60), silent)
    assert "secrets" not in quiet.to_json()
    assert not any(line.startswith("came out:") for line in quiet.lines())
    shown = ExtractionAttack().run(target, ExtractionOptions(samples=60, show=True), silent)
    known = {canary.secret[0] for canary in manifest.canaries}
    assert set(shown.to_json()["secrets"]) <= known
    assert shown.shown
    assert json.dumps(shown.to_json())


def test_the_attacker_sees_only_what_stands_before_the_secret(leaky_model, encoder, doors, monkeypatch):
    seen = []
    reader = reader_of(leaky_model)
    read = reader.read

    def watched(ids):
        seen.extend(ids.tolist())
        return read(ids)

    monkeypatch.setattr(reader, "read", watched)
    texts = secrets_of(encoder, GOLD, doors.records("train"))
    extract(reader, texts, ExtractionOptions(samples=2, context=4))
    assert {encoder.decode(row) for row in seen} == {
        encoder.decode(encoder.encode(Record("", "The code of the door is "), ()).ids[-5:-1])
    }
    assert all(row[0] == encoder.special.begin and len(row) == 5 for row in seen)


def test_a_word_inside_another_does_not_count(encoder):
    from discreet.attacks.extraction import _whole

    assert _whole("Ann").search("call Ann.")
    assert not _whole("Ann").search("the annex, Annex")
    assert _whole(" 555-0101").search("on 555-0101,")


def test_a_policy_that_finds_nothing_leaves_nothing_to_ask(leaky_model, encoder, doors):
    target = Target(leaky_model, encoder, policy("nothing"), doors)
    found = ExtractionAttack().run(target, ExtractionOptions(), silent)
    assert found.kinds == {}
    assert "no secrets" in found.lines()[0]

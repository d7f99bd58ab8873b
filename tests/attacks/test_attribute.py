"""Attribute inference: a fresh probe finds what is there, finds nothing where nothing is, and names nobody."""

import json
import random
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import binom

from discreet.attacks.attack import attack
from discreet.attacks.attribute import AttributeAttack, AttributeOptions, divided, infer_attribute
from discreet.attacks.contract import Target, silent
from discreet.attacks.probe import probe
from discreet.attacks.states import record_states
from discreet.errors import InputError, SettingError
from discreet.models.language import hidden_states, new_model
from discreet.policy.specs import policy
from discreet.sanitize.canaries.manifest import Canary, Manifest, Place
from discreet.text.corpus import Corpus
from discreet.text.records import Record
from tests.attacks.conftest import DOOR, THINGS, note, planted

SIZES = {"lstm": {"embedding": 16, "hidden": 32}, "gpt": {"width": 32, "layers": 1, "heads": 2, "context": 16}}
AUTHORS = 8
EACH = 40
FALSE_ALARM = 1e-4


def fresh(name, encoder):
    model = new_model(name, encoder.vocabulary_size, SIZES[name], seed=5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)  # so that even fresh weights tell texts apart
    return model.eval()


def signed() -> list[Record]:
    """Texts that all end with a thing of their author's."""
    draw = random.Random(2)
    return [
        Record(f"{author}-{n}", f"{n} {draw.choice(THINGS)}s and a {THINGS[author]}", author=f"Person {author}")
        for author in range(AUTHORS)
        for n in range(EACH)
    ]


def shuffled(records: list[Record]) -> list[Record]:
    """The same texts, each under the name of somebody drawn at random."""
    names = [record.author for record in records]
    random.Random(4).shuffle(names)
    return [Record(record.id, record.text, author=name) for record, name in zip(records, names, strict=True)]


@pytest.mark.parametrize("name", SIZES)
def test_what_stands_in_the_states_is_found(name, encoder):
    found = infer_attribute(fresh(name, encoder), encoder, signed())
    assert found.labels == AUTHORS
    assert found.trained_on + found.asked == AUTHORS * EACH
    assert found.chance == pytest.approx(1 / AUTHORS)
    assert found.accuracy > 0.8
    assert found.top5 is not None
    assert found.accuracy <= found.top5 <= 1
    assert found.above_chance == pytest.approx(found.accuracy - found.chance)
    low, high = found.above_chance_interval
    assert 0.5 < low < found.above_chance <= high
    assert found.chance_top5 == pytest.approx(5 / AUTHORS)


@pytest.mark.parametrize("name", SIZES)
def test_labels_drawn_at_random_are_named_no_better_than_by_chance(name, encoder):
    """A sound probe is right about each record with probability 1/8: both sides together, one false alarm in 5,000."""
    found = infer_attribute(fresh(name, encoder), encoder, shuffled(signed()))
    right = found.accuracy * found.asked
    low, high = binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], found.asked, 1 / AUTHORS)
    assert low <= right <= high


@pytest.mark.parametrize("state", ["last", "mean", "both"])
@pytest.mark.parametrize("name", SIZES)
def test_states_are_those_of_reading_each_record_alone(name, state, encoder):
    model = fresh(name, encoder)
    encoded = encoder.encode_all((Record(str(n), "a lamp and a clock " * n), ()) for n in (3, 0, 1))
    found = record_states(model, encoded, state)
    for own, tokens in zip(found, encoded, strict=True):
        ids = torch.from_numpy(tokens.ids[:-1].astype(np.int64))
        if name == "gpt":  # of a record that is longer than it can read at once, the last window
            ids = ids[(len(ids) - 1) // 16 * 16 :]
        with torch.no_grad():
            alone = hidden_states(model, ids[None])[0]
        expected = {"last": alone[-1], "mean": alone.mean(0), "both": torch.cat([alone[-1], alone.mean(0)])}
        assert torch.allclose(own, expected[state], atol=1e-5)


def test_any_field_of_the_records_can_be_the_attribute(encoder):
    records = [
        Record(r.id, r.text, author="one", label=n % 2, fields={"clinic": r.author}) for n, r in enumerate(signed())
    ]
    model = fresh("lstm", encoder)
    clinic = infer_attribute(model, encoder, records, options=AttributeOptions(label="clinic"))
    assert clinic.accuracy > 0.8
    label = infer_attribute(model, encoder, records, options=AttributeOptions(label="label", hidden=0))
    assert label.labels == 2
    assert label.probe == "logistic regression"
    assert label.top5 is None
    assert len(label.lines()) == 1


def test_each_text_counts_once_and_canaries_are_left_out(encoder):
    canaries = tuple(
        Canary(f"canary-{n}", DOOR.member(n), inserted=DOOR.member(n), places=(Place(f"canary-{n}-0", n),))
        for n in range(6)
    )
    own = [Record(record.id, record.text, author="planted") for record in (planted(c, 0) for c in canaries)]
    corpus = Corpus({"train": [*signed(), *signed(), *own]})
    model, options = fresh("lstm", encoder), AttributeOptions(fewest=2)
    with_them = AttributeAttack().run(Target(model, encoder, policy("nothing"), corpus), options, silent)
    assert (with_them.labels, with_them.trained_on + with_them.asked) == (AUTHORS + 1, AUTHORS * EACH + 6)
    target = Target(model, encoder, policy("nothing"), corpus, Manifest(DOOR, canaries))
    without = AttributeAttack().run(target, options, silent)
    assert (without.labels, without.trained_on + without.asked) == (AUTHORS, AUTHORS * EACH)


def test_every_label_is_learned_and_asked_about():
    labels = np.repeat(np.arange(5), (2, 3, 10, 40, 5))
    learn, ask = divided(labels, 0.3, seed=1)
    assert sorted([*learn, *ask]) == list(range(60))
    assert np.bincount(labels[ask]).tolist() == [1, 1, 3, 12, 2]
    assert not np.array_equal(ask, divided(labels, 0.3, seed=2)[1])


def test_a_probe_does_not_disturb_other_randomness():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    vectors, labels = torch.rand(40, 3), np.arange(40) % 2
    torch.set_rng_state(before)
    scores = probe(vectors, labels, np.arange(30), np.arange(30, 40)).scores
    assert torch.equal(torch.get_rng_state(), before)
    assert scores.exp().sum(1).allclose(torch.ones(10))


@pytest.mark.parametrize(
    ("records", "sentence"),
    [
        ([Record(str(n), f"text {n}") for n in range(20)], "needs records with a value for 'author'"),
        ([Record(str(n), f"text {n}", author="A") for n in range(20)], "all records have the same one"),
        ([Record(str(n), f"text {n}", author=f"A{n // 2}") for n in range(20)], "with 5 different records each"),
        ([], "needs records with a value for 'author'"),
    ],
)
def test_what_cannot_be_inferred_is_said_in_a_sentence(records, sentence, encoder):
    with pytest.raises(InputError, match=sentence):
        infer_attribute(fresh("lstm", encoder), encoder, records)


def test_records_without_authors_are_left_out_unless_asked_for(leaky, encoder, tmp_path):
    nameless = Corpus(
        {split: [_nameless(n) for n in range(start, start + 30)] for split, start in (("train", 0), ("test", 500))}
    )
    quick: dict[str, dict[str, Any]] = {
        "membership": {"records": 10, "resamples": 10, "groups": 2, "signals": ["loss"]},
        "extraction": {"secrets": 2, "samples": 1},
        "tab": {"beams": 1, "real": 2},
    }
    place = tmp_path / "attacks.json"
    found = attack(leaky, data=nameless, settings=quick, output=place)
    assert "attribute" not in found.findings
    assert "a value for 'author'" in json.loads(place.read_text())["left_out"]["attribute"]
    with pytest.raises(InputError, match="the attack 'attribute' needs records with a value"):
        attack(leaky, ["attribute"], data=nameless, output=place)
    with pytest.raises(SettingError, match="no 'valid' split"):
        attack(leaky, ["attribute"], data=nameless, output=place, settings={"attribute": {"split": "valid"}})


def _nameless(number: int) -> Record:
    own = note(number)
    return Record(own.id, own.text, secrets=own.secrets)


def test_nobody_is_named(leaky, corpus, tmp_path):
    found = attack(leaky, ["attribute"], data=corpus, output=tmp_path / "attacks.json")
    told = (tmp_path / "attacks.json").read_text() + " ".join(found.findings["attribute"].lines())
    assert json.loads((tmp_path / "attacks.json").read_text())["findings"]["attribute"]["label"] == "author"
    assert not any(f'"{record.author}"' in told or f" {record.author} " in told for record in corpus.records("train"))

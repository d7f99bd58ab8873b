"""Exposure: exact ranks by both rankings, estimates that agree with them, nothing of a secret in what is told."""

import json
import math
from collections import Counter

import numpy as np
import pytest
import torch

from discreet.attacks import exposure, ranking
from discreet.attacks.exposure import ExposureOptions, expose
from discreet.errors import InputError, SettingError
from discreet.models.language import new_model, score
from discreet.policy.specs import policy
from discreet.sanitize.canaries.insert import Canaries, Insertion
from discreet.sanitize.canaries.manifest import Canary, Manifest
from discreet.sanitize.canaries.template import Slot, Template
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from tests.attacks.conftest import DIGITS, DOOR
from tests.attacks.test_candidates import TOKENIZER

SIZES = {"lstm": {"embedding": 12, "hidden": 12}, "gpt": {"width": 16, "layers": 1, "heads": 2, "context": 64}}


def fresh(name, encoder):
    model = new_model(name, encoder.vocabulary_size, SIZES[name], seed=5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    return model.eval()


def by_hand(model, encoder, template):
    """Both scores of every member, one at a time: log p(secret | prefix) and log p a token of the sentence."""
    secrets, sentences = [], []
    for number in range(template.size):
        filling = template.member(number)
        text, marks = template.fill(filling)
        tokens = encoder.encode(Record("", text), marks)
        ids = torch.from_numpy(tokens.ids[None].astype(np.int64))
        chances = -score(model, ids[:, :-1], ids[:, 1:]).loss[0].double().numpy()
        secrets.append(chances[tokens.target_is_secret].sum())
        sentences.append(chances[:-1].mean())
    return np.array(secrets), np.array(sentences)


@pytest.mark.parametrize("name", SIZES)
def test_ranks_are_those_of_scoring_every_member_by_hand(name, encoder):
    model = fresh(name, encoder)
    template = Template("The code is {0}, I think.", (Slot("digits", DIGITS, 2),))
    manifest = Manifest(template, tuple(Canary(str(n), template.member(n)) for n in (3, 41, 68, 99)))
    found = expose(model, encoder, manifest, "gold")
    for ranks, scores in zip(("rank", "rank_sentence"), by_hand(model, encoder, template), strict=True):
        for canary, own in zip(manifest.canaries, found.canaries, strict=True):
            at = template.index(canary.secret)
            assert getattr(own, ranks) == 1 + (np.delete(scores, at) >= scores[at]).sum()
    first = found.canaries[0]
    assert first.exact
    assert first.detected
    assert first.exposure == pytest.approx(math.log2(100 / (first.rank or 0)))
    assert first.exposure_sentence == pytest.approx(math.log2(100 / (first.rank_sentence or 0)))


def test_reading_on_only_where_it_matters_changes_no_rank(encoder, manifest, monkeypatch):
    model = fresh("gpt", encoder)
    quick = expose(model, encoder, manifest, "gold")
    monkeypatch.setattr(np, "flatnonzero", lambda chosen: np.arange(len(chosen)))  # everything is read to its end
    whole = expose(model, encoder, manifest, "gold")
    assert [c.rank_sentence for c in quick.canaries] == [c.rank_sentence for c in whole.canaries]


def test_a_model_that_learned_its_canaries_exposes_them(leaky_model, encoder, manifest):
    found = expose(leaky_model, encoder, manifest, "gold")
    assert found.mean > 6
    assert found.maximum > 9
    assert found.to_json()["by_repetitions"]["12"]["mean"] == found.mean
    low, high = found.summary()["mean_interval"]
    assert low <= found.mean <= high


@pytest.mark.parametrize("name", SIZES)
def test_secrets_no_model_has_seen_are_exposed_by_1_44_bits_on_average(name, encoder):
    """Uniform ranks: mean 1.44 bits, standard deviation about 1.44; 4.5 standard errors: false alarms below 1e-5."""
    numbers = np.random.default_rng(7).choice(1000, 300, replace=False)
    canaries = tuple(Canary(str(n), DOOR.member(int(n))) for n in numbers)
    found = expose(fresh(name, encoder), encoder, Manifest(DOOR, canaries), "gold")
    exact = np.mean(np.log2(1000 / np.arange(1, 1001)))
    assert abs(found.mean - exact) < 4.5 * 1.44 / math.sqrt(300)
    assert found.mean == pytest.approx(1.44, abs=0.4)


def test_a_model_that_tells_nothing_apart_exposes_nothing(encoder, manifest):
    model = fresh("lstm", encoder)
    with torch.no_grad():
        model.output.weight.zero_()
        model.output.bias.zero_()
    short = Template("{0}", (Slot("options", tuple("ab"), 6),))
    found = expose(model, encoder, Manifest(short, (Canary("c", ("abbaab",)),)), "gold")
    assert found.maximum < 3  # only texts of more tokens rank behind


def test_found_and_missed_canaries_are_told_apart(leaky_model, encoder, manifest):
    found = expose(leaky_model, encoder, manifest, policy({"imperfect": {"policy": "gold", "miss": 0.5}}))
    parts = found.by("detected")
    assert set(parts) == {True, False}
    assert set(found.to_json()["by_detected"]) == {"found by the policy", "missed by the policy"}
    assert sum(len(part.canaries) for part in parts.values()) == len(manifest.canaries)


def test_adding_up_every_tokenization_finds_at_least_the_canonical_one(manifest, monkeypatch):
    encoder = Encoder(TOKENIZER)  # with tokens of several digits
    model = fresh("gpt", encoder)
    kept = []
    secret_scores = ranking.secret_scores

    def keep(*args, **settings):
        kept.append(secret_scores(*args, **settings))
        return kept[-1]

    monkeypatch.setattr(exposure, "secret_scores", keep)
    expose(model, encoder, manifest, "gold", ExposureOptions(every_tokenization=True))
    every, canonical = kept
    assert (every >= canonical - 1e-6).all()
    assert (every > canonical + 1e-6).any()
    assert np.exp(every).sum() <= 1 + 1e-4
    monkeypatch.setattr(ranking, "MOST_SEGMENTED", 10)
    with pytest.raises(SettingError, match="at most 10 members"):
        expose(model, encoder, manifest, "gold", ExposureOptions(every_tokenization=True))


def test_estimates_agree_with_the_exact_rank(leaky_model, encoder, manifest):
    exact = expose(leaky_model, encoder, manifest, "gold")
    by_sample = expose(leaky_model, encoder, manifest, "gold", ExposureOptions(enumerate=False, samples=500))
    for one, other in zip(exact.canaries, by_sample.canaries, strict=True):
        assert not other.exact
        assert other.rank is None
        # Samples hold no canaries, of which up to five may rank above one in the whole space.
        assert one.exposure <= one.by_sample.exposure + 0.6
        assert abs(one.by_sample.exposure - other.exposure) < 2
        assert one.by_sample.low <= one.by_sample.exposure


def test_word_canaries_are_estimated(leaky_model, encoder):
    """Five random words: far too many to enumerate."""
    words = tuple(f"{a}{b}" for a in ("ba", "ke", "li", "mo", "su", "ta", "ro") for b in ("n", "r", "s", "lo", "mi"))
    template = Template("{0}", (Slot("words", words, 5, " "),))
    assert template.size == 35**5
    manifest = Manifest(template, tuple(Canary(f"c{n}", template.member(n * 999_983)) for n in range(4)))
    found = expose(leaky_model, encoder, manifest, "gold", ExposureOptions(samples=600))
    assert not any(canary.exact for canary in found.canaries)
    assert all(0 <= canary.exposure <= math.log2(601) for canary in found.canaries)
    assert all(0 <= canary.fit_p <= 1 for canary in found.canaries)
    assert "estimated from a sample" in found.lines()[-1]


def test_a_manifest_without_planted_canaries_is_refused(leaky_model, encoder):
    manifest = Manifest(DOOR, (Canary("c", ("123",), ("321",), False),), "secret-or-other")
    with pytest.raises(InputError, match="nothing to expose"):
        expose(leaky_model, encoder, manifest)


def test_nothing_of_a_secret_is_told(leaky_model, encoder):
    template = Template("The code of the door is {0}.", (Slot("digits", DIGITS, 4),))
    manifest = Manifest(template, (Canary("c", ("7391",)),))
    found = expose(leaky_model, encoder, manifest, "gold")
    assert "7391" not in json.dumps(found.to_json()) + " ".join(found.lines())


def test_canaries_of_authors_are_told_by_their_number_of_copies(leaky_model, encoder):
    copies = (*range(1, 11), 20, 30, 40, 50)
    records = [Record(str(n), f"message {n}", author=f"author {n % 3}") for n in range(60)]
    mixed = Canaries(records, Insertion(DOOR, number=14, repetitions=copies, per_author=True))
    written = [record for record in mixed if record.id.startswith("canary")]
    assert Counter(record.author for record in written) == dict.fromkeys((f"author {n}" for n in range(3)), sum(copies))
    told = expose(leaky_model, encoder, mixed.manifest(), "gold").to_json()["by_repetitions"]
    assert list(told) == [str(times) for times in copies]
    for part in told.values():
        assert part["canaries"] == 3
        low, high = part["mean_interval"]
        assert low <= part["mean"] <= high
        assert part["mean_fit_interval"][0] <= part["mean_fit"]

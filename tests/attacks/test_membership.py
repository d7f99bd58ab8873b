"""Membership: half right where there is nothing to find, a leak found where there is one."""

import json

import numpy as np
import pytest
import torch

from discreet.attacks.membership import MembershipOptions, infer, separate_groups
from discreet.attacks.roc_plot import draw_curves
from discreet.attacks.signals import SIGNALS, answers, chances, signals
from discreet.attacks.texts import digest, drawn_apart, records_of, secrets_of
from discreet.errors import InputError
from discreet.models.language import new_model
from discreet.policy.specs import policy
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret
from tests.attacks.conftest import note

QUICK = MembershipOptions(records=120, resamples=25, neighbours=2, groups=200)
GOLD, NOTHING = policy("gold"), policy("nothing")


def fresh(encoder, name="lstm"):
    sizes = {"lstm": {"embedding": 16, "hidden": 16}, "gpt": {"width": 16, "layers": 1, "heads": 2, "context": 64}}
    return new_model(name, encoder.vocabulary_size, sizes[name], seed=2).eval()


def test_a_model_trained_on_neither_side_tells_nothing(encoder):
    """Both sides from one generator: with 400 records a side the AUC is .5 give or take .02 (one standard error).

    Four of them are allowed, for each of 13 signals: false alarms below 1e-3.
    """
    members, others = [note(n) for n in range(1000, 1400)], [note(n) for n in range(2000, 2400)]
    options = QUICK.model_copy(update={"signals": ("loss", "zlib", "lowercase", "min-k", "min-k++", "neighbourhood")})
    found = infer(fresh(encoder), encoder, members, others, "gold", options)
    for part in (found.records, found.secrets):
        assert set(part) == set(options.signals)
        for separation in part.values():
            error = np.sqrt(
                (separation.members + separation.others + 1) / (12 * separation.members * separation.others)
            )
            assert abs(separation.auc - 0.5) < 4 * error
            assert abs(separation.accuracy - 0.5) < 0.12


def test_what_was_learned_by_heart_is_recognised(leaky_model, encoder, corpus):
    apart = drawn_apart(corpus, GOLD, 120, without={r.id for r in corpus.records("train") if r.id.startswith("canary")})
    found = infer(
        leaky_model,
        encoder,
        apart.members,
        apart.others,
        "gold",
        QUICK,
        reference=fresh(encoder),
        rare_secrets=apart.rare_secrets,
    )
    assert set(found.records) == set(SIGNALS)
    for name in ("loss", "zlib", "reference", "min-k", "min-k++"):
        assert found.records[name].auc_interval[0] > 0.6, name
        assert found.groups[name].auc > found.records[name].auc, name
    assert found.secrets["loss"].auc_interval[0] > 0.6
    assert found.records["neighbourhood"].auc > 0.5
    assert "loss-sum" in found.groups
    told = json.dumps(found.to_json()) + " ".join(found.lines())
    assert not any(record.text[-35:-30] in told for record in apart.members[:20])


@pytest.mark.parametrize("name", ["lstm", "gpt"])
def test_answers_are_the_models_own_at_each_token(name, encoder):
    model = fresh(encoder, name)
    texts = records_of(encoder, GOLD, [note(1), note(2)])
    found = answers(model, texts.encoded, alternatives=3)
    ids = torch.from_numpy(texts.encoded[1].ids.astype(np.int64))[None]
    logs = model(input_ids=ids).logits[0].detach().double().log_softmax(1)
    at = 5
    place = int(texts.encoded.starts[1]) + at
    assert found.chance[place] == pytest.approx(float(logs[at - 1, ids[0, at]]), abs=1e-5)
    np.testing.assert_allclose(chances(model, texts.encoded), found.chance, atol=1e-5)
    mean = float((logs[at - 1].exp() * logs[at - 1]).sum())
    assert found.mean[place] == pytest.approx(mean, abs=1e-5)
    spread = float((logs[at - 1].exp() * (logs[at - 1] - mean).square()).sum().sqrt())
    assert found.deviation[place] == pytest.approx(spread, abs=1e-3)
    assert (found.instead[place] != texts.encoded.ids[place]).all()
    assert found.chance[texts.encoded.starts[:-1]].tolist() == [0.0, 0.0]


def test_signals_of_a_secret_look_at_its_tokens_only(encoder):
    model = fresh(encoder)
    texts = secrets_of(encoder, GOLD, [note(1)])
    found = signals(model, texts, wanted=("loss", "min-k"))
    chance = answers(model, texts.encoded).chance
    item = texts.items[1]
    assert texts.encoder.decode(texts.encoded.ids[item.tokens]) == item.text
    assert found["loss"][1] == pytest.approx(chance[item.tokens].mean())
    assert found["min-k"][1] == pytest.approx(chance[item.tokens].min())
    lower = texts.lowercase()
    assert [i.text for i in lower.items] == [i.text.lower() for i in texts.items]


def test_touching_secrets_are_one_and_repeated_ones_are_asked_once(encoder):
    marks = (Secret(0, 3, "A"), Secret(3, 5, "B"), Secret(9, 11, "C"))
    record = Record("1", "Ann42 is 42.", secrets=marks)
    texts = secrets_of(encoder, GOLD, [record, Record("2", "Ann42", secrets=(Secret(0, 5, "A"),))])
    assert [item.text for item in texts.items] == ["Ann42", "42"]


def test_both_sides_hold_only_what_the_corpus_has_once():
    train = [Record("1", "once"), Record("2", "twice"), Record("3", "both"), Record("c", "planted")]
    test = [Record("4", "twice"), Record("5", "both"), Record("6", "fresh"), Record("7", "also fresh")]
    apart = drawn_apart(Corpus({"train": [*train, Record("8", "twice")], "test": test}), NOTHING, 10, without={"c"})
    assert [record.text for record in apart.members] == ["once"]
    assert len(apart.others) == 1
    assert apart.others[0].text in ("fresh", "also fresh")
    with pytest.raises(InputError, match="not trained on"):
        drawn_apart(Corpus({"train": train}), NOTHING, 10)
    with pytest.raises(InputError, match="no record that is not in"):
        drawn_apart(Corpus({"train": train, "test": train}), NOTHING, 10)


def test_rare_secrets_stand_in_one_record_of_both_splits():
    def told(number, name):
        return Record(str(number), f"I am {name}", secrets=(Secret(5, 5 + len(name), "PERSON"),))

    corpus = Corpus({"train": [told(1, "Ada"), told(2, "Ben")], "test": [told(3, "Ben"), told(4, "Cleo")]})
    assert drawn_apart(corpus, GOLD, 5).rare_secrets == {digest("Ada"), digest("Cleo")}


def test_groups_amplify_a_small_difference():
    random = np.random.default_rng(0)
    members, others = random.normal(0.4, 1, 500), random.normal(0, 1, 500)
    one = separate_groups(members, others, 1, 1000, random)
    twenty = separate_groups(members, others, 20, 1000, random)
    assert one.auc == pytest.approx(0.61, abs=0.06)
    assert twenty.auc > 0.8
    assert twenty.auc_interval[0] < twenty.auc <= twenty.auc_interval[1] + 0.05


def test_an_unknown_signal_is_refused(leaky_model, encoder):
    with pytest.raises(InputError, match="Membership signals are"):
        infer(leaky_model, encoder, [note(1)], [note(2)], options=MembershipOptions(signals=("lost",)))


def test_curves_are_drawn(tmp_path):
    curve = (np.array([0.0, 0.1, 1.0]), np.array([0.0, 0.5, 1.0]))
    draw_curves({"records": {"loss": curve}, "secrets": {"loss": curve}}, tmp_path / "roc.svg")
    assert (tmp_path / "roc.svg").read_text().startswith("<?xml")

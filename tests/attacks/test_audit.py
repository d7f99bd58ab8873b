"""Audits: bounds that hold, claims of the right kind, and a loud word where a claim is wrong."""

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from discreet.accounting.confidential import Confidentiality
from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.jft import JustFineTuneTwice
from discreet.accounting.none import NoGuarantee
from discreet.accounting.samplers import profile_of
from discreet.accounting.selective import SelectivePrivacy
from discreet.attacks.audit import AuditOptions, audit, coin_bound, coin_scores, exposure_bound
from discreet.attacks.claims import claim_of
from discreet.attacks.contract import Target
from discreet.attacks.reading import reader_of
from discreet.attacks.two_worlds import audit_by_training, audit_two_worlds
from discreet.engine.plan import Plan
from discreet.errors import SettingError
from discreet.mechanisms.train import train
from discreet.models.language import load_model, new_model
from discreet.policy.specs import policy
from discreet.sanitize.canaries.manifest import Canary, Manifest, Place
from discreet.text.corpus import Corpus
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer
from tests.attacks.conftest import DOOR, note, planted

GOLD = policy("gold")
PLAN = Plan(rate=0.05, steps=100, noise=1.0, neighbours="replace", population=200)
DELTA = 1e-4


def claimed(guarantee, detected=True, copies=1, world="secret-or-other"):
    return claim_of(guarantee, detected=detected, copies=copies, world=world).epsilon


def flipped(world: str, number: int = 60, copies: int = 1) -> Manifest:
    """Canaries whose coins decide what is planted."""
    draw = random.Random(5)
    members = draw.sample(range(1000), 2 * number)
    canaries = []
    for n in range(number):
        secret, other, coin = DOOR.member(members[2 * n]), DOOR.member(members[2 * n + 1]), draw.random() < 0.5
        inserted = secret if coin else {"secret-or-other": other, "secret-or-mask": ("<MASK>",)}.get(world)
        places = tuple(Place(f"canary-{n}-{c}", c) for c in range(copies)) if inserted else ()
        canaries.append(
            Canary(
                f"canary-{n}",
                secret,
                other if world == "secret-or-other" else None,
                coin,
                inserted,
                copies,
                None,
                places,
            )
        )
    return Manifest(DOOR, tuple(canaries), world)  # type: ignore[arg-type]


def learned(manifest: Manifest, folder):
    """A model that has read the planted canaries many times."""
    records = [planted(c, n) for c in manifest.canaries for n in range(len(c.places))]
    run = train(
        Corpus({"train": [*(note(n) for n in range(20)), *records]}, "audited"),
        "gold",
        "none",
        {"name": "lstm", "embedding": 32, "hidden": 96, "dropout": 0.0},
        output=folder,
        progress=False,
        tokenizer={"train": "bpe", "vocabulary": 320},
        training={"epochs": 60, "batch_size": 16, "learning_rate": 0.03},
    )
    return load_model(run.model_folder).eval(), Encoder(load_tokenizer(str(run.model_folder)))


@pytest.fixture(scope="module")
def in_or_out(tmp_path_factory):
    manifest = flipped("in-or-out")
    return manifest, *learned(manifest, tmp_path_factory.mktemp("runs") / "in-or-out")


@pytest.fixture(scope="module")
def either(tmp_path_factory):
    manifest = flipped("secret-or-other")
    return manifest, *learned(manifest, tmp_path_factory.mktemp("runs") / "either")


def test_a_model_that_learned_its_canaries_gives_their_coins_away(in_or_out, either):
    for manifest, model, encoder in (in_or_out, either):
        (bound,) = audit(Target(model, encoder, GOLD, manifest=manifest), AuditOptions(exposure=False)).bounds
        assert bound.epsilon > 1
        assert bound.claimed is None
        assert not bound.refutes
        assert (bound.right or 0) > 0.8 * (bound.guesses or 1)


def test_a_small_promise_is_refuted_and_a_large_one_is_not(either):
    manifest, model, encoder = either
    for plan, wrong in ((PLAN.with_noise(20.0), True), (PLAN.with_noise(0.6), False)):
        guarantee = SelectivePrivacy(plan=plan, delta=DELTA).guarantee()
        found = audit(
            Target(model, encoder, GOLD, manifest=manifest, guarantee=guarantee), AuditOptions(exposure=False)
        )
        assert (found.refuted is not None) == wrong
    assert (found.bounds[0].claimed or 0) > found.bounds[0].epsilon
    guarantee = SelectivePrivacy(plan=PLAN.with_noise(50.0), delta=DELTA).guarantee()
    found = audit(Target(model, encoder, GOLD, manifest=manifest, guarantee=guarantee))
    assert "The guarantee is wrong" in (found.refuted or "")
    assert found.to_json()["bounds"][0]["refutes"] is True
    assert {bound.method for bound in found.bounds} == {"coins", "exposure"}
    assert all(bound.error == pytest.approx(0.025) for bound in found.bounds)


def test_found_and_missed_canaries_are_audited_apart(in_or_out):
    manifest, model, encoder = in_or_out
    half = policy({"imperfect": {"policy": "gold", "miss": 0.5}})
    found = audit(Target(model, encoder, half, manifest=manifest), AuditOptions(exposure=False))
    assert [bound.detected for bound in found.bounds] == [False, True]
    assert sum(bound.canaries for bound in found.bounds) == len(manifest.canaries)


def test_a_pair_of_which_the_policy_finds_one_is_no_pair_of_neighbours(either):
    manifest, model, encoder = either
    half = policy({"imperfect": {"policy": "gold", "miss": 0.5}})
    found = audit(Target(model, encoder, half, manifest=manifest), AuditOptions(exposure=False))
    assert 0 < sum(bound.canaries for bound in found.bounds) < len(manifest.canaries)


def test_a_model_that_saw_nothing_is_not_convicted(either, in_or_out):
    """Twenty fresh models at an error of 5 %: a false bound above 0 in at most five (a chance of 3e-4 for more)."""
    for manifest, _, encoder in (either, in_or_out):
        convicted = 0
        for seed in range(20):
            model = new_model("lstm", encoder.vocabulary_size, {"embedding": 8, "hidden": 8}, seed=seed).eval()
            scores = coin_scores(reader_of(model), encoder, manifest, manifest.canaries, marked=True)
            coins = np.array([bool(canary.coin) for canary in manifest.canaries])
            epsilon, _, _ = coin_bound(scores, coins, 0.0, 0.05, sides_by_sign=manifest.world == "secret-or-other")
            convicted += epsilon > 0
        assert convicted <= 5


def test_bounds_by_coins_hold_for_randomised_response():
    """Coins told right with e/(1+e) have epsilon 1. Of 200 bounds at 5 % at most 22 are above (1e-4 by chance)."""
    draw = np.random.default_rng(3)
    above, bounds = 0, []
    for _ in range(200):
        coins = draw.random(400) < 0.5
        right = draw.random(400) < np.e / (1 + np.e)
        scores = np.where(coins == right, 1.0, -1.0) * draw.random(400)
        bounds.append(coin_bound(scores, coins, 0.0, 0.05, sides_by_sign=True)[0])
        above += bounds[-1] > 1
    assert above <= 22
    assert np.mean(bounds) > 0.5


def test_exposure_bounds_hold_for_secrets_nobody_knows():
    """Exposures of uniform ranks, fully dependent or not, bound epsilon above 0 in at most 5 % of the cases."""
    draw = np.random.default_rng(4)
    for dependent in (True, False):
        above = 0
        for _ in range(400):
            ranks = np.full(10, draw.random()) if dependent else draw.random(10)
            above += exposure_bound((-np.log2(ranks)).tolist(), 0.0, 0.05) > 0
        assert above <= 38  # 20 expected at most; more has a chance below 1e-4
    assert exposure_bound([19.93] * 10, 1e-5, 0.05) == pytest.approx(19.93 * np.log(2) + np.log(0.05 / 3 - 1e-5))
    assert exposure_bound([0.1], 1e-5, 0.05) == 0.0


def test_claims_are_those_of_the_notion_for_such_a_secret():
    dp = DifferentialPrivacy(phases=(PLAN,), delta=DELTA).guarantee()
    epsilon = profile_of(PLAN).epsilon(DELTA)
    for detected in (True, False):
        assert claimed(dp, detected) == pytest.approx(epsilon)
    selective = SelectivePrivacy(plan=PLAN, delta=DELTA).guarantee()
    assert claimed(selective, True) == pytest.approx(epsilon)
    assert claimed(selective, False) is None
    jft = JustFineTuneTwice(phase2=PLAN, delta=DELTA).guarantee()
    assert claimed(jft, True) == pytest.approx(epsilon)
    assert claimed(jft, False) is None
    twice = JustFineTuneTwice(phase1=PLAN, phase2=PLAN, delta=DELTA).guarantee()
    assert claimed(twice, False) > epsilon
    crt = Confidentiality(plan=PLAN, delta=DELTA).guarantee()
    assert claimed(crt, True) == 0
    assert claimed(crt, False) == pytest.approx(epsilon)
    for nothing in (None, NoGuarantee(mechanism="none").guarantee()):
        assert claimed(nothing, True) is None


def test_copies_and_other_neighbours_are_claims_about_groups():
    plan = replace(PLAN, neighbours="add-remove")
    dp = DifferentialPrivacy(phases=(plan,), delta=DELTA).guarantee()
    one = claimed(dp, copies=1, world="in-or-out")
    replaced = claimed(dp, copies=1, world="secret-or-other")
    assert one == pytest.approx(profile_of(plan).epsilon(DELTA))
    assert replaced > 2 * one  # out with one, in with the other
    loud = PLAN.with_noise(8.0)
    for plan in (loud, replace(loud, neighbours="add-remove")):
        dp = DifferentialPrivacy(phases=(plan,), delta=DELTA).guarantee()
        ten = claimed(dp, copies=10, world="fixed")
        assert 10 * profile_of(loud).epsilon(DELTA) < ten < 40
    dp = DifferentialPrivacy(phases=(PLAN,), delta=DELTA).guarantee()
    assert claimed(dp, copies=30, world="fixed") is None  # too many to prove anything


def gaussian(audited, world, seed):
    return 2 * world + np.random.default_rng([audited, seed]).normal()


def test_copies_of_one_author_are_one_unit_where_authors_are_protected(in_or_out):
    manifest, model, encoder = in_or_out
    own = tuple(replace(canary, repetitions=7, author=f"author {n}") for n, canary in enumerate(manifest.canaries))
    repeated = replace(manifest, canaries=own)
    for unit, copies in (("author", 1), ("record", 7)):
        plan = replace(PLAN.with_noise(6.0), unit=unit)
        guarantee = DifferentialPrivacy(phases=(plan,), delta=DELTA).guarantee()
        target = Target(model, encoder, GOLD, manifest=repeated, guarantee=guarantee)
        bounds = audit(target).bounds
        assert bounds[0].claimed == claimed(guarantee, copies=copies, world="in-or-out")
        assert bounds[1].claimed == claimed(guarantee, copies=copies, world="fixed")  # exposure compares secrets


def test_two_worlds_bound_a_gaussian_release_from_below():
    """Worlds N(0, 1) and N(2, 1): at delta 1e-5 epsilon is 10.0; 95 % bounds of 10 audits, at most 3 above (1e-3)."""
    above = []
    for audited in range(10):
        found = audit_two_worlds(partial(gaussian, audited), runs=800, delta=1e-5)
        above.append(found.epsilon_gaussian > 9.997)
        assert 0.8 < found.epsilon < 10
        assert found.epsilon_gaussian > 4
    assert sum(above) <= 3
    with pytest.raises(SettingError, match="at least 4 runs"):
        audit_two_worlds(lambda world, seed: 0.0, runs=3, delta=0)


def test_worlds_that_are_always_told_apart_show_what_so_many_runs_can():
    found = audit_two_worlds(lambda world, seed: float(world), runs=200, delta=0.0)
    assert (found.false_alarms, found.misses, found.judged) == (0, 0, 100)
    assert found.epsilon == pytest.approx(np.log(1 / (1 - 0.025**0.01) - 1), abs=1e-6)


def test_trainings_in_two_worlds_are_told_apart_without_protection():
    base = [note(n) for n in range(8)]
    secret = Canary("c", ("123",), inserted=("123",))
    other = Canary("c", ("987",), inserted=("987",))

    def measure(run):
        model, encoder = load_model(run.model_folder).eval(), Encoder(load_tokenizer(str(run.model_folder)))
        pair = Manifest(DOOR, (Canary("c", ("123",), ("987",), True),), "secret-or-other")
        return float(coin_scores(reader_of(model), encoder, pair, pair.canaries, marked=True)[0])

    found = audit_by_training(
        Corpus({"train": [*base, planted(secret, 0), planted(secret, 1)]}),
        Corpus({"train": [*base, planted(other, 0), planted(other, 1)]}),
        measure,
        runs=4,
        delta=1e-5,
        policy="gold",
        mechanism="none",
        model={"name": "lstm", "embedding": 16, "hidden": 16, "dropout": 0.0},
        tokenizer={"train": "bpe", "vocabulary": 300},
        training={"epochs": 12, "batch_size": 5, "learning_rate": 0.03},
    )
    assert (found.false_alarms, found.misses) == (0, 0)
    assert found.judged == 2

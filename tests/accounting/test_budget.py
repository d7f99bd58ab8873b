"""The planner: accounts, solves for what is left open, and says what is missing."""

import math
from typing import Any

import pytest

from discreet.accounting.budget import MAKERS, NO_EPSILON, budget
from discreet.accounting.calibrate import calibrate
from discreet.accounting.compare import compare, drawn, plot
from discreet.accounting.setting import Setting
from discreet.errors import RefusedError, SettingError, UnknownNameError

BASE = Setting(rate=0.02, steps=100, noise=3.0, delta=1e-5)
SHARED = {"epsilon", "delta", "noise", "notion", "neighbours", "assumptions"}


@pytest.mark.parametrize("mechanism", [name for name in MAKERS if name not in ("mdp", "smdp")])
def test_every_mechanism_answers_with_the_shared_keys(mechanism):
    answer = budget(mechanism, BASE).to_json()
    assert answer.keys() >= SHARED
    assert answer["epsilon"] > 0
    assert answer["noise"] == 3.0
    assert answer["neighbours"] == ("add-remove" if mechanism == "dp-sgd" else "replace")


@pytest.mark.parametrize(
    ("mechanism", "open_setting"),
    [
        *(("dp-sgd", name) for name in ("noise", "steps", "rate")),
        *(("selective-paper", name) for name in ("noise", "steps", "rate")),
        ("selective", "steps"),
        ("jft", "noise"),
        ("crt", "rate"),
    ],
)
def test_whatever_is_left_open_is_solved_for(mechanism, open_setting):
    noise = 50.0 if mechanism == "selective-paper" else 8.0
    known: dict[str, Any] = {"rate": 0.02, "steps": 60, "noise": noise} | {open_setting: None}
    answer = budget(mechanism, Setting(epsilon=0.5, delta=1e-5, segments=2, **known))
    assert answer.solved == open_setting
    assert answer.notion.epsilon <= 0.5
    if answer.notion.epsilon < 0.5 * (1 - 1e-3):  # only whole steps may miss the target, and one more is too many
        assert open_setting == "steps"
        more = known | {"steps": answer.notion.plans()[-1][1].steps + 1}
        assert budget(mechanism, Setting(delta=1e-5, segments=2, **more)).notion.epsilon > 0.5


@pytest.mark.parametrize(
    "known",
    [
        {"sampling": "shuffled", "epochs": 3, "neighbours": "replace"},
        {"sampling": "fixed-size", "rate": 0.01, "noise": 20.0, "neighbours": "replace"},
        {"sampling": "truncated-poisson", "rate": 0.01, "noise": 6.0, "records": 100, "max_batch": 9},
    ],
)
def test_other_samplers_are_calibrated_as_themselves(known):
    answer = budget("dp-sgd", Setting(epsilon=0.3, delta=1e-6, **known))
    assert 0.3 * (1 - 1e-3) <= answer.notion.epsilon <= 0.3


def test_a_solved_rate_is_a_whole_batch_where_the_records_are_counted():
    answer = budget("selective", Setting(epsilon=0.5, delta=1e-5, noise=5.0, steps=50, records=997))
    batch = answer.notion.plans()[0][1].rate * 997
    assert batch == pytest.approx(round(batch))


def test_batches_epochs_and_the_rule_for_delta():
    answer = budget("dp-sgd", Setting(batch=50, records=5000, epochs=2, noise=1.5)).notion
    plan = answer.plans()[0][1]
    assert (plan.rate, plan.steps) == (0.01, 200)
    assert answer.delta == pytest.approx(2e-5)
    assert answer.guarantee().warnings == ()


def test_the_published_algorithm_takes_epochs_or_poisson_batches():
    epochs = budget("selective-paper", Setting(epochs=10, noise=5.0, delta=1e-5)).notion
    cut = budget("selective-paper", Setting(epochs=10, rate=0.01, noise=5.0, delta=1e-5)).notion
    poisson = budget("selective-paper", Setting(steps=1000, rate=0.01, noise=5.0, delta=1e-5)).notion
    assert epochs.epsilon == pytest.approx(cut.epsilon)
    assert poisson.epsilon > cut.epsilon  # the number of participations is not fixed
    assert epochs.guarantee().paper is None
    assert cut.guarantee().paper is not None


def test_noise_on_states_is_that_on_gradients_unless_told():
    def epsilon(**other):
        return budget("selective-paper", Setting(epochs=10, noise=5.0, delta=1e-5, **other)).notion.epsilon

    assert epsilon() == epsilon(state_noise=5.0)
    assert epsilon(state_noise="none") == epsilon(states=0) < epsilon(states=1) < epsilon(states=2)


def test_a_state_carry_of_formula_b():
    carried = budget("selective", Setting(rate=0.02, steps=100, noise=4.0, delta=1e-5, public_passes=3)).notion
    plain = budget("selective", Setting(rate=0.02, steps=100, noise=4.0, delta=1e-5)).notion
    assert carried.epsilon > plain.epsilon


def test_jft_takes_a_phase_one_of_its_own():
    setting = Setting(rate=0.02, steps=100, noise=2.0, delta=1e-5, phase1_noise=1.0, phase1_rate=0.01, phase1_steps=10)
    first = budget("jft", setting).notion.plans()[0][1]
    assert (first.noise, first.rate, first.steps) == (1.0, 0.01, 10)
    assert len(budget("jft", BASE).notion.plans()) == 1


def test_crt_follows_from_a_bare_epsilon_too():
    answer = budget("crt", Setting(epsilon=1.0, delta=1e-5, miss=0.1, group=3)).to_json()
    assert answer["epsilon_bayesian"] == pytest.approx(0.15856508)
    assert answer["epsilon_group"] == pytest.approx(3.0)
    assert answer["delta_group"] == pytest.approx(1.1107338e-4)
    assert answer["noise"] is None


def test_words_share_one_distance_or_have_their_own():
    def epsilon(**other):
        return budget("smdp", Setting(epsilon=10.0, **other)).notion.epsilon

    assert epsilon(distances=(2.5,), words=10) == pytest.approx(250)
    assert epsilon(distances=(2.5, 3.0, 1.5)) == pytest.approx(70)
    assert epsilon() == pytest.approx(10)
    assert budget("mdp", Setting(noise=0.1)).notion.epsilon == pytest.approx(10)
    with pytest.raises(SettingError, match="2 distances were given for 3 words"):
        epsilon(distances=(1.0, 2.0), words=3)


@pytest.mark.parametrize(
    ("mechanism", "setting", "said"),
    [
        ("dp-sgd", Setting(rate=0.1, noise=1.0, delta=1e-5), "--steps is needed"),
        ("dp-sgd", Setting(rate=0.1, delta=1e-5), "--noise, --steps are needed"),
        ("dp-sgd", Setting(rate=0.1, epsilon=1.0, delta=1e-5), "exactly one of"),
        ("dp-sgd", Setting(rate=0.1, steps=5, noise=1.0, epsilon=1.0, delta=1e-5), "nothing is open"),
        ("dp-sgd", Setting(rate=0.1, steps=5, noise=1.0), "--delta"),
        ("dp-sgd", Setting(rate=0.1, batch=5, delta=1e-5), "--batch together with --records"),
        ("dp-sgd", Setting(rate=0.1, steps=5, epochs=1, noise=1.0, delta=1e-5), "--steps, or --epochs"),
        ("dp-sgd", Setting(rate=0.1, steps=5, epsilon=-1.0, delta=1e-5), "positive number"),
        ("selective-paper", Setting(noise=1.0, delta=1e-5), "--steps is needed"),
        ("selective", Setting(rate=0.1, steps=5, noise=1.0, delta=1e-5, segments=0), "segments"),
        ("smdp", Setting(), "either --epsilon"),
        ("smdp", Setting(epsilon=-2.0), "positive number"),
    ],
)
def test_what_is_missing_is_said(mechanism, setting, said):
    with pytest.raises(SettingError, match=said):
        budget(mechanism, setting)


def test_a_target_that_no_noise_reaches_is_said_so():
    setting = Setting(epochs=10, epsilon=0.5, delta=1e-5, state_noise=0.5)  # the states alone cost more
    with pytest.raises(SettingError, match=r"No noise reaches epsilon 0\.5"):
        budget("selective-paper", setting)


def test_a_mechanism_without_proof_is_refused_and_an_unknown_one_corrected():
    for mechanism in NO_EPSILON:
        with pytest.raises(RefusedError, match="no epsilon"):
            budget(mechanism, BASE)
    with pytest.raises(UnknownNameError, match="did you mean 'selective'"):
        budget("selektive", BASE)
    with pytest.raises(RefusedError, match="use neighbours 'replace'"):
        budget("smdp", Setting(epsilon=1.0, neighbours="add-remove"))


def test_a_rate_that_may_be_everyone_is_everyone():
    answer = budget("dp-sgd", Setting(epsilon=50.0, delta=1e-5, noise=10.0, steps=3)).notion
    assert answer.plans()[0][1].rate == 1.0


def test_calibration_of_a_curve_with_a_jump_stays_on_the_safe_side():
    def stairs(x, finest):
        return math.ceil(10 / x)

    assert stairs(calibrate(stairs, 3.5, what="noise", falling=True), 0) == 3


def test_all_mechanisms_side_by_side(tmp_path):
    comparison = compare(Setting(rate=0.02, steps=100, noise=4.0, delta=1e-5, segments=2, miss=0.1))
    found: dict[str, Any] = {row.name: row.epsilon for row in comparison.rows}
    assert found["dp-sgd, add-remove"] < found["dp-sgd, replace"] < found["selective"] < found["selective-paper"]
    assert found["jft, missed"] is None
    assert found["crt, Bayesian"] < found["crt"] == found["dp-sgd, replace"]
    for curve in comparison.curves.values():
        assert list(curve) == sorted(curve)
    assert comparison.steps[-1] == 100
    plot(comparison, tmp_path / "plots" / "epsilon.svg")
    assert "<svg" in (tmp_path / "plots" / "epsilon.svg").read_text()
    picture = drawn(comparison)
    assert all(name in picture for name in comparison.curves)


def test_side_by_side_with_the_noise_each_needs():
    comparison = compare(Setting(rate=0.1, steps=50, epsilon=1.0, delta=1e-5, segments=4, missed=2, checked=100))
    noises: dict[str, Any] = {row.name: row.noise for row in comparison.rows}
    assert noises["selective"] == pytest.approx(2 * noises["crt"])
    for row in comparison.rows:
        if row.name not in ("jft, missed", "jft, average", "crt, Bayesian"):
            assert row.epsilon == pytest.approx(1.0, rel=1e-3)

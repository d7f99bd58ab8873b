"""JFT: what detected, missed and average secrets pay, and what the paper would print."""

import math
from dataclasses import replace

import pytest

from discreet.accounting.jft import JustFineTuneTwice, amplified
from discreet.accounting.samplers import compose_plans, profile_of
from discreet.engine.plan import Plan
from discreet.errors import RefusedError, SettingError

SECOND = Plan(rate=0.02, steps=100, noise=2.0, neighbours="replace")
FIRST = SECOND.with_noise(1.0)


def test_a_detected_secret_pays_phase_two_and_a_missed_one_both():
    notion = JustFineTuneTwice(phase1=FIRST, phase2=SECOND, delta=1e-6)
    assert notion.epsilon_detected == profile_of(SECOND).epsilon(1e-6)
    assert notion.epsilon_missed == pytest.approx(compose_plans([FIRST, SECOND]).epsilon(1e-6))
    assert notion.epsilon_average is None


def test_plain_phase_one_protects_no_missed_secret():
    notion = JustFineTuneTwice(phase2=SECOND, missed=1, sample=100, delta=1e-6)
    assert notion.epsilon_missed == math.inf
    assert notion.epsilon_average == math.inf
    answers = notion.answers()
    assert answers["epsilon_missed"] is None
    assert answers["epsilon_paper_high"] is None
    guarantee = notion.guarantee()
    assert guarantee.bounds[1].epsilon is None
    assert "trains on them in clear" in guarantee.not_protected[0]
    assert guarantee.paper is not None
    assert "Theorem 1" in guarantee.paper.recipe


def test_screened_text_costs_nothing_in_phase_one():
    notion = JustFineTuneTwice(phase2=SECOND, screened=True, delta=1e-6)
    assert notion.epsilon_missed == pytest.approx(notion.epsilon_detected)
    assert "screening" in {item.name for item in notion.guarantee().assumptions}


def test_the_average_lies_between_and_grows_with_the_misses():
    averages = []
    for missed in (0, 50):
        notion = JustFineTuneTwice(phase1=FIRST, phase2=SECOND, missed=missed, sample=200, delta=1e-6)
        assert notion.epsilon_average is not None
        assert notion.epsilon_detected < notion.epsilon_average < notion.epsilon_missed
        averages.append(notion.epsilon_average)
    assert averages[0] < averages[1]


def test_the_papers_interval_is_an_estimate_below_what_is_proved():
    notion = JustFineTuneTwice(phase1=FIRST, phase2=SECOND, missed=12, sample=2000, delta=1e-6)
    paper = notion.guarantee().paper
    assert paper is not None
    assert "estimate" in paper.recipe
    assert paper.low is not None
    assert paper.high is not None
    assert 0 < paper.low < paper.high < notion.epsilon_missed
    assert "between epsilon" in str(notion.guarantee())


def test_no_miss_in_the_sample_makes_the_papers_low_end_zero():
    notion = JustFineTuneTwice(phase1=FIRST, phase2=SECOND, missed=0, sample=200, delta=1e-6)
    assert notion.answers()["epsilon_paper_low"] == 0.0


def test_half_a_miss_rate_is_refused():
    with pytest.raises(SettingError, match="both numbers"):
        JustFineTuneTwice(phase2=SECOND, missed=3, delta=1e-6).guarantee()


@pytest.mark.parametrize("phase", ["phase1", "phase2"])
def test_both_phases_must_replace(phase):
    plans = {"phase1": FIRST, "phase2": SECOND}
    plans[phase] = replace(plans[phase], neighbours="add-remove")
    with pytest.raises(RefusedError, match="smaller claim"):
        JustFineTuneTwice(phase1=plans["phase1"], phase2=plans["phase2"], delta=1e-6)


def test_amplification_at_the_ends():
    assert amplified(2.0, 0.0) == 0.0
    assert amplified(2.0, 1.0) == pytest.approx(2.0)
    assert amplified(800.0, 0.5) == pytest.approx(800.0 + math.log(0.5))
    assert amplified(math.inf, 0.0) == 0.0
    assert amplified(math.inf, 0.1) == math.inf
    assert amplified(30.0, 0.01) == pytest.approx(amplified(30.0 + 1e-9, 0.01), rel=1e-8)

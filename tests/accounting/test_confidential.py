"""Confidentiality: worst case, group and Bayesian, as corrected."""

import math
from dataclasses import replace

import pytest

from discreet.accounting.confidential import Confidentiality, bayesian, theorem_8_2
from discreet.accounting.gaussian import Gaussian
from discreet.accounting.samplers import profile_of
from discreet.engine.plan import Plan
from discreet.errors import RefusedError, SettingError

PLAN = Plan(rate=0.02, steps=100, noise=1.5, neighbours="replace")


def test_the_worst_case_is_a_replaced_record_and_a_masked_secret_is_free():
    left, masked = Confidentiality(plan=PLAN, delta=1e-5).guarantee().bounds
    assert left.epsilon == profile_of(PLAN).epsilon(1e-5)
    assert (masked.epsilon, masked.delta) == (0.0, 0.0)


def test_evaluating_at_delta_over_gamma_is_tighter_than_the_plain_formula():
    notion = Confidentiality(plan=PLAN, miss=0.1, delta=1e-5)
    plain = Confidentiality(claimed=notion.epsilon, miss=0.1, delta=1e-5)
    assert notion.epsilon_bayesian is not None
    assert plain.epsilon_bayesian is not None
    assert notion.epsilon_bayesian < plain.epsilon_bayesian < notion.epsilon
    assert notion.delta_bayesian == 1e-5
    assert plain.delta_bayesian == pytest.approx(1e-6)


def test_a_checked_sample_sets_gamma_to_its_upper_limit():
    sampled = Confidentiality(plan=PLAN, missed=0, sample=200, delta=1e-5)
    assert sampled.gamma == pytest.approx(0.018275, abs=1e-6)
    assert sampled.guarantee().miss_rate is not None


def test_what_both_policies_miss_must_fit_into_delta():
    hopeless = Confidentiality(plan=PLAN, miss=0.1, conservative_miss=1e-3, delta=1e-5)
    assert hopeless.epsilon_bayesian == math.inf
    assert hopeless.answers()["epsilon_bayesian"] is None
    assert any("delta2" in warning for warning in hopeless.guarantee().warnings)
    some = Confidentiality(plan=PLAN, miss=0.1, conservative_miss=5e-6, delta=1e-5)
    none = Confidentiality(plan=PLAN, miss=0.1, delta=1e-5)
    assert some.epsilon_bayesian is not None
    assert none.epsilon_bayesian is not None
    assert some.epsilon_bayesian > none.epsilon_bayesian


def test_bayesian_at_the_ends():
    profile = Gaussian(1.0)
    assert bayesian(profile, 1e-5, 0.0) == 0.0
    assert bayesian(profile, 1e-5, 1.0) == pytest.approx(profile.epsilon(1e-5))
    assert bayesian(profile, 1e-3, 1e-4) == 0.0  # delta alone covers what is missed


def test_groups_multiply_epsilon_and_say_when_delta_is_hopeless():
    notion = Confidentiality(plan=PLAN, group=3, delta=1e-5)
    epsilon, delta = notion.group_bound()
    assert epsilon == pytest.approx(3 * notion.epsilon)
    assert delta == pytest.approx(1e-5 * sum(math.exp(i * notion.epsilon) for i in range(3)))
    many = Confidentiality(claimed=3.0, group=20, delta=1e-5).guarantee()
    assert any("says nothing" in warning for warning in many.warnings)


def test_theorem_8_2_counts_the_missed_share_not_the_detected_one():
    assert theorem_8_2(1.0, 8e-5, 20, 0.1)[0] == pytest.approx(2.0)


def test_a_claimed_epsilon_is_an_assumption():
    notion = Confidentiality(claimed=1.0, miss=0.3, delta=1e-5)
    guarantee = notion.guarantee()
    assert guarantee.assumptions[0].name == "claimed-epsilon"
    assert guarantee.accesses == ()
    assert notion.noise is None


def test_what_does_not_follow_is_refused():
    with pytest.raises(RefusedError, match="smaller claim"):
        Confidentiality(plan=replace(PLAN, neighbours="add-remove"), delta=1e-5)
    with pytest.raises(SettingError, match="plan, or from an epsilon"):
        Confidentiality(delta=1e-5)
    with pytest.raises(SettingError, match="plan, or from an epsilon"):
        Confidentiality(plan=PLAN, claimed=1.0, delta=1e-5)
    with pytest.raises(SettingError, match="between 0 and 1"):
        Confidentiality(plan=PLAN, miss=1.2, delta=1e-5)

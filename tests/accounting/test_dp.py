"""Differential privacy of records and authors."""

from dataclasses import replace

import pytest

from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.samplers import profile_of
from discreet.engine.plan import Plan
from discreet.errors import SettingError

PLAN = Plan(rate=0.02, steps=100, noise=1.5, neighbours="add-remove", population=5000)


def test_the_number_is_that_of_the_plan():
    assert DifferentialPrivacy(phases=(PLAN,), delta=1e-6).epsilon == profile_of(PLAN).epsilon(1e-6)


def test_phases_are_composed():
    both = DifferentialPrivacy(phases=(PLAN, PLAN.with_noise(3.0)), delta=1e-6)
    assert both.epsilon > DifferentialPrivacy(phases=(PLAN,), delta=1e-6).epsilon
    assert [access.steps for access in both.guarantee().accesses] == [100, 100]
    assert both.guarantee().cross_check is None


def test_steps_repeated_after_a_crash_are_counted_and_stopping_early_is_not_rewarded():
    crashed = DifferentialPrivacy(phases=(PLAN,), delta=1e-6, spent={PLAN.fingerprint(): 130})
    stopped = DifferentialPrivacy(phases=(PLAN,), delta=1e-6, spent={PLAN.fingerprint(): 10})
    assert crashed.epsilon == profile_of(PLAN.with_steps(130)).epsilon(1e-6)
    assert stopped.epsilon == profile_of(PLAN).epsilon(1e-6)
    access = crashed.guarantee().accesses[0]
    assert (access.steps, access.planned_steps, access.fingerprint) == (130, 100, PLAN.fingerprint())


def test_a_group_is_stated_beside_the_single_record():
    notion = DifferentialPrivacy(phases=(PLAN,), delta=1e-6, group=3)
    single, group = notion.guarantee().bounds
    assert group.epsilon is not None
    assert group.epsilon > 3 * notion.epsilon
    assert "3 copies" in group.subject
    assert single.epsilon == notion.epsilon
    several = DifferentialPrivacy(phases=(PLAN, PLAN), delta=1e-6, group=2)
    assert several.epsilon_group > 2 * several.epsilon


def test_authors_are_named_as_the_unit():
    guarantee = DifferentialPrivacy(phases=(replace(PLAN, unit="author"),), delta=1e-6).guarantee()
    assert guarantee.unit == "author"
    assert "one author more" in guarantee.neighbours_in_words
    assert "each author is clipped" in guarantee.assumptions[1].text


def test_delta_above_one_in_ten_records_is_warned_of():
    assert DifferentialPrivacy(phases=(PLAN,), delta=1e-4).guarantee().warnings
    assert not DifferentialPrivacy(phases=(PLAN,), delta=2e-5).guarantee().warnings
    assert DifferentialPrivacy(phases=(PLAN,), delta=2e-5, records=10**6).guarantee().warnings


def test_assumptions_are_claimed_until_the_code_says_it_has_checked_them():
    guarantee = DifferentialPrivacy(phases=(PLAN,), delta=1e-6, checked=("sampling", "clipping")).guarantee()
    status = {item.name: item.status for item in guarantee.assumptions}
    assert status["sampling"] == status["clipping"] == "checked by code"
    assert status["choices"] == "claimed by the user"
    with pytest.raises(SettingError, match=r"'samplin' is no assumption .* did you mean 'sampling'"):
        DifferentialPrivacy(phases=(PLAN,), delta=1e-6, checked=("samplin",)).guarantee()


def test_phases_that_do_not_belong_together_are_refused():
    with pytest.raises(SettingError, match="same neighbours"):
        DifferentialPrivacy(phases=(PLAN, replace(PLAN, neighbours="replace")), delta=1e-6)
    with pytest.raises(SettingError, match="at least one plan"):
        DifferentialPrivacy(phases=(), delta=1e-6)
    with pytest.raises(SettingError, match="probability"):
        DifferentialPrivacy(phases=(PLAN,), delta=1.5)


@pytest.mark.parametrize(
    ("change", "method"),
    [
        ({}, "privacy loss distributions"),
        ({"sampling": "shuffled", "neighbours": "replace"}, "closed form"),
        ({"sampling": "fixed-size", "neighbours": "replace"}, "without replacement"),
        ({"rate": 1.0}, "closed form"),
    ],
)
def test_the_accountant_is_named(change, method):
    guarantee = DifferentialPrivacy(phases=(replace(PLAN, **change),), delta=1e-6).guarantee()
    assert guarantee.accountant is not None
    assert method in guarantee.accountant.method

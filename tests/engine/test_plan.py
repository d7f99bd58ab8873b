"""Plans: validated, frozen, and the same after a round trip."""

import json
import math
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engine.plan import NEIGHBOURS, UNITS, Plan, clip_of
from discreet.errors import SettingError

PLAN = Plan(rate=0.01, steps=1000, noise=1.0, neighbours="replace")

plans = st.builds(
    Plan,
    rate=st.floats(1e-6, 1.0),
    steps=st.integers(1, 10**7),
    noise=st.floats(0.01, 1e4),
    neighbours=st.sampled_from(NEIGHBOURS),
    sampling=st.sampled_from(["poisson", "shuffled"]),
    clip=st.floats(1e-4, 1e3),
    unit=st.sampled_from(UNITS),
    population=st.none() | st.integers(1, 10**9),
) | st.builds(
    Plan,
    rate=st.floats(1e-6, 1.0),
    steps=st.integers(1, 10**7),
    noise=st.floats(0.01, 1e4),
    neighbours=st.sampled_from(NEIGHBOURS),
    unit=st.just("author"),
    records_per_author=st.none() | st.integers(1, 10**6),
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(plans)
def test_a_plan_survives_json(plan):
    again = Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    assert again.fingerprint() == plan.fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        {"rate": 0.02},
        {"steps": 1001},
        {"noise": 1.1},
        {"neighbours": "zero-out"},
        {"sampling": "shuffled"},
        {"clip": 0.5},
        {"unit": "author"},
        {"unit": "author", "records_per_author": 5},
        {"population": 7},
        {"groups": {"a": 0.6, "b": 0.8}},
    ],
)
def test_every_field_is_in_the_fingerprint(change):
    assert replace(PLAN, **change).fingerprint() != PLAN.fingerprint()


def test_a_choice_of_an_authors_records_is_in_the_fingerprint_and_plans_without_one_are_written_as_before():
    authors = replace(PLAN, unit="author")
    assert replace(authors, records_per_author=5).fingerprint() != authors.fingerprint()
    assert replace(authors, records_per_author=5).fingerprint() != replace(authors, records_per_author=6).fingerprint()
    assert "records_per_author" not in authors.to_json()
    assert PLAN.fingerprint() == "e6a1ea8af5c54254ef08b4eb590451cae316683d56c6c38c3fe6f473db25287f"


def test_whole_numbers_and_floats_make_the_same_plan():
    assert replace(PLAN, noise=1, clip=1).fingerprint() == PLAN.fingerprint()


def test_a_plan_cannot_be_edited():
    with pytest.raises(FrozenInstanceError):
        PLAN.noise = 0.1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rate": 0}, "rate must be a positive number"),
        ({"rate": 1.5}, "at most 1"),
        ({"noise": math.inf}, "noise must be a positive number"),
        ({"noise": math.nan}, "noise must be a positive number"),
        ({"noise": "1"}, "noise must be a positive number"),
        ({"clip": -1}, "clip must be a positive number"),
        ({"steps": 0}, "steps must be a whole number"),
        ({"steps": 2.5}, "steps must be a whole number"),
        ({"steps": True}, "steps must be a whole number"),
        ({"steps": None}, "steps must be a whole number"),
        ({"population": 0}, "population must be a whole number"),
        ({"neighbours": "replaced"}, "did you mean 'replace'?"),
        ({"sampling": "poison"}, "did you mean 'poisson'?"),
        ({"unit": "word"}, "unit"),
        ({"max_batch": 5}, "belongs to truncated-poisson"),
        ({"records_per_author": 5}, "unit is the author"),
        ({"unit": "author", "records_per_author": 0}, "records_per_author must be a whole number"),
        ({"sampling": "truncated-poisson"}, "needs max_batch and population"),
        ({"sampling": "truncated-poisson", "max_batch": 20, "population": 10}, "larger than the population"),
        ({"sampling": "fixed-size", "population": 30}, "whole number of units"),
        ({"groups": {"a": 1.0, "b": 1.0}}, "clip_of"),
        ({"groups": {"a": 0.0}}, "clip of group 'a'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(change, said):
    with pytest.raises(SettingError, match=said.replace("?", r"\?")):
        replace(PLAN, **change)


def test_json_with_a_wrong_or_missing_field_names_it():
    with pytest.raises(SettingError, match="no field 'nois'; did you mean 'noise'"):
        Plan.from_json(PLAN.to_json() | {"nois": 1})
    with pytest.raises(SettingError, match="does not say its steps"):
        Plan.from_json({name: value for name, value in PLAN.to_json().items() if name != "steps"})


def test_noise_and_normaliser():
    plan = replace(PLAN, noise=2.0, clip=0.5, population=5000)
    assert plan.noise_std == 1.0
    assert plan.expected_batch == pytest.approx(50)
    with pytest.raises(SettingError, match="set population"):
        _ = PLAN.expected_batch


@pytest.mark.parametrize(("rate", "steps", "epochs"), [(0.001, 1000, 1), (0.001, 1001, 2), (1.0, 7, 7), (0.3, 4, 1)])
def test_epochs_count_every_pass_that_was_begun(rate, steps, epochs):
    assert replace(PLAN, rate=rate, steps=steps).epochs == epochs


def test_groups_are_clipped_apart_and_counted_together():
    groups = {"embedding": 0.6, "rest": 0.8}
    plan = replace(PLAN, clip=clip_of(groups), groups=tuple(groups.items()))
    assert plan.clip == pytest.approx(1.0)
    assert plan.to_json()["groups"] == groups
    assert Plan.from_json(plan.to_json()) == plan


def test_plans_and_accounting_do_not_load_torch():
    code = (
        "import sys, discreet.engine.plan, discreet.accounting.budget, discreet.accounting.verify;"
        "print([m for m in ('torch', 'transformers', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

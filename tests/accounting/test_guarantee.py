"""Guarantees: written, read, described by a published schema, and said in plain words."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.confidential import Confidentiality
from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.forms import FORMS, notion_of
from discreet.accounting.guarantee import SCHEMA, Guarantee, schema
from discreet.accounting.jft import JustFineTuneTwice
from discreet.accounting.metric import MetricPrivacy
from discreet.accounting.none import NoGuarantee
from discreet.accounting.selective import SelectivePaper, SelectivePrivacy
from discreet.accounting.statement import factor, rounded_down, rounded_up
from discreet.engine.plan import Plan, clip_of
from discreet.errors import RunError, UnknownNameError

PLAN = Plan(rate=0.02, steps=100, noise=1.5, neighbours="replace", population=5000)
GROUPED = Plan(
    rate=0.02,
    steps=50,
    noise=1.5,
    neighbours="add-remove",
    clip=clip_of((("a", 1), ("b", 2))),
    groups=(("a", 1), ("b", 2)),
)
NOTIONS = [
    DifferentialPrivacy(phases=(GROUPED,), delta=1e-5, group=2),
    SelectivePrivacy(plan=PLAN, delta=1e-5, segments=2, checked=("own-batches",)),
    SelectivePaper(plan=PLAN, delta=1e-5, state_noise=2.0, spent={PLAN.fingerprint(): 120}),
    JustFineTuneTwice(phase1=PLAN, phase2=PLAN, missed=3, sample=90, delta=1e-5),
    JustFineTuneTwice(phase2=PLAN, delta=1e-5),
    Confidentiality(plan=PLAN, miss=0.2, group=2, delta=1e-5),
    Confidentiality(claimed=1.0, miss=0.2, delta=1e-5),
    MetricPrivacy(selective=False, per_distance=3.0, distances=(1.0, 2.0)),
    MetricPrivacy(selective=True, per_distance=3.0, unknown_words="unchanged"),
    NoGuarantee(mechanism="triplet"),
]


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda notion: notion.form)
def test_a_guarantee_is_computed_again_from_what_was_written(notion, tmp_path):
    guarantee = notion.guarantee()
    guarantee.write(tmp_path / "privacy.json")
    read = Guarantee.read(tmp_path / "privacy.json")
    assert read == guarantee
    assert notion_of(read.basis).guarantee() == guarantee


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda notion: notion.form)
def test_the_statement_names_everything_a_reader_needs(notion):
    guarantee = notion.guarantee()
    text = str(guarantee)
    flat = " ".join(text.split())
    for line in (guarantee.neighbours_in_words, *guarantee.released, *guarantee.not_protected, *guarantee.warnings):
        assert line in flat
    for item in guarantee.assumptions:
        assert f"{item.text} ({item.status})" in flat
    for bound in guarantee.bounds if guarantee.notion != "none" else ():
        assert bound.subject in flat
    assert max(map(len, text.splitlines())) <= 100


def test_every_form_is_tried():
    assert {notion.form for notion in NOTIONS} == set(FORMS)


def test_infinities_are_null_and_never_invalid_json():
    guarantee = NOTIONS[4].guarantee()
    assert math.isinf(NOTIONS[4].epsilon_missed)  # type: ignore[attr-defined]
    assert json.loads(json.dumps(guarantee.to_json(), allow_nan=False))["bounds"][1]["epsilon"] is None


def test_the_published_schema_is_that_of_the_code():
    assert json.loads(SCHEMA.read_text()) == json.loads(json.dumps(schema()))


def test_a_file_that_is_no_guarantee_is_refused_with_the_place(tmp_path):
    path = tmp_path / "privacy.json"
    with pytest.raises(RunError, match="no such file"):
        Guarantee.read(path)
    path.write_text("{")
    with pytest.raises(RunError, match="does not fit"):
        Guarantee.read(path)
    value = NOTIONS[0].guarantee().to_json()
    path.write_text(json.dumps(value | {"epsilon": "small"}))
    with pytest.raises(RunError, match="epsilon does not fit"):
        Guarantee.read(path)


def test_an_unknown_or_broken_basis_is_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'selective'"):
        notion_of({"form": "selectiv"})
    with pytest.raises(RunError, match="plan"):
        notion_of({"form": "selective", "delta": 1e-5})


def test_factors_are_readable():
    assert factor(1.0) == "2.72"
    assert factor(8.0) == "2,981"
    assert factor(1046.0) == "10^455"


@given(st.floats(1e-6, 1e6), st.integers(2, 5))
def test_bounds_are_rounded_to_the_safe_side(value, digits):
    up, down = float(rounded_up(value, digits)), float(rounded_down(value, digits))
    assert value * (1 - 1e-8) <= up <= value * (1 + 10.0 ** (1 - digits))
    assert value * (1 - 10.0 ** (1 - digits)) <= down <= value * (1 + 1e-8)
    assert rounded_up(4.9 - 1e-12) == rounded_up(4.9 + 1e-12) == "4.9"

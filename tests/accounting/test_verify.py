"""Verification finds whatever in a run's privacy statement does not follow from its records."""

import json

import pytest

from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.jft import JustFineTuneTwice
from discreet.accounting.none import NoGuarantee
from discreet.accounting.verify import verify
from discreet.engine.ledger import Ledger
from discreet.engine.plan import Plan
from discreet.errors import RunError
from discreet.files import write_json

PLAN = Plan(rate=0.05, steps=40, noise=2.0, neighbours="replace")


def make_run(folder, notion, phases, remains=b""):
    """A run folder as the engine leaves it: `phases` maps names to plans and numbers of spent steps."""
    folder.mkdir(exist_ok=True)
    notion.guarantee().write(folder / "privacy.json")
    with Ledger(folder / "ledger.jsonl") as ledger:
        for phase, (plan, steps) in phases.items():
            ledger.begin(plan, draw=None, phase=phase)
            for step in range(steps):
                ledger.spend(plan, step, phase=phase)
    with (folder / "ledger.jsonl").open("ab") as file:
        file.write(remains)
    return folder


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "run", DifferentialPrivacy(phases=(PLAN,), delta=1e-6), {"train": (PLAN, 40)})


def problems(run):
    return [check.problem for check in verify(run) if check.problem]


def change(run, **fields):
    value = json.loads((run / "privacy.json").read_text())
    write_json(run / "privacy.json", value | fields)


def test_an_intact_run_has_no_problem(run):
    assert problems(run) == []


def test_a_run_that_stopped_early_or_was_cut_short_within_its_plan_is_sound(tmp_path):
    notion = DifferentialPrivacy(phases=(PLAN,), delta=1e-6)
    short = make_run(tmp_path / "run", notion, {"train": (PLAN, 20)}, remains=b'{"phase":"train","pl')
    assert problems(short) == []
    assert any("21 of 40 steps" in check.what for check in verify(short))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"epsilon": 0.01}, "epsilon says 0.01"),
        ({"delta": 1e-9}, "delta says 1e-09"),
        ({"unit": "author"}, 'unit says "author"'),
        ({"neighbours_in_words": "None."}, "neighbours_in_words"),
        ({"not_protected": []}, "not_protected"),
        ({"assumptions": []}, "assumptions"),
        ({"warnings": ["x"]}, "warnings"),
    ],
)
def test_a_field_that_does_not_follow_is_named(run, fields, said):
    change(run, **fields)
    assert len(problems(run)) == 1
    assert said in problems(run)[0]


def test_a_quieter_plan_in_the_basis_does_not_help(run):
    basis = json.loads((run / "privacy.json").read_text())["basis"]
    basis["phases"][0]["noise"] = 20.0
    change(run, basis=basis)
    found = problems(run)
    assert any(problem.startswith("epsilon says") for problem in found)
    assert any("fingerprint" in problem for problem in found)


def test_an_assumption_cannot_be_called_checked_by_hand(run):
    value = json.loads((run / "privacy.json").read_text())
    value["assumptions"][0]["status"] = "checked by code"
    change(run, assumptions=value["assumptions"])
    assert "assumptions[0].status" in problems(run)[0]


def test_more_steps_than_the_guarantee_covers_are_found(run):
    with (run / "ledger.jsonl").open("ab") as ledger:
        ledger.write(b'{"phase":"train","draw":null,"pl')
    assert "41 steps" in problems(run)[0]


def test_a_line_that_no_ledger_writes_is_found(run):
    with (run / "ledger.jsonl").open("ab") as ledger:
        ledger.write(b'{"phase":"train","refund":12}\n')
    assert "not a line of a ledger" in problems(run)[0]


def test_repeated_steps_are_covered_when_they_are_told(tmp_path):
    spent = {PLAN.fingerprint(): 43}
    notion = DifferentialPrivacy(phases=(PLAN,), delta=1e-6, spent=spent)
    again = make_run(tmp_path / "run", notion, {"train": (PLAN, 40)}, remains=b'{"phase":"train",\n' * 3)
    assert problems(again) == []


def test_a_plan_the_guarantee_leaves_out_is_found(tmp_path):
    light = PLAN.with_noise(1.0)
    phases = {"phase1": (light, 1), "phase2": (PLAN, 1)}
    honest = JustFineTuneTwice(phase1=light, phase2=PLAN, delta=1e-6)
    assert problems(make_run(tmp_path / "both", honest, phases)) == []
    hidden = JustFineTuneTwice(phase2=PLAN, delta=1e-6)
    assert "leaves out" in problems(make_run(tmp_path / "one", hidden, phases))[0]


def test_two_phases_of_one_plan_are_added_up(tmp_path):
    twice = DifferentialPrivacy(phases=(PLAN, PLAN), delta=1e-6)
    assert problems(make_run(tmp_path / "twice", twice, {"a": (PLAN, 40), "b": (PLAN, 40)})) == []
    once = DifferentialPrivacy(phases=(PLAN,), delta=1e-6)
    assert "80 steps" in problems(make_run(tmp_path / "once", once, {"a": (PLAN, 40), "b": (PLAN, 40)}))[0]


def test_a_missing_ledger_is_found_unless_nothing_is_claimed(run, tmp_path):
    (run / "ledger.jsonl").unlink()
    assert "missing" in problems(run)[0]
    none = make_run(tmp_path / "none", NoGuarantee(mechanism="triplet"), {})
    (none / "ledger.jsonl").unlink()
    assert problems(none) == []


def test_a_manifest_with_other_plans_is_found(run):
    write_json(run / "manifest.json", {"plans": [PLAN.fingerprint()], "name": "demo"})
    assert problems(run) == []
    write_json(run / "manifest.json", {"plans": ["0" * 64]})
    assert "other plans" in problems(run)[0]
    (run / "manifest.json").write_text("{")
    assert "not JSON" in problems(run)[0]


def test_a_broken_basis_or_file_is_a_problem_and_a_missing_folder_an_error(run, tmp_path):
    change(run, basis={"form": "dp-sgd"})
    assert any("not complete" in problem for problem in problems(run))
    (run / "privacy.json").unlink()
    assert "no such file" in problems(run)[0]
    with pytest.raises(RunError, match="no such run folder"):
        verify(tmp_path / "elsewhere")

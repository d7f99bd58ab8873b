"""`discreet budget` and `discreet verify` as a user runs them."""

import json
import sys

import pytest

from discreet.accounting.dp import DifferentialPrivacy
from discreet.cli import main
from discreet.engine.ledger import Ledger
from discreet.engine.plan import Plan

QUICK = ("--rate", ".02", "--steps", "100", "--delta", "1e-5")


@pytest.fixture
def discreet(monkeypatch, capsys):
    """Runs the command; answers its exit code, stdout and stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["discreet", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return run


@pytest.fixture
def answer(discreet):
    def run(*arguments):
        code, out, err = discreet("budget", *arguments, "--json")
        assert code == 0, err
        assert len(out.splitlines()) == 1
        return json.loads(out)

    return run


def test_dp_sgd_accounts_for_a_noise(answer):
    found = answer("dp-sgd", "--rate", ".01", "--steps", "1000", "--noise", "1", "--delta", "1e-5")
    assert found["epsilon"] == pytest.approx(1.828, abs=1e-3)
    assert (found["delta"], found["noise"], found["neighbours"]) == (1e-5, 1.0, "add-remove")
    assert found["notion"] == "differential privacy"
    assert {item["status"] for item in found["assumptions"]} == {"claimed by the user"}


def test_leaving_noise_out_calibrates(answer):
    found = answer("selective", *QUICK, "--epsilon", "1")
    assert found["epsilon"] == pytest.approx(1.0, rel=1e-3)
    again = answer("selective", *QUICK, "--noise", found["noise"])
    assert again["epsilon"] == pytest.approx(found["epsilon"], rel=1e-9)


def test_replacement_is_an_option_of_dp_sgd(answer):
    added, replaced = (answer("dp-sgd", *QUICK, "--noise", 2, "--neighbours", n) for n in ("add-remove", "replace"))
    assert replaced["epsilon"] > added["epsilon"]


def test_selective_paper(answer):
    given = ("--epochs", 37, "--segments", 1, "--noise", 0.5, "--delta", 8e-5)
    carried = answer("selective-paper", *given, "--state-noise", 0.5, "--states", 2)
    reset = answer("selective-paper", *given, "--state-noise", "none")
    assert carried["epsilon"] == pytest.approx(1046.1313, abs=1e-3)
    assert reset["epsilon"] == pytest.approx(386.92077, abs=1e-3)


def test_crt(answer):
    found = answer("crt", *QUICK, "--noise", 2, "--miss", 0.1, "--group", 3)
    assert 0 < found["epsilon_bayesian"] < found["epsilon"]
    assert found["epsilon_group"] == pytest.approx(3 * found["epsilon"])
    assert found["delta_group"] > 3e-5


def test_jft(answer):
    counted = ("--missed", 12, "--checked", 150)
    light = answer("jft", *QUICK, "--noise", 4, "--phase1-noise", 2, *counted)
    assert light["epsilon_detected"] == light["epsilon"] < light["epsilon_average"] < light["epsilon_missed"]
    assert 0 < light["epsilon_paper_low"] < light["epsilon_paper_high"]
    plain = answer("jft", *QUICK, "--noise", 4, "--phase1-noise", "none", *counted)
    assert plain["epsilon_missed"] is None
    assert plain["epsilon_average"] is None


def test_smdp(answer):
    found = answer("smdp", "--epsilon", 10, "--distance", 2.5, "--words", 10)
    assert (found["epsilon"], found["delta"]) == (pytest.approx(250.0), 0.0)
    several = answer("mdp", "--epsilon", 10, "--distance", 2.5, "--distance", 3, "--distance", 1.5, "--dimension", 300)
    assert several["epsilon"] == pytest.approx(70.0)
    assert several["radius"]["mean"] == pytest.approx(30.0)


def test_delta_above_the_rule_is_warned_of(answer):
    assert answer("selective", *QUICK, "--noise", 4, "--records", 100_000)["warnings"]


def test_the_statement_is_printed_for_people(discreet):
    code, out, err = discreet("budget", "crt", *QUICK, "--epsilon", 1, "--miss", 0.1)
    assert code == 0
    assert "Privacy statement: confidentiality" in out
    assert "epsilon_bayesian" in out
    assert "Solved for noise." in err


def test_compare_prints_a_table_and_writes_a_plot(discreet, tmp_path):
    code, out, _ = discreet("budget", "compare", *QUICK, "--noise", 4, "-o", tmp_path / "plot.png")
    assert code == 0
    assert "selective-paper" in out
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = discreet("budget", "compare", *QUICK, "--noise", 4, "--json")
    found = json.loads(out)
    assert {row["name"] for row in found["mechanisms"]} >= {"dp-sgd, replace", "selective", "jft", "crt"}
    assert found["plot"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("dp-sgd", *QUICK), "--noise is needed"),
        (("triplet",), "has no epsilon"),
        (("dpsgd",), "did you mean 'dp-sgd'?"),
        (("crt", *QUICK, "--noise", 1, "--neighbours", "add-remove"), "use neighbours 'replace'"),
        (("dp-sgd", *QUICK, "--noise", 1, "--sampler", "shuffled"), "no proved add/remove guarantee"),
        (("jft", *QUICK, "--noise", 1, "--phase1-noise", "some"), "--phase1-noise is a number or 'none'"),
        (("smdp", "--epsilon", 1, "--unknown-words", "drop"), "unknown_words"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_one(discreet, arguments, said):
    code, out, err = discreet("budget", *arguments)
    assert code == 1
    assert out == ""
    assert said in " ".join(err.split())


def test_wrong_usage_is_exit_code_two(discreet):
    code, _, _ = discreet("budget", "dp-sgd", "--rate", "often")
    assert code == 2


def test_verify_passes_an_intact_run_and_fails_a_changed_one(discreet, tmp_path):
    plan = Plan(rate=0.05, steps=3, noise=2.0, neighbours="replace")
    DifferentialPrivacy(phases=(plan,), delta=1e-6).guarantee().write(tmp_path / "privacy.json")
    with Ledger(tmp_path / "ledger.jsonl") as ledger:
        ledger.begin(plan, draw=None)
        for step in range(3):
            ledger.spend(plan, step)
    code, out, _ = discreet("verify", tmp_path)
    assert code == 0
    assert "follows from the run's records" in out
    with (tmp_path / "ledger.jsonl").open("ab") as file:
        file.write(b'{"phase":"train",')
    code, out, err = discreet("verify", tmp_path, "--json")
    assert code == 1
    assert json.loads(out)["ok"] is False
    assert "3 are covered" in " ".join(err.split())
    code, _, err = discreet("verify", tmp_path / "elsewhere")
    assert code == 1
    assert "no such run folder" in " ".join(err.split())

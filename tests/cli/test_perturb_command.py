"""`discreet perturb` and `discreet calibrate`: what they write, print and refuse."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from discreet.accounting.guarantee import Guarantee
from discreet.cli import app, load_commands
from discreet.errors import RefusedError, SettingError

pytest.importorskip("faiss", reason="needs the extra perturb")


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    path = tmp_path / "mail.jsonl"
    rows = [{"id": f"m{n}", "text": f"Call Ann on {n}{n}", "topic": n} for n in range(5)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text(
        "".join(f"{word} {n % 2} {n % 3} {n}\n" for n, word in enumerate(["ann", "11", "22", "one", "two"]))
    )
    return path


def run(*words: object) -> Result:
    load_commands()
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_perturbed_copy_is_written_with_what_is_proved(mail: Path, vectors: Path, tmp_path: Path) -> None:
    out, proved = tmp_path / "out.jsonl", tmp_path / "privacy.json"
    options = ["--policy", "digits", "--epsilon", 0.5, "--embedding", vectors, "--seed", 1]
    result = run("perturb", mail, "-o", out, *options, "--guarantee", proved, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["records"], found["perturbed"], found["words"], found["unknown"]) == (5, 5, 5, 3)
    assert "not perturbed: topic" in result.stderr
    assert "seed" in result.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert all(row["text"].startswith("Call Ann on ") for row in rows)
    assert {row["text"].split()[-1] for row in rows} <= {"ann", "11", "22", "one", "two"}
    guarantee = Guarantee.read(proved)
    assert guarantee.to_json() == found["guarantee"]
    assert guarantee.basis["unknown_words"] == "fixed-vector"
    again = run("perturb", mail, "-o", tmp_path / "again.jsonl", *options)
    assert (tmp_path / "again.jsonl").read_bytes() == out.read_bytes()
    assert "Epsilon 0.5 for each unit of distance" in again.stdout


def test_without_a_seed_two_copies_differ(mail: Path, vectors: Path, tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        done = run("perturb", mail, "-o", tmp_path / name / "out.jsonl", "--form", "mdp", "--epsilon", 0.01,
                   "--embedding", vectors)  # fmt: skip
        assert done.exit_code == 0, done.output
    assert len({(tmp_path / name / "out.jsonl").read_bytes() for name in ("a", "b", "c", "d")}) > 1


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ([], SettingError),
        (["--form", "mdp", "--draws", "secret"], RefusedError),
        (["-p", "digits", "--unknown", "unchanged"], SettingError),
        (["-p", "digits", "--engine", "spark"], SettingError),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_written(
    mail: Path, vectors: Path, tmp_path: Path, options: list[str], kind: type[Exception]
) -> None:
    result = run("perturb", mail, "-o", tmp_path / "out.jsonl", "--epsilon", 1, "--embedding", vectors, *options)
    assert isinstance(result.exception, kind)
    assert not (tmp_path / "out.jsonl").exists()


def test_calibrate_prints_a_table_and_draws_it(vectors: Path, tmp_path: Path) -> None:
    options = ["--embedding", vectors, "--epsilon", "1,1000", "--words", 5, "--draws", 4, "--example", "ann"]
    result = run("calibrate", *options, "--plot", tmp_path / "table.png", "--json")
    assert result.exit_code == 0, result.output
    first, last = json.loads(result.stdout)["rows"]
    assert (first["epsilon"], last["unchanged"], last["examples"][0]["becomes"]) == (1.0, 1.0, {"ann": 1.0})
    assert (tmp_path / "table.png").stat().st_size > 1000
    assert "100.0%" in run("calibrate", *options).stdout
    assert isinstance(run("calibrate", "--embedding", vectors, "--epsilon", "a").exception, SettingError)

"""`discreet dedup`: what it writes, prints and refuses."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from discreet.cli import app, load_commands
from discreet.errors import SettingError

TEXTS = ["Hi Ann. Your code is 4711.", "Hi Bob. Your code is 4711.", "hi  ann. Your code is 4711."]


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    path = tmp_path / "mail.jsonl"
    rows = [{"id": f"m{n}", "text": text, "topic": n} for n, text in enumerate(TEXTS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(*words: object) -> Result:
    load_commands()
    return CliRunner().invoke(app, [str(word) for word in words])


def texts(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text().splitlines()]


def test_later_copies_go_and_it_is_said_how_often_each_secret_is_left(mail: Path, tmp_path: Path) -> None:
    out = tmp_path / "once.jsonl"
    result = run("dedup", mail, "-o", out, "--policy", "digits", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert texts(out) == ["Hi Ann. Your code is 4711.", "Hi Bob."]
    assert json.loads(out.read_text().splitlines()[1])["topic"] == 1
    counts = {"records": 3, "parts": 6, "copies": 3, "changed": 1, "dropped": 1, "skipped": 0}
    assert {name: found[name] for name in counts} == counts
    assert found["secrets"]["most"] == [{"kind": "NUMBER", "before": 3, "after": 1}]
    assert "4711" not in result.stdout
    plain = run("dedup", mail, "-o", out, "--policy", "digits").stdout
    assert "now stands in 1" in plain


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--copies", "mask"], ["Hi Ann. Your code is 4711.", "Hi Bob. <MASK>", "<MASK> <MASK>"]),
        (["--level", "record"], TEXTS[:2]),
        (["--method", "bloom", "--expected", "100"], ["Hi Ann. Your code is 4711.", "Hi Bob."]),
        (["--method", "near", "--level", "record", "--threshold", "0.3", "--shingle", "words:1"], TEXTS[:1]),
        (["--min-words", "3"], ["Hi Ann. Your code is 4711.", "Hi Bob.", "hi  ann."]),
    ],
)
def test_method_level_and_form_can_be_chosen(mail: Path, tmp_path: Path, options: list[str], left: list[str]) -> None:
    result = run("dedup", mail, "-o", tmp_path / "out.jsonl", *options)
    assert result.exit_code == 0, result.output
    assert texts(tmp_path / "out.jsonl") == left


@pytest.mark.parametrize("options", [["--level", "word"], ["--method", "fuzzy"], ["--engine", "spark"]])
def test_settings_that_make_no_sense_are_refused_before_anything_is_written(
    mail: Path, tmp_path: Path, options: list[str]
) -> None:
    result = run("dedup", mail, "-o", tmp_path / "out.jsonl", *options)
    assert isinstance(result.exception, SettingError)
    assert not (tmp_path / "out.jsonl").exists()

"""`detect` and `measure` with corpora by name, kinds, processes and miss rates; `redact` with pseudonyms."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet.cli.detect
import discreet.cli.measure
import discreet.cli.redact  # noqa: F401 (each registers its command)
from discreet.cli import app
from discreet.errors import SettingError
from discreet.policy.miss_rate import read_miss_rate
from discreet.policy.specs import policy


def succeed(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "my O\nname O\nis O\nzebulon B-PER\n\ntable O\n12 B-NUM\n\n"
    (tmp_path / "train.bio").write_text("good O\nmorning O\n\n")
    (tmp_path / "test.bio").write_text(rows)
    return tmp_path


def test_a_corpus_by_name_is_measured_split_by_split_and_kind_by_kind(folder: Path) -> None:
    options = ["measure", folder, "--corpus", "conll", "-p", "pii", "--json"]
    whole = json.loads(succeed(*options))
    assert (whole["records"], whole["secrets_marked"], whole["secrets_found"]) == (3, 2, 1)
    part = json.loads(succeed(*options, "--split", "test", "--kinds", "PER"))
    assert (part["records"], part["recall"], part["precision"]) == (2, 1.0, 1.0)
    assert part["characters"]["recall"] == 1.0
    assert part["by_named_kind"]["PERSON"]["precision"] == 1.0


def test_the_miss_rate_is_written_for_the_policy_that_was_measured(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "rate.json"
    succeed("measure", folder, "--corpus", "conll", "-p", "pii", "--miss-rate", out)
    rate = read_miss_rate(out).check(policy("pii").fingerprint())
    assert (rate.missed, rate.sample) == (1, 2)


def test_more_processes_print_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mail.jsonl"
    file.write_text("".join(json.dumps({"text": f"call {n} Zebulon"}) + "\n" for n in range(5)))
    options = ["detect", file, "-p", "pii", "--json"]
    assert succeed(*options, "--workers", 2) == succeed(*options)


def test_pseudonyms_need_a_key_file(tmp_path: Path) -> None:
    file, key = tmp_path / "mail.jsonl", tmp_path / "key"
    file.write_text('{"text": "i am zebulon"}\n{"text": "this is zebulon"}\n')
    key.write_text("a long and random key\n")
    out = tmp_path / "out.jsonl"
    succeed("redact", file, "-p", "pii", "--style", "pseudonym", "--key-file", key, "-o", out)
    first, second = (json.loads(line)["text"].split()[-1] for line in out.read_text().splitlines())
    assert first == second != "zebulon"
    result = CliRunner().invoke(app, ["redact", str(file), "-p", "pii", "--style", "pseudonym", "-o", str(out)])
    assert isinstance(result.exception, SettingError)

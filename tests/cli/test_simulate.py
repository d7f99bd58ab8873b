"""`discreet simulate`: a file of dialogs, what it says about it, and how it fails."""

import json
import sys

import pytest

from discreet.cli import main
from discreet.text.customersim import simulate
from discreet.text.reading import open_records


@pytest.fixture
def discreet(monkeypatch, capsys):
    """Runs the command with arguments; gives the exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["discreet", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return run


def test_the_file_holds_the_simulated_dialogs_with_their_secrets_and_splits(discreet, tmp_path):
    path = tmp_path / "dialogs.jsonl"
    code, out, err = discreet("simulate", "customersim", "-n", 24, "--seed", 5, "-o", path)
    assert (code, out) == (0, "")
    assert "24 dialogs (20 train, 2 valid, 2 test)" in err
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [set(row) for row in rows] == [{"id", "text", "secrets", "split", "turns"}] * 24
    assert set(rows[0]["secrets"][0]) == {"start", "end", "kind"}
    for read, record in zip(open_records(path), simulate(24, 5), strict=True):
        assert (read.id, read.text, read.secrets) == (record.id, record.text, record.secrets)
        assert (read.split, read.turns) == (record.split, record.turns)


def test_json_counts_records_splits_and_secrets(discreet, tmp_path):
    path = tmp_path / "dialogs.jsonl.gz"
    code, out, _ = discreet("simulate", "customersim", "-n", 12, "-o", path, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["records"] == 12
    assert told["splits"] == {"train": 10, "valid": 1, "test": 1}
    assert told["secrets"] == sum(told["by_kind"].values()) == sum(len(r.secrets or ()) for r in simulate(12))
    assert told["path"] == str(path)
    assert path.is_file()


def test_an_unknown_simulator_names_the_nearest_and_writes_nothing(discreet, tmp_path):
    code, out, err = discreet("simulate", "custmersim", "-o", tmp_path / "dialogs.jsonl")
    assert (code, out) == (1, "")
    assert "did you mean 'customersim'?" in err
    assert not list(tmp_path.iterdir())


def test_no_dialogs_is_wrong_usage(discreet, tmp_path):
    code, _, err = discreet("simulate", "customersim", "-n", 0, "-o", tmp_path / "dialogs.jsonl")
    assert code == 2
    assert "-n" in err

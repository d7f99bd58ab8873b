"""The demo: dialogs, five runs and one comparison, from one command."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console

from discreet.cli import console
from discreet.cli.demo import _print_tables
from tests.command_server import discreet


def test_the_demo_trains_and_attacks_five_ways_and_reports(tmp_path):
    small = ["--template", "My ID is {digits:3}."]
    small += ["--set", "training.epochs=1", "--set", "model.hidden=24", "--set", "model.embedding=24"]
    done = discreet("demo", "-n", 120, "-o", "demo", "--json", *small, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows, mini = found["runs"], found["mini"]
    assert [row["mechanism"] for row in rows] == ["none", "dp-sgd", "selective", "jft", "crt"]
    assert [row["epsilon"] is None for row in rows] == [True, False, False, False, False]
    assert all(row["epsilon"] <= 4.9 for row in rows[1:])
    assert all(row["perplexity_public"] > 1 and row["perplexity_secret"] > 1 for row in rows)
    assert all((tmp_path / row["run"] / "model" / "model.safetensors").is_file() for row in rows)
    assert "[[PERSON:" in done.stderr
    assert all(0 <= row["exposure"] <= 9.97 and 0 <= row["membership_auc"] <= 1 for row in rows)
    report = (tmp_path / "demo" / "report.html").read_text()
    assert report.count('<section class="run" id="run-') == 5
    assert "Perplexity against exposure" in report
    assert 1 < mini["after"] < 0.5 * mini["before"]
    assert (tmp_path / mini["run"] / "model" / "model.safetensors").is_file()
    canaries = json.loads((tmp_path / "demo" / "canaries.json").read_text())["canaries"]
    assert len(canaries) == 6


def test_the_tables_fit_eighty_columns(capsys):
    row: dict[str, Any] = {
        "perplexity": 1234.5,
        "perplexity_public": 1234.5,
        "perplexity_secret": 123456.7,
        "top1": 0.5,
        "seconds": 600,
    }
    row |= {"epsilon": 104.9, "notion": "selective differential privacy", "exposure": 19.93, "membership_auc": 0.5}
    narrow = Console(width=80, highlight=False, soft_wrap=True)
    with patch.object(console, "out", narrow):
        _print_tables([row | {"mechanism": "selective-paper"}], Path("demo"), Path("demo/report.html"))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any("selective-paper" in line and "19.93" in line for line in lines)  # nothing wrapped
    assert not any("…" in line for line in lines)

"""`discreet evaluate --disparity`: from a file with authors to two groups of them."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from discreet.cli import app, load_commands
from discreet.errors import SettingError
from discreet.text.writing import write
from tests.evaluate.small_run import letters, untrained_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place, corpus = tmp_path_factory.mktemp("letters"), letters()
    write(place / "letters.jsonl", (replace(r, split=split) for split in corpus.splits for r in corpus.records(split)))
    for seed in (1, 2):
        untrained_run(place / f"run-{seed}", corpus, seed)
    load_commands()
    return place


def evaluate(folder, *words):
    options = ["--data", str(folder / "letters.jsonl"), *map(str, words)]
    return CliRunner().invoke(app, ["evaluate", str(folder / "run-1"), *options], catch_exceptions=True)


def test_authors_with_many_and_with_few_records_are_compared(folder):
    done = evaluate(folder, "--disparity", "--reference", folder / "run-2", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["disparity"]
    assert told["group"] == 3
    assert told["gap"] == pytest.approx(told["bottom_increase"] - told["top_increase"])
    assert [author["trained"] for author in told["authors"]] == [6, 5, 4, 3, 2, 1]
    assert json.loads((folder / "run-1" / "evaluation.json").read_text())["disparity"]["test"]["gap"] == told["gap"]


def test_the_table_names_nobody(folder):
    done = evaluate(folder, "--disparity")
    assert done.exit_code == 0, done.output
    assert "6 authors" in done.stdout
    assert "fewest" in done.stdout
    assert "Finn" not in done.stdout


def test_a_reference_without_disparity_is_a_mistake(folder):
    assert isinstance(evaluate(folder, "--reference", folder / "run-2").exception, SettingError)

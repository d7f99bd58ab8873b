"""Run folders: begun, resumed, refused, overwritten."""

import json

import pytest

from discreet.errors import RunError
from discreet.mechanisms.recipe import make_recipe
from discreet.mechanisms.run import Run, begin_run, only_one, open_run

RECIPE = make_recipe({"data": "a.jsonl"})
FACTS = {"corpus_fingerprint": "c", "policy_fingerprint": "p"}


def test_a_new_run_remembers_its_recipe_and_facts(tmp_path):
    run = begin_run(tmp_path / "run", RECIPE, FACTS)
    assert run.recipe == RECIPE
    assert run.manifest == {**FACTS, "finished": False}
    assert (run.path / "environment.json").is_file()


def test_an_unfinished_run_is_gone_on_with(tmp_path):
    begin_run(tmp_path, RECIPE, FACTS).add_metrics({"step": 4, "loss": 1})
    assert begin_run(tmp_path, RECIPE, FACTS).metrics == [{"step": 4, "loss": 1}]


@pytest.mark.parametrize(
    ("recipe", "facts", "reason"),
    [
        (make_recipe({"data": "a.jsonl", "seed": 1}), FACTS, "another recipe"),
        (RECIPE, {**FACTS, "corpus_fingerprint": "d"}, "another corpus fingerprint"),
        (RECIPE, {**FACTS, "policy_fingerprint": "q"}, "another policy fingerprint"),
    ],
)
def test_resuming_with_something_else_is_refused_with_the_reason(tmp_path, recipe, facts, reason):
    begin_run(tmp_path, RECIPE, FACTS)
    with pytest.raises(RunError, match=reason):
        begin_run(tmp_path, recipe, facts)


def test_a_finished_run_is_not_trained_again_unless_told(tmp_path):
    run = begin_run(tmp_path, RECIPE, FACTS)
    run.checkpoint_folder.mkdir()
    run.add_metrics({"step": 4})
    run.finish(parameters=3)
    assert not run.checkpoint_folder.exists()
    assert open_run(tmp_path).manifest["parameters"] == 3
    with pytest.raises(RunError, match="finished"):
        begin_run(tmp_path, RECIPE, FACTS)
    assert begin_run(tmp_path, RECIPE, FACTS, overwrite=True).metrics == []


def test_overwriting_never_deletes_what_is_not_a_run(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    for overwrite in (False, True):
        with pytest.raises(RunError, match="not a run"):
            begin_run(tmp_path, RECIPE, FACTS, overwrite=overwrite)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_an_epoch_that_is_trained_again_has_one_line(tmp_path):
    run = begin_run(tmp_path, RECIPE, FACTS)
    for row in ({"step": 4, "loss": 3}, {"step": 8, "loss": 2}, {"step": 8, "loss": 1}):
        run.add_metrics(row)
    assert run.metrics == [{"step": 4, "loss": 3}, {"step": 8, "loss": 1}]


def test_points_of_the_curve_that_are_made_again_are_replaced(tmp_path):
    run = Run(tmp_path)
    for step in (2, 4, 6, 4):
        run.add_to_curve({"step": step, "loss": 9.0 - step})
    steps = [json.loads(line)["step"] for line in (tmp_path / "curve.jsonl").read_text().splitlines()]
    assert steps == [2, 4]


def test_what_is_no_run_or_not_finished_says_what_to_do(tmp_path):
    with pytest.raises(RunError, match="make one with 'discreet train'"):
        open_run(tmp_path / "nothing")
    begin_run(tmp_path / "begun", RECIPE, FACTS)
    with pytest.raises(RunError, match="same recipe to go on"):
        open_run(tmp_path / "begun")
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="is a file"), only_one(tmp_path / "file"):
        pass


def test_two_trainings_cannot_share_a_folder(tmp_path):
    with only_one(tmp_path), pytest.raises(RunError, match="another training"), only_one(tmp_path):
        pass


def test_a_run_is_a_value(tmp_path):
    assert Run(tmp_path) == Run(tmp_path)

"""Where reports go, and what is refused with one sentence."""

import shutil

import pytest

import discreet
from discreet.errors import InputError, RefusedError, RunError, SettingError
from discreet.files import read_json, write_json
from discreet.policy.miss_rate import MissRate, write_miss_rate
from discreet.report import report
from discreet.report.facts import gather
from tests.report.folders import add_curves, add_evaluation, make_run


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "runs" / "none", "none")


def test_a_report_goes_into_its_run_and_that_of_several_where_one_is(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert report(run) == run.path / "report.html"
    other = make_run(tmp_path / "runs" / "other", "none")
    assert str(report([run.path, str(other.path)])) == "report.html"
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    place = tmp_path / "deep" / "r.html"
    assert discreet.report(run, place, verify=False) == place  # the folder can be called


def test_a_card_goes_into_the_models_folder_and_is_not_replaced_by_accident(run):
    place = report(run, format="md")
    assert place == run.model_folder / "README.md"
    place.write_text("my own words")
    with pytest.raises(RefusedError, match="--overwrite"):
        report(run, format="md")
    assert place.read_text() == "my own words"
    report(run, format="md", overwrite=True)
    assert "No privacy guarantee" in place.read_text()


def test_mistakes_are_one_sentence(run, tmp_path):
    with pytest.raises(SettingError, match="one model"):
        report([run, run.path / ".." / "none"], format="md")
    with pytest.raises(SettingError, match="html or md"):
        report(run, format="pdf")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no run"):
        report([])
    with pytest.raises(SettingError, match="folder"):
        report(run, tmp_path)
    with pytest.raises(RunError, match="not a run"):
        report(tmp_path)


def test_an_unfinished_run_is_refused_and_nothing_is_written(run, tmp_path):
    good = make_run(tmp_path / "runs" / "good", "none")
    write_json(run.path / "manifest.json", run.manifest | {"finished": False})
    with pytest.raises(RunError, match="not finished"):
        report([good, run], tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "recipe.yaml",
        "privacy.json",
        "attacks.json",
        "evaluation.json",
        "metrics.jsonl",
        "curve.jsonl",
        "attacks-over-time.jsonl",
        "environment.json",
    ],
)
@pytest.mark.parametrize("content", ["{", "[1, 2]", '"text"'])
def test_a_broken_file_is_named(run, name, content):
    (run.path / name).write_text(content)
    with pytest.raises((RunError, SettingError), match=name.split(".")[0]):
        gather([run])


def test_a_finished_run_without_a_guarantee_is_refused(run):
    (run.path / "privacy.json").unlink()
    with pytest.raises(RunError, match=r"privacy\.json"):
        report(run)


def test_a_miss_rate_file_is_shown_for_the_runs_of_its_policy_only(run, tmp_path):
    place = tmp_path / "missed.json"
    write_miss_rate(place, MissRate(missed=2, sample=80, policy="p" * 64))
    text = report(run, tmp_path / "r.html", miss_rate=place).read_text()
    assert "2 of 80 checked secrets were missed: 2.5%" in text
    write_miss_rate(place, MissRate(missed=2, sample=80, policy="q" * 64))
    with pytest.raises(RefusedError, match="none of these runs"):
        report(run, tmp_path / "r.html", miss_rate=place)


def test_a_report_without_verification_says_so(tmp_path):
    run = make_run(tmp_path / "a", "dp-sgd")
    assert "Not checked again" in report(run, verify=False).read_text()


def test_a_run_that_was_moved_is_reported_from_where_it_is(run, tmp_path):
    add_evaluation(run, 20.0)
    add_curves(run, [5.0, 4.0, 3.5, 3.2, 3.0, 2.9])
    shutil.move(run.path, tmp_path / "elsewhere")
    text = report(tmp_path / "elsewhere", tmp_path / "r.html").read_text()
    assert "Training curves" in text
    assert read_json(tmp_path / "elsewhere" / "evaluation.json")["splits"]["test"]["perplexity"] == 20.0

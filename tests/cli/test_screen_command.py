"""`discreet screen`: results without serving, a served page that is stopped, mistakes in one sentence."""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet.cli.measure
import discreet.cli.screen  # noqa: F401 (each registers its command)
from discreet.cli import app
from discreet.errors import DiscreetError, MissingPackageError
from discreet.screen.screening import open_screening
from tests.screen.conftest import notes, screen_all  # noqa: F401 (a fixture)


def run(*words: object) -> tuple[str, BaseException | None]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.stdout, result.exception


def screened(path: Path, count: int | None = None) -> None:
    screening = open_screening(path, "digits", sample=10, seed=3)
    screen_all(screening, count)
    screening.close()


def test_finish_writes_the_results_of_what_is_there(notes, tmp_path):  # noqa: F811
    screened(notes, 6)
    out, rate = tmp_path / "s.jsonl", tmp_path / "r.json"
    printed, error = run("screen", notes, "-p", "digits", "--finish", "--json", "-o", out, "--miss-rate", rate)
    assert error is None
    result = json.loads(printed)
    assert (result["screened"], result["sample"], result["population"], result["seed"]) == (6, 10, 40, 3)
    assert (result["miss_rate"]["count"], result["recall"]["share"]) == (6, 0.5)
    assert result["paths"] == {"screened": str(out), "miss_rate": str(rate)}
    assert len(out.read_text().splitlines()) == 6
    printed, _ = run("screen", notes, "-p", "digits", "--finish")
    assert "6 records screened of the 10 drawn, from 40; seed 3." in printed
    assert "Zebulon" not in printed
    assert (tmp_path / "notes.screened.jsonl").exists()


def test_finish_with_nothing_screened_says_so(notes):  # noqa: F811
    _, error = run("screen", notes, "-p", "digits", "--finish")
    assert isinstance(error, DiscreetError)
    assert "no record has been screened yet" in str(error)
    assert [path.name for path in notes.parent.iterdir()] == [notes.name]  # it has not begun by that


def test_without_the_extra_the_command_says_what_to_install(notes, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    _, error = run("screen", notes, "-p", "digits")
    assert isinstance(error, MissingPackageError)
    assert "pip install 'discreet[screen]'" in str(error)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7"])
def test_other_machines_are_refused_unless_allowed(notes, host):  # noqa: F811
    _, error = run("screen", notes, "-p", "digits", "--host", host, "--no-browser")
    assert "--allow-remote" in str(error)


# Where tests run in the background of a shell, Ctrl-C is ignored from birth; a person at a terminal has it.
COMMAND = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from discreet.cli import main; main()"
)


def test_a_served_page_answers_and_stops_without_losing_anything(notes):  # noqa: F811
    screened(notes, 4)
    command = [sys.executable, "-c", COMMAND, "screen", str(notes), "-p", "digits", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            said, url = _address(process)
            with urllib.request.urlopen(url) as answer:
                assert b"Screening" in answer.read()
            asked = urllib.request.Request(
                url + "api/next", b'{"worker": "me-myself"}', {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(asked) as answer:
                assert json.load(answer)["progress"]["done"] == 4
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 0
    assert out == ""
    assert "Stopped with 4 of 10 records screened" in err
    assert "Zebulon" not in said + err
    assert url not in err  # it was said once, to the person


def _address(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """What the command says up to the page's address, and that address."""
    assert process.stderr is not None
    said = ""
    while not (url := re.search(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", said)):
        line = process.stderr.readline()
        assert line, said
        said += line
    return said, url[0]

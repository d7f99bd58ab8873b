"""`discreet report` from the outside: quick, one sentence for a mistake, no torch."""

import json
import subprocess
import sys

from tests.command_server import discreet
from tests.report.folders import add_evaluation, make_run


def test_a_report_and_a_card_are_written_and_their_places_told(tmp_path):
    for name in ("none", "dp-sgd"):
        add_evaluation(make_run(tmp_path / "runs" / name, name), 20.0)
    done = discreet("report", "runs/none", "runs/dp-sgd", "-o", "r.html", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == {"report": "r.html", "runs": ["runs/none", "runs/dp-sgd"], "format": "html"}
    assert "At a glance" in (tmp_path / "r.html").read_text()
    done = discreet("report", "runs/dp-sgd", "--format", "md", "--no-verify", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Written to runs/dp-sgd/model/README.md.\n"


def test_mistakes_are_one_sentence(tmp_path):
    make_run(tmp_path / "a", "none")
    for words, part in (
        (("a", "b"), "not a run"),
        (("a", "a/../a", "--format", "md"), "one model"),
        (("a", "--format", "pdf"), "html or md"),
    ):
        done = discreet("report", *words, cwd=tmp_path)
        assert done.returncode == 1
        assert part in done.stderr
        assert "Traceback" not in done.stderr
    assert discreet("report", cwd=tmp_path).returncode == 2


def test_a_report_is_written_without_loading_torch(tmp_path):
    run = make_run(tmp_path / "a", "none")
    code = f"import sys, discreet.report; discreet.report({str(run.path)!r}); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)

"""kill -9 at any line of the engine, again and again: what was released is covered by what the guarantee states."""

import json
from pathlib import Path

import pytest

from discreet.accounting.verify import verify
from discreet.engine.ledger import read_ledger
from discreet.mechanisms.run import open_run
from tests.command_server import run as run_python

DRIVER = """
import json, os, random, signal, sys
from pathlib import Path

root, mechanism, kills = {arguments}
sys.path.insert(0, root)
from tests.mechanisms.conftest import note
from discreet.engine.ledger import read_ledger
from discreet.engine.private import PrivateStep
from discreet.mechanisms.train import train
from discreet.text.corpus import Corpus

folder = Path.cwd()
corpus = Corpus({"train": [note(n) for n in range(24)]}, "notes")
applied = os.open(folder / "applied.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
apply = PrivateStep._apply


def counted(self, step):
    apply(self, step)
    os.write(applied, f"{step}\\n".encode())  # after the update, so a line means that the model has moved


PrivateStep._apply = counted


def work(output, limit):
    lines = 0

    def trace(frame, event, argument):
        nonlocal lines
        if "discreet/engine/" not in frame.f_code.co_filename and "discreet/files" not in frame.f_code.co_filename:
            return None
        if event == "line":
            lines += 1
            if lines == limit:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    train(
        corpus, "gold", mechanism, output=output, progress=False,
        model={"name": "lstm", "embedding": 8, "hidden": 8}, tokenizer={"train": "bpe", "vocabulary": 280},
        training={"epochs": 1, "batch_size": 8, "checkpoint_seconds": 0}, seed=1,
    )
    sys.settrace(None)
    (folder / "lines.txt").write_text(str(lines))


def child(output, limit):
    if (pid := os.fork()) == 0:
        try:
            work(output, limit)
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


work(folder / "dry", 0)  # in this process: what it imports and compiles, the children have
os.ftruncate(applied, 0)
lines, draw, facts, runs = int((folder / "lines.txt").read_text()), random.Random(5), [], 0
while len(facts) < kills:
    run = folder / f"run-{runs}"
    while status := child(run, draw.randrange(1, lines) if len(facts) < kills else 0):
        assert status == signal.SIGKILL, status
        ledger = run / "ledger.jsonl"
        spent = sum(p.releases for p in read_ledger(ledger).values()) if ledger.is_file() else 0
        steps = {int(line) for line in (folder / "applied.txt").read_text().split()}
        facts.append({"spent": spent, "moved": max(steps, default=-1) + 1})
    os.ftruncate(applied, 0)
    runs += 1
(folder / "facts.json").write_text(json.dumps(facts))
"""
BUDGET = {"noise": 3.0, "batch": 8, "epochs": 3, "randomness": "secure"}
KILLS = {"dp-sgd": 6, "selective": 8, "crt": 6}
MECHANISMS = {
    "dp-sgd": {"name": "dp-sgd", **BUDGET, "public_vocabulary": True},
    "selective": {"name": "selective", **BUDGET},
    "crt": {"name": "crt", **BUDGET, "public_vocabulary": True, "conservative": "gold", "points": "record"},
}


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_whatever_was_released_before_any_of_twenty_kills_is_paid_for(tmp_path, name):
    arguments = str(Path(__file__).parents[2]), MECHANISMS[name], KILLS[name]
    done = run_python(DRIVER.replace("{arguments}", repr(arguments)), tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert len(facts) == KILLS[name]
    assert all(fact["moved"] <= fact["spent"] for fact in facts)
    assert any(fact["moved"] > 0 for fact in facts)
    for path in tmp_path.glob("run-*"):
        run = open_run(path)
        (phase,) = read_ledger(run.path / "ledger.jsonl").values()
        assert phase.releases <= phase.plan.steps
        assert (run.guarantee.epsilon or 0) > 0
        assert [check.problem for check in verify(run.path) if check.problem] == []

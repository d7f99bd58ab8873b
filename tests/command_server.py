"""Runs commands and Python blocks, each in a process of its own that is forked from one which has imported everything.

A fresh process spends seconds on importing torch before it does anything; the documentation has a hundred commands.

    done = discreet("simulate", "customersim", "-n", 3, "-o", "dialogs.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    run("print(1)", folder)                      # a block of Python

The process is started when it is first needed, once for each process of tests.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

ENVIRONMENT = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
SECONDS = 300


class Done(NamedTuple):
    """How a command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def discreet(*words: object, cwd: Path) -> Done:
    """Runs a command of the command line in a folder."""
    return run([str(word) for word in words], cwd)


def run(what: list[str] | str, folder: Path) -> Done:
    """Runs the words after `discreet`, or a text as Python, in a folder; after five minutes it is ended."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.NamedTemporaryFile("r", errors="replace") as out, tempfile.NamedTemporaryFile("r") as err:
        request = {"what": what, "folder": str(folder), "stdout": out.name, "stderr": err.name}
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        code = server.stdout.readline()
        assert code, "the process that runs commands has ended"
        return Done(int(code), out.read(), err.read())


@cache
def _server() -> "subprocess.Popen[str]":
    """The process that has imported everything, waiting for what to run; it ends with the tests."""
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT, text=True
    )
    atexit.register(server.communicate)
    return server


def import_everything() -> None:
    """All that commands import and compile, so that their processes find it done. No thread may be left running."""
    import transformers.models.auto.modeling_auto  # noqa: F401

    import discreet.attacks.attack
    import discreet.cli
    import discreet.evaluate.perplexity
    from discreet.mechanisms.contract import MECHANISMS
    from discreet.mechanisms.train import train
    from discreet.text.corpus import Corpus
    from discreet.text.records import Record

    discreet.cli.load_commands()
    MECHANISMS.names()
    corpus = Corpus({"train": [Record(str(number), "Call 555 0199.") for number in range(4)]}, "calls")
    private = {"name": "dp-sgd", "noise": 1.0, "batch": 2, "public_vocabulary": True}
    settings: dict[str, Any] = {"tokenizer": {"train": "bpe", "vocabulary": 280}, "training": {"epochs": 1}}
    with tempfile.TemporaryDirectory() as folder:  # a training imports and compiles more
        train(corpus, "pii", private, {"name": "lstm"}, output=Path(folder) / "run", progress=False, **settings)


def serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            work(**request)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def work(what: list[str] | str, folder: str, stdout: str, stderr: str) -> NoReturn:
    """What the forked process does: one command or one block, and then it is gone."""
    signal.alarm(SECONDS)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, stdout), (2, stderr)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND), number)
    code: Any = 1
    try:
        if isinstance(what, str):
            exec(compile(what, "page", "exec"), {"__name__": "__main__"})
        else:
            from discreet.cli import main

            sys.argv = ["discreet", *what]
            main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:  # noqa: BLE001, the forked process must not go on as a server
        traceback.print_exc()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    import_everything()
    serve()

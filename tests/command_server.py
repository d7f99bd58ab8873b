"""Runs commands and Python blocks, each in a process of its own that is forked from one which has imported everything.

A fresh process spends seconds on importing torch before it does anything; the documentation has a hundred commands.

    with CommandServer() as server:
        done = server.run(["simulate", "customersim", "-n", "3", "-o", "dialogs.jsonl"], folder)
        assert done.code == 0, done.output
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

ENVIRONMENT = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
SECONDS = 300


class Done(NamedTuple):
    """How a command ended, and all it wrote."""

    code: int
    output: str


class CommandServer:
    """The process that has imported everything, waiting for what to run."""

    def __enter__(self) -> "CommandServer":
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, what: list[str] | str, folder: Path) -> Done:
        """Runs the words after `discreet`, or a text as Python, in a folder; after five minutes it is ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as output:
            request = {"what": what, "folder": str(folder), "output": output.name}
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            code = self._process.stdout.readline()
            assert code, "the process that runs commands has ended"
            return Done(int(code), output.read())


def import_everything() -> None:
    """All that commands import and compile, so that their processes find it done. No thread may be left running."""
    import torch
    import transformers.models.auto.modeling_auto  # noqa: F401

    import discreet.attacks.attack
    import discreet.cli
    import discreet.evaluate.perplexity
    import discreet.mechanisms.train
    from discreet.engine.noise import Noise
    from discreet.engine.random_bits import Randomness
    from discreet.mechanisms.contract import MECHANISMS

    discreet.cli.load_commands()
    MECHANISMS.names()
    noise = Noise(Randomness())
    noise.add_([torch.zeros(3)], 1.0)  # compiles
    noise._pool.shutdown()  # its threads would not live on in a forked process


def serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            work(**request)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def work(what: list[str] | str, folder: str, output: str) -> NoReturn:
    """What the forked process does: one command or one block, and then it is gone."""
    signal.alarm(SECONDS)
    os.chdir(folder)
    written = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(written, 1)
    os.dup2(written, 2)
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

"""Every command and every Python block in README and docs runs as written, page by page in an empty folder.

Blocks marked `sh` are run line by line (lines that do not call discreet, such as benchmarks, are left out), blocks
marked `yaml file=NAME` become that file, blocks marked `python` are run. Blocks marked `text` are for reading.
"""

import re
import shlex
from pathlib import Path

import pytest

from tests.command_server import run

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[list[str]]:
    joined = block.replace("\\\n", " ")
    lines = [shlex.split(line, comments=True) for line in joined.splitlines()]
    return [words for words in lines if words]


def needs_shared(words: list[str]) -> bool:
    return any("../shared/" in word for word in words)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_of_a_page_runs_as_written(page, tmp_path):
    for kind, name, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name:
            (tmp_path / name).write_text(body, encoding="utf-8")
        elif kind == "python":
            check(body, tmp_path)
        elif kind == "sh":
            for words in commands(body):
                if words[0] == "discreet" and not needs_shared(words):
                    check(words[1:], tmp_path)


def check(what: list[str] | str, folder: Path) -> None:
    done = run(what, folder)
    assert done.returncode == 0, f"{what}\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}"


def test_a_command_that_fails_is_seen(tmp_path):
    assert run(["detect", "gone.jsonl", "--policy", "pii"], tmp_path).returncode == 1
    assert run(["dettect"], tmp_path).returncode == 2
    assert "ZeroDivisionError" in run("print(1)\n1 / 0", tmp_path).stderr
    assert run("import os; os.kill(os.getpid(), 9)", tmp_path).returncode == -9
    assert run("print(1)", tmp_path) == (0, "1\n", "")

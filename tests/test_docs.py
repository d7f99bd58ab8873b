"""Every command and every Python block in README and docs runs as written, page by page in an empty folder.

Blocks marked `sh` are run line by line (lines that do not call discreet, such as benchmarks, are left out), blocks
marked `yaml file=NAME` become that file, blocks marked `python` are run. Blocks marked `text` are for reading.
"""

import re
import shlex
from pathlib import Path

import pytest

from tests.command_server import CommandServer

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def server():
    with CommandServer() as running:
        yield running


def commands(block: str) -> list[list[str]]:
    joined = block.replace("\\\n", " ")
    lines = [shlex.split(line, comments=True) for line in joined.splitlines()]
    return [words for words in lines if words]


def needs_shared(words: list[str]) -> bool:
    return any("../shared/" in word for word in words)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_of_a_page_runs_as_written(page, server, tmp_path):
    for kind, name, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name:
            (tmp_path / name).write_text(body, encoding="utf-8")
        elif kind == "python":
            check(server, body, tmp_path)
        elif kind == "sh":
            for words in commands(body):
                if words[0] == "discreet" and not needs_shared(words):
                    check(server, words[1:], tmp_path)


def check(server: CommandServer, what: list[str] | str, folder: Path) -> None:
    done = server.run(what, folder)
    assert done.code == 0, f"{what}\n{done.output[-2000:]}"


def test_a_command_that_fails_is_seen(server, tmp_path):
    assert server.run(["detect", "gone.jsonl", "--policy", "pii"], tmp_path).code == 1
    assert server.run(["dettect"], tmp_path).code == 2
    assert "ZeroDivisionError" in server.run("print(1)\n1 / 0", tmp_path).output
    assert server.run("import os; os.kill(os.getpid(), 9)", tmp_path).code == -9
    assert server.run("print(1)", tmp_path) == (0, "1\n")

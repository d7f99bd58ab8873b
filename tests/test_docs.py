"""Every command and every Python block in README and docs runs as written, page by page in an empty folder.

Blocks marked `sh` are run line by line (lines that do not call discreet, such as benchmarks, are left out), blocks
marked `yaml file=NAME` become that file, blocks marked `python` are run. Blocks marked `text` are for reading.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DISCREET = [sys.executable, "-c", "from discreet.cli import main; main()"]
ENVIRONMENT = {**os.environ, "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def commands(block: str) -> list[list[str]]:
    joined = block.replace("\\\n", " ")
    lines = [shlex.split(line, comments=True) for line in joined.splitlines()]
    return [words for words in lines if words]


def needs_shared(words: list[str]) -> bool:
    return any("../shared/" in word for word in words)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_command_of_a_page_runs_as_written(page, tmp_path):
    for kind, name, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if name:
            (tmp_path / name).write_text(body, encoding="utf-8")
        elif kind == "python":
            check([sys.executable, "-c", body], tmp_path)
        elif kind == "sh":
            for words in commands(body):
                if words[0] == "discreet" and not needs_shared(words):
                    check([*DISCREET, *words[1:]], tmp_path)


def check(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{' '.join(command[-8:])}\n{done.stderr[-2000:]}"


def test_every_page_is_linked_from_the_readme():
    readme = PAGES[0].read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"docs/{page.name}" not in readme] == []

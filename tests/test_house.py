"""The house: a record walks from top to bottom, so a file imports only from its own folder and those above it."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "discreet"
FLOORS = [
    "text",
    "policy",
    "sanitize",
    "models",
    "engine",
    "accounting",
    "mechanisms",
    "attacks",
    "evaluate",
    "report",
    "screen",
    "recipes",
    "cli",
]
LIGHT = ["text", "policy", "sanitize"]
HEAVY = {"torch", "transformers", "tokenizers", "pyarrow", "datasets", "spacy", "scipy"}


def files() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE)


def floor_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


def imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_imports_only_from_its_own_folder_and_those_above(path):
    here = FLOORS.index(floor_of(path))
    for module in imports(path):
        parts = module.split(".")
        if parts[0] == "discreet" and len(parts) > 1 and parts[1] in FLOORS:
            assert FLOORS.index(parts[1]) <= here, f"{path.name} reaches down to {module}"


@pytest.mark.parametrize("path", [p for p in files() if floor_of(p) in LIGHT], ids=lambda p: str(p.relative_to(SOURCE)))
def test_reading_and_policies_do_not_load_heavy_packages_when_imported(path):
    heavy = {module.split(".")[0] for module in imports(path, top_level_only=True)} & HEAVY
    assert not heavy, f"{path.name} imports {heavy} at the top"


def test_every_folder_is_a_floor_of_the_house():
    folders = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders <= set(FLOORS)

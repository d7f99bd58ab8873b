"""Recipes that ship with the package, by name."""

from importlib.resources import files
from pathlib import Path

from discreet.errors import UnknownNameError
from discreet.registry import nearest


def recipe_path(name: str) -> Path:
    """The file of a shipped recipe."""
    known = {
        entry.name.removesuffix(".yaml"): entry for entry in files(__name__).iterdir() if entry.name.endswith(".yaml")
    }
    if name not in known:
        raise UnknownNameError(f"There is no recipe called '{name}'; {nearest(name, known)}")
    return Path(str(known[name]))

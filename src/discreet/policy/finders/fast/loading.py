"""When the compiled finders are worth their price.

Loading numba takes as long as reading a megabyte without them. To compile them, once on a machine and again after each
change of their source, takes as long as reading fifty; so a stream has to be longer for that.
"""

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.policy.finders.page import Page

if TYPE_CHECKING:
    from discreet.policy.finders.fast.reading import Reading

ENOUGH, ENOUGH_TO_COMPILE = 500_000, 10_000_000
"""So many characters are read in a process without the compiled finders; more where they are not compiled yet."""
SOME_TEXT = "Warm up, please: Mr. Zebulon 22 and thnks. Your name?"
"""Every loop is called when this is read."""

_characters = 0


def _version() -> int:
    """A number that changes with the source of this policy."""
    policy = Path(__file__).parents[2]
    sources = [*policy.glob("finders/**/*.py"), policy / "customersim.py", policy / "lists" / "__init__.py"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(sources))).digest()
    return int.from_bytes(digest[:7], "big") + 1


VERSION = _version()
"""What is compiled from one source is not taken for another."""


def reading_worth(characters: int) -> "type[Reading] | None":
    """What reads pages by compiled loops, if with so many characters more it is worth loading, and can be loaded."""
    global _characters
    _characters += characters
    if _characters <= ENOUGH or (_characters <= ENOUGH_TO_COMPILE and not compiled_before()):
        return None
    return loaded()


@cache
def loaded() -> "type[Reading] | None":
    """None where numba has no folder to keep what it compiles: to compile it in every process would take too long."""
    try:
        from discreet.policy.finders.fast.reading import Reading
    except (ImportError, RuntimeError):
        return None
    Reading(Page(SOME_TEXT)).secrets_of_texts(0.0, {})  # compiles, or reads what was compiled
    _remember()
    return Reading


def _notes() -> list[Path]:
    """Where it may be noted that this version is compiled: beside the source, or at home where that is not allowed."""
    name = f"pii-{VERSION:x}.compiled"
    return [Path(__file__).parent / "__pycache__" / name, Path.home() / ".cache" / "discreet" / name]


@cache
def compiled_before() -> bool:
    return any(note.is_file() for note in _notes())


def _remember() -> None:
    for note in _notes():
        try:
            note.parent.mkdir(parents=True, exist_ok=True)
            note.touch()
            return
        except OSError:  # the next place; where there is none, long streams alone are read by what is compiled
            continue

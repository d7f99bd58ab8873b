"""When the compiled finders are worth their price: loading numba takes as long as reading a megabyte without them."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.policy.finders.fast.reading import Reading

ENOUGH = 500_000
"""So many characters are read in a process without the compiled finders."""

_characters = 0


def reading_worth(characters: int) -> "type[Reading] | None":
    """What reads pages by compiled loops, if with so many characters more it is worth loading, and can be loaded."""
    global _characters
    _characters += characters
    return loaded() if _characters > ENOUGH else None


@cache
def loaded() -> "type[Reading] | None":
    """None where numba has no folder to keep what it compiles: to compile it in every process would take too long."""
    try:
        from discreet.policy.finders.fast.reading import Reading
    except (ImportError, RuntimeError):
        return None
    return Reading

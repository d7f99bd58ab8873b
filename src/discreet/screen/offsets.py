"""Positions in a text as Python counts them (characters) and as a browser does (UTF-16 units, an emoji is two).

>>> units = Units("🙂 Ann")
>>> units.of(2), units.position(3)
(3, 2)
"""

from bisect import bisect_left

from discreet.errors import InputError


class Units:
    """Translates positions of one text both ways."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        self._wide = [position for position, character in enumerate(text) if ord(character) > 0xFFFF]
        """Characters of two units; most texts have none or few."""
        self._wide_units = [position + number for number, position in enumerate(self._wide)]

    def of(self, position: int) -> int:
        """The unit at which a character starts."""
        return position + bisect_left(self._wide, position)

    def position(self, unit: int) -> int:
        """The character that starts at a unit; a unit outside the text or inside a character is refused."""
        if not 0 <= unit <= self._length + len(self._wide):
            raise InputError("The marked span lies outside the text; load the page again.")
        wide_before = bisect_left(self._wide_units, unit)
        if wide_before and self._wide_units[wide_before - 1] == unit - 1:
            raise InputError("The marked span cuts a character in two; select all of it.")
        return unit - wide_before

"""What compiled finders find: rows of one array, with start, end, kind and the score in hundredths (see LESS)."""

from collections.abc import Iterable

import numpy as np

from discreet.policy.finders.fast.compiled import Array, small
from discreet.text.records import Secret

KINDS = ("ACCOUNT", "ADDRESS", "AGE", "BIRTH", "CARD", "DATE", "EMAIL", "ID", "IP", "KEY", "MAC", "NATIONALITY",
         "NUMBER", "ORGANIZATION", "PASSWORD", "PERSON", "PHONE", "PLACE", "PLATE", "REFERENCE", "SSN", "URL", "WORD",
         "ZIP")  # fmt: skip
"""All kinds in the order of the alphabet, as their numbers in the loops have to be."""
NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
ACCOUNT, ADDRESS, AGE, BIRTH, CARD, DATE, ID, NATION, NUMBER, COMPANY, PERSON, PHONE, PLACED, REFERENCE, SSN, ZIP = (
    NUMBERS[kind]
    for kind in ("ACCOUNT", "ADDRESS", "AGE", "BIRTH", "CARD", "DATE", "ID", "NATIONALITY", "NUMBER", "ORGANIZATION",
                 "PERSON", "PHONE", "PLACE", "REFERENCE", "SSN", "ZIP")
)  # fmt: skip
PARTS = 4
LESS = 101
"""Other places where a name stands that was told are a little less sure: their scores stand this much later."""
SCORES = [hundredths / 100 for hundredths in range(LESS)] + [hundredths / 100 - 0.05 for hundredths in range(LESS)]


@small
def add(found: Array, start: int, end: int, kind: int, score: int) -> None:
    """Writes a finding in the next row; the first row says only how many there are."""
    found[0, 0] += 1
    at = found[0, 0]
    found[at, 0], found[at, 1], found[at, 2], found[at, 3] = start, end, kind, score


def secrets(found: Array) -> list[Secret]:
    """The rows as secrets."""
    return [Secret(start, end, KINDS[kind], SCORES[score]) for start, end, kind, score in found.tolist()]


def numbered(found: Iterable[Secret]) -> Array:
    """Secrets as numbers: start, end, kind and score."""
    rows = [(start, end, NUMBERS[kind], score) for start, end, kind, score in found]
    return np.array(rows, np.float64).reshape(-1, PARTS)

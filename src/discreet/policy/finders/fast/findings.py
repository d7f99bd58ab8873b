"""What compiled finders find: rows of one array, with start, end, kind and the score in hundredths."""

from discreet.policy.finders.fast.compiled import Array, small
from discreet.text.records import Secret

KINDS = ("PERSON", "ADDRESS", "REFERENCE", "PLACE", "ORGANIZATION", "NATIONALITY", "CARD", "SSN", "ACCOUNT", "PHONE",
         "BIRTH", "NUMBER", "ZIP", "DATE")  # fmt: skip
"""The kinds; their numbers stand in the loops."""
PERSON, ADDRESS, REFERENCE, PLACED, COMPANY, NATION, CARD, SSN, ACCOUNT, PHONE, BIRTH, NUMBER, ZIP, DATE = range(14)
PARTS = 4
SCORES = [hundredths / 100 for hundredths in range(101)]


@small
def add(found: Array, start: int, end: int, kind: int, score: int) -> None:
    """Writes a finding in the next row; the first row says only how many there are."""
    found[0, 0] += 1
    at = found[0, 0]
    found[at, 0], found[at, 1], found[at, 2], found[at, 3] = start, end, kind, score


def secrets(found: Array) -> list[Secret]:
    """The rows as secrets."""
    return [Secret(start, end, KINDS[kind], SCORES[score]) for start, end, kind, score in found.tolist()]

"""Surrogates: made-up secrets that redaction may write in the place of real ones.

    >>> surrogates("dial-7", ["PERSON", "PHONE", "DIAGNOSIS"], mask="<MASK>")
    ['Eugene Rivas', '1610358295', '<MASK>']

A model that reads masks never learns that a phone number has ten digits, and meets its first real one when it is used.
One that reads surrogates knows what such text looks like, and nothing of anybody's: a surrogate is a function of the
kind of the secret, the id of its record and its place among the record's secrets, never of the secret. So it tells
no more than the mark of style `kind` does, and text with surrogates is public wherever kinds are.

Two occurrences of one secret have two surrogates: the same one twice would tell that the secrets were the same. No
secret randomness is needed, because there is nothing behind a surrogate to find out.

A kind that is not known here becomes the mask.
"""

import random
import string
from collections.abc import Callable, Sequence

from discreet.text.customersim.customers import PAIRS, Customer, CustomerBase

BASE = CustomerBase(seed=2**31 - 1)
"""Not one that anybody simulates dialogs with: nobody's customer should turn up as a surrogate."""
TRACKING_CHARACTERS = string.ascii_uppercase + string.digits
YEARS = (1850, 2025)


def surrogates(record: str, kinds: Sequence[str], mask: str) -> list[str]:
    """What is written for the secrets of a record, of which only the kinds are told, in order."""
    draw = random.Random(f"surrogates/{record}")
    return [MAKERS[kind](draw) if kind in MAKERS else mask for kind in kinds]


def _customer(draw: random.Random) -> Customer:
    return BASE[draw.randrange(PAIRS)]


def _digits(draw: random.Random, count: int) -> str:
    return "".join(draw.choices(string.digits, k=count))


def _number(draw: random.Random) -> str:
    """A third are years; the others are up to 1,000, as many of one digit as of two or three (Benford's law)."""
    return str(draw.randint(*YEARS)) if draw.random() < 1 / 3 else str(int(10 ** draw.uniform(0, 3)))


def _date(draw: random.Random) -> str:
    return f"{draw.randint(*YEARS)}-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}"


def _email(draw: random.Random) -> str:
    return f"{_customer(draw).name.lower().replace(' ', '.')}@example.{draw.choice(('com', 'net', 'org'))}"


MAKERS: dict[str, Callable[[random.Random], str]] = {
    "ADDRESS": lambda draw: _customer(draw).address,
    "DATE": _date,
    "EMAIL": _email,
    "ID": lambda draw: _digits(draw, 6),
    "NUMBER": _number,
    "ORDER": lambda draw: _customer(draw).order,
    "PERSON": lambda draw: _customer(draw).name,
    "PHONE": lambda draw: _customer(draw).phone,
    "TRACKING": lambda draw: "".join(draw.choices(TRACKING_CHARACTERS, k=10)),
}

"""The fake customer base: every customer is computed from the seed and a number, so a base of any size takes no memory.

    >>> base = CustomerBase(seed=0)
    >>> base[7] == base[7] and base[7].name != base[8].name
    True

Names are unique within a base: the numbers walk through every pair of first name and surname once, in an order the seed
decides, and then through pairs with a double surname. Phones, order numbers and addresses are drawn independently, so
two customers may (very rarely) share one.
"""

import math
import random
from dataclasses import dataclass
from functools import cached_property

from discreet.text.customersim.words import (
    FIRST_NAMES,
    STATES,
    STREET_KINDS,
    STREET_WORDS,
    SURNAMES,
    TOWN_ENDINGS,
    TOWN_PREFIXES,
    TOWN_STEMS,
)

PAIRS = len(FIRST_NAMES) * len(SURNAMES)
CAPACITY = PAIRS * len(SURNAMES)
"""How many customers have names of their own."""


@dataclass(frozen=True, slots=True)
class Customer:
    """One fake person; the fields are the kinds of secrets in lower case."""

    name: str
    phone: str
    order: str
    address: str


@dataclass(frozen=True)
class CustomerBase:
    """All customers of one seed, as if they stood in a list."""

    seed: int

    @cached_property
    def _walk(self) -> tuple[int, int]:
        """Step and start of the walk through the name pairs; a step without a factor of PAIRS meets each once."""
        rng = random.Random(f"{self.seed}/names")
        step = rng.randrange(PAIRS)
        while math.gcd(step, PAIRS) != 1:
            step = rng.randrange(PAIRS)
        return step, rng.randrange(PAIRS)

    def __getitem__(self, number: int) -> Customer:
        if not 0 <= number < CAPACITY:
            raise IndexError(number)
        rng = random.Random(f"{self.seed}/customer/{number}")
        return Customer(name=self._name(number), phone=_phone(rng), order=_order(rng), address=_address(rng))

    def _name(self, number: int) -> str:
        step, start = self._walk
        double, place = divmod(number, PAIRS)
        first, last = divmod((start + step * place) % PAIRS, len(SURNAMES))
        second = f"-{SURNAMES[(last + double) % len(SURNAMES)]}" if double else ""
        return f"{FIRST_NAMES[first]} {SURNAMES[last]}{second}"


def _digits(rng: random.Random, count: int) -> str:
    return f"{rng.randrange(10**count):0{count}d}"


def _phone(rng: random.Random) -> str:
    joint = rng.choice(("", "-", "."))
    return joint.join((str(rng.randint(1, 9)) + _digits(rng, 2), _digits(rng, 3), _digits(rng, 4)))


def _order(rng: random.Random) -> str:
    return f"{_digits(rng, 3)}-{_digits(rng, 5)}-{_digits(rng, 4)}"


def _address(rng: random.Random) -> str:
    town = rng.choice(TOWN_STEMS) + rng.choice(TOWN_ENDINGS)
    if rng.random() < 0.5:
        town = rng.choice(TOWN_PREFIXES) + town
    return f"{_delivery_point(rng)}, {town}, {rng.choice(STATES)} {_digits(rng, 5)}"


def _delivery_point(rng: random.Random) -> str:
    """A post box (one in ten), or a house with or without an apartment."""
    if rng.random() < 0.1:
        return f"PO Box {rng.randint(10, 9999)}"
    street = rng.choice(SURNAMES if rng.random() < 0.5 else STREET_WORDS)
    house = f"{rng.randint(1, 99_999)} {street} {rng.choice(STREET_KINDS)}"
    return f"{house} {rng.choice(('Apt.', 'Suite', 'Unit'))} {rng.randint(1, 999)}" if rng.random() < 0.45 else house

"""CustomerSim, simulated afresh: customer-service dialogs whose secrets are known, in any number.

    >>> for record in simulate(2, seed=1):
    ...     print(record.id, record.split, [secret.kind for secret in record.secrets])
    dial-0 train ['PERSON', 'ORDER', 'TRACKING']
    dial-1 train ['PERSON', 'ORDER', 'TRACKING']

An assistant asks a customer for the name and for one of phone, order number or address, and answers with a tracking
number. Customers are drawn with replacement from a fake base (`discreet.text.customersim.customers`), so a model can
meet the same customer twice. docs/customersim.md compares the result with the CustomerSim of Shi et al. 2022.

Dialog number i depends on the seed and i only: a longer simulation begins with the shorter one, and dialogs stream
without being held in memory.
"""

import random
from collections.abc import Iterator, Mapping
from functools import partial

from discreet.errors import SettingError
from discreet.text.customersim.customers import CAPACITY, Customer, CustomerBase
from discreet.text.customersim.dialogs import dialog
from discreet.text.records import Record

__all__ = ["KINDS", "Customer", "CustomerBase", "base_size", "simulate"]

KINDS = ("PERSON", "PHONE", "ORDER", "ADDRESS", "TRACKING")
"""The kinds of secrets in a simulated dialog."""


def simulate(n: int, seed: int = 0, splits: Mapping[str, int] | None = None) -> Iterator[Record]:
    """Dialogs with their true secrets, each a record with `SYS: …` and `USR: …` lines.

    Without `splits`, of every twelve dialogs in a row ten are for train and one each for valid and test, which makes
    10,000 / 1,000 / 1,000 of 12,000. With `splits` (`{"train": 100, "test": 20}`) they come in that order.
    """
    if n < 0:
        raise SettingError(f"{n} dialogs cannot be simulated; give a number that is at least 0.")
    if splits is not None and (sum(splits.values()) != n or any(count < 0 for count in splits.values())):
        raise SettingError(
            f"The splits have {sum(splits.values())} dialogs, but {n} are to be simulated; make the two equal."
        )
    return _dialogs(n, seed, splits)


def _dialogs(n: int, seed: int, splits: Mapping[str, int] | None) -> Iterator[Record]:
    base = CustomerBase(seed)
    names = _twelfths(n) if splits is None else (name for name, count in splits.items() for _ in range(count))
    for number, split in enumerate(names):
        rng = random.Random(f"{seed}/dialog/{number}")
        customer, other = rng.sample(range(base_size(number)), 2)
        yield dialog(f"dial-{number}", split, base[customer], partial(base.__getitem__, other), rng)


def base_size(number: int) -> int:
    """How many customers dialog `number` is drawn from: 20,000, and more once there are over 12,000 dialogs."""
    return min(max(20_000, number * 5 // 3), CAPACITY)


def _twelfths(n: int) -> Iterator[str]:
    for number in range(n):
        yield {5: "valid", 11: "test"}.get(number % 12, "train")

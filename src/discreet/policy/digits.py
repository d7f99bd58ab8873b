r"""Every number is a secret: the policy of the papers' WikiText experiments (`policy: digits`).

    >>> Digits().find("Call 555-0101")
    [Secret(start=5, end=8, kind='NUMBER', score=1.0), Secret(start=9, end=13, kind='NUMBER', score=1.0)]

A secret is a maximal run of decimal digits of any script (`\d+`), also where letters touch it: `B2B` holds one.
Numbers in words, Roman numerals, superscripts and fractions (`½`) are not digits.
"""

import re
from collections.abc import Sequence
from typing import Any

from discreet.policy.contract import POLICIES, Policy, TextPolicy
from discreet.text.records import Secret

DIGITS = re.compile(r"\d+")


class Digits(TextPolicy):
    """Maximal runs of decimal digits, kind NUMBER."""

    def find(self, text: str) -> Sequence[Secret]:
        return [Secret(match.start(), match.end(), "NUMBER") for match in DIGITS.finditer(text)]

    def spec(self) -> Any:
        return "digits"


@POLICIES.register("digits")
def digits() -> Policy:
    """Every run of decimal digits."""
    return Digits()

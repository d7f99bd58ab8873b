"""The claim that no text holds a secret (`policy: nothing`): public corpora, and baselines without protection.

It is a policy of its own so that "nothing is secret here" is always written down by someone, and never the result
of a setting that was forgotten.
"""

from typing import Any

from discreet.policy.contract import POLICIES, Policy
from discreet.text.records import Record, Secret


class Nothing(Policy):
    """Finds no secret anywhere."""

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        return ()

    def spec(self) -> Any:
        return "nothing"


@POLICIES.register("nothing")
def nothing() -> Policy:
    """Claims that there are no secrets."""
    return Nothing()

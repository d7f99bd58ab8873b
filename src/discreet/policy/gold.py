"""The secrets that the file itself marks (`policy: gold`), for labelled data and for redacted files.

A record whose file says nothing about secrets is an error, not a record without secrets: silence is not a claim.
A file that marks an empty list, or the policy `nothing`, makes that claim.
"""

from typing import Any

from discreet.errors import InputError
from discreet.policy.contract import POLICIES, Policy
from discreet.text.records import Record, Secret


def marked(record: Record) -> tuple[Secret, ...]:
    """The secrets the file marks in a record's text."""
    if record.secrets is None:
        raise InputError(
            f"{record.place or f'record {record.id}'}: the file does not mark the secrets of this text; "
            "give each record a list 'secrets' of {start, end, kind} (empty for none), or use another policy."
        )
    return record.secrets


class Gold(Policy):
    """Trusts the marks in the file."""

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        return marked(record)

    def spec(self) -> Any:
        return "gold"


@POLICIES.register("gold")
def gold() -> Policy:
    """The secrets that the file marks."""
    return Gold()

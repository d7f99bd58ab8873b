"""Only some kinds of what a policy finds: `only(discreet.policy("pii"), ["PHONE", "EMAIL"])`.

With `but: true` it is the other way round: all kinds but these.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from discreet.policy.contract import POLICIES, Policy
from discreet.text.records import Record, Secret


class Only(Policy):
    """Another policy's secrets of some kinds."""

    def __init__(self, policy: Policy, kinds: Sequence[str], but: bool) -> None:
        self.policy, self.kinds, self.but = policy, frozenset(kinds), but

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        return self._kept(self.policy.secrets(record))

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
        for record, secrets in self.policy.secrets_of_all(records):
            yield record, self._kept(secrets)

    def _kept(self, secrets: Sequence[Secret]) -> tuple[Secret, ...]:
        return tuple(secret for secret in secrets if (secret.kind in self.kinds) is not self.but)

    def spec(self) -> Any:
        settings: dict[str, Any] = {"policy": self.policy.spec(), "kinds": sorted(self.kinds)}
        return {"only": settings | {"but": True} if self.but else settings}


@POLICIES.register("only")
def only(policy: Policy, kinds: Sequence[str], but: bool = False) -> Policy:
    """The secrets of these kinds, or with `but` those of all others."""
    return Only(policy, kinds, but)

"""An allow-list: secrets that need no protection, such as your own company's name and telephone number.

    allow(discreet.policy("pii"), ["Acme", "1-800-555-0199"])
    allow(discreet.policy("pii"), "public.txt", kinds=["ORGANIZATION"])

A secret is let go when its whole text is on the list (case and spacing aside), unlike with `-`, which would take
`Acme` out of `Acme Miller` too. `kinds` lets go only secrets of these kinds.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.policy.contract import POLICIES, Policy
from discreet.policy.imperfect import normalised
from discreet.policy.words import read_list
from discreet.text.records import Record, Secret


class Allow(Policy):
    """Another policy without the secrets on a list."""

    def __init__(self, policy: Policy, entries: Iterable[str], kinds: Sequence[str], source: Any) -> None:
        self.policy, self.kinds, self._source = policy, tuple(kinds), source
        self._allowed = frozenset(map(normalised, entries))

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        return self._kept(record, self.policy.secrets(record))

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
        for record, secrets in self.policy.secrets_of_all(records):
            yield record, self._kept(record, secrets)

    def _kept(self, record: Record, secrets: Sequence[Secret]) -> tuple[Secret, ...]:
        return tuple(secret for secret in secrets if not self._lets_go(record.text, secret))

    def _lets_go(self, text: str, secret: Secret) -> bool:
        if self.kinds and secret.kind not in self.kinds:
            return False
        return normalised(text[secret.start : secret.end]) in self._allowed

    def spec(self) -> Any:
        settings = {"policy": self.policy.spec()} | self._source
        return {"allow": settings | {"kinds": list(self.kinds)} if self.kinds else settings}


@POLICIES.register("allow")
def allow(
    policy: Policy, source: str | Path | Sequence[str], kinds: Sequence[str] = (), sha256: str | None = None
) -> Policy:
    """What a policy finds, but for the entries of a list or of a file (one a line)."""
    entries, spec = read_list(source, sha256)
    return Allow(policy, entries, kinds, spec)

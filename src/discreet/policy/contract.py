"""The contract of a policy: given a record, say which characters are secret.

Every policy answers with spans that are sorted, inside the text, not empty and not overlapping, and gives the same
answer for the same record each time. It knows no model and sees one record at a time, so that a neighbouring
corpus changes its answer for the changed record only (ACCOUNTING.md, section 2, assumptions).

    class Shouting(TextPolicy):
        kind = "SHOUT"
        def find(self, text): return [Secret(m.start(), m.end(), self.kind) for m in re.finditer(r"[A-Z]{4,}", text)]
        def spec(self): return {"shouting": {}}

`spec()` is the YAML form that makes the same policy again (see `discreet.policy.specs`); the fingerprint of a policy
is taken of it.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from discreet.files import canonical_json
from discreet.registry import Registry
from discreet.text.records import Record, Secret


class Policy(ABC):
    """Decides the secrets of a record. The papers' F, pi and pi_c are all this."""

    @abstractmethod
    def secrets(self, record: Record) -> tuple[Secret, ...]:
        """The secrets of `record.text`: sorted, inside the text, not empty, not overlapping."""

    @abstractmethod
    def spec(self) -> Any:
        """What makes this policy again: a name, or one key with its settings. JSON-like, no secrets in clear."""

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
        """Every record with its secrets, in order; a policy that is faster in batches overrides this."""
        for record in records:
            yield record, self.secrets(record)

    def fingerprint(self) -> str:
        return hashlib.sha256(canonical_json(self.spec()).encode()).hexdigest()

    def __or__(self, other: "Policy") -> "Policy":
        from discreet.policy.algebra import Union

        return Union(self, other)

    def __and__(self, other: "Policy") -> "Policy":
        from discreet.policy.algebra import Intersection

        return Intersection(self, other)

    def __sub__(self, other: "Policy") -> "Policy":
        from discreet.policy.algebra import Difference

        return Difference(self, other)


class TextPolicy(Policy):
    """A policy that needs only the text; its `find` may answer in any order and with overlaps."""

    @abstractmethod
    def find(self, text: str) -> Sequence[Secret]: ...

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        from discreet.policy.algebra import settle

        return settle(self.find(record.text))


POLICIES: Registry[Any] = Registry("policy", "discreet.policies", "discreet.policy")
"""Name -> function that takes the settings as keywords and returns a Policy."""

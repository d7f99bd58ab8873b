"""A policy that misses some secrets on purpose, for studies of what an imperfect detector costs.

    imperfect(discreet.policy("gold"), miss=0.1, seed=3)

Whether a secret is missed depends on its text alone (case, width and spacing of characters aside): the same name is
missed everywhere or nowhere, as with a real detector that does not know it. `miss` is the share of *distinct* secrets
missed, in expectation over seeds; the share of occurrences differs where some secrets are frequent. With one seed, all
that is missed at a smaller share is also missed at a larger one.
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from discreet.errors import SettingError
from discreet.policy.contract import POLICIES, Policy
from discreet.text.records import Record, Secret


def normalised(text: str) -> str:
    """One form for all spellings of a secret that differ in case, width or spacing."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class Imperfect(Policy):
    """Another policy without the secrets whose hash falls below the share to miss."""

    def __init__(self, policy: Policy, miss: float, seed: int) -> None:
        if not 0 <= miss <= 1:
            raise SettingError(f"The share of secrets to miss must be between 0 and 1, not {miss}.")
        self.policy, self.miss, self.seed = policy, float(miss), seed
        self._key = hashlib.blake2b(str(seed).encode(), digest_size=32).digest()

    def misses(self, text: str) -> bool:
        """Whether a secret with this text is overlooked."""
        digest = hashlib.blake2b(
            normalised(text).encode("utf-8", "surrogatepass"), key=self._key, digest_size=8
        ).digest()
        return int.from_bytes(digest, "big") < self.miss * 2**64

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        return self._kept(record, self.policy.secrets(record))

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
        for record, secrets in self.policy.secrets_of_all(records):
            yield record, self._kept(record, secrets)

    def _kept(self, record: Record, secrets: tuple[Secret, ...]) -> tuple[Secret, ...]:
        return tuple(secret for secret in secrets if not self.misses(record.text[secret.start : secret.end]))

    def spec(self) -> Any:
        return {"imperfect": {"policy": self.policy.spec(), "miss": self.miss, "seed": self.seed}}


@POLICIES.register("imperfect")
def imperfect(policy: Policy, miss: float, seed: int = 0) -> Policy:
    """The policy without a deterministic share `miss` of the distinct secrets it would find."""
    return Imperfect(policy, miss, seed)

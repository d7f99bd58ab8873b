r"""Secrets that stand near a word: a number is one near `ssn` and none elsewhere.

    near(discreet.policy("digits"), ["ssn", "social security"], within=30)

Words are found as by the policy `words`: whole, in any case, over any white space. `side` says where they may stand:
`before`, `after` or `either` side of the secret, with at most `within` characters between.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.errors import SettingError
from discreet.policy.contract import POLICIES, Policy
from discreet.policy.words import words as word_list
from discreet.text.records import Record, Secret

SIDES = ("before", "after", "either")


class Near(Policy):
    """Another policy's secrets that have a word of a list beside them."""

    def __init__(self, policy: Policy, words: Policy, within: int, side: str) -> None:
        if side not in SIDES:
            raise SettingError(f"The side '{side}' is not known; choose one of {', '.join(SIDES)}.")
        if within < 0:
            raise SettingError(f"'within' counts characters and is at least 0, not {within}.")
        self.policy, self.words, self.within, self.side = policy, words, within, side

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        return self._kept(record, self.policy.secrets(record))

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
        for record, secrets in self.policy.secrets_of_all(records):
            yield record, self._kept(record, secrets)

    def _kept(self, record: Record, secrets: Sequence[Secret]) -> tuple[Secret, ...]:
        if not secrets:
            return ()
        found = self.words.secrets(record)
        starts, ends = [word.start for word in found], [word.end for word in found]
        return tuple(secret for secret in secrets if self._beside(secret, starts, ends))

    def _beside(self, secret: Secret, starts: Sequence[int], ends: Sequence[int]) -> bool:
        if self.side != "after":
            at = bisect_right(ends, secret.start) - 1
            if at >= 0 and secret.start - ends[at] <= self.within:
                return True
        if self.side != "before":
            at = bisect_left(starts, secret.end)
            return at < len(starts) and starts[at] - secret.end <= self.within
        return False

    def spec(self) -> Any:
        listed = self.words.spec()["words"]
        settings = {"policy": self.policy.spec(), "words": listed["source"], "within": self.within, "side": self.side}
        return {"near": settings | ({"sha256": listed["sha256"]} if "sha256" in listed else {})}


@POLICIES.register("near")
def near(
    policy: Policy,
    words: str | Path | Sequence[str],
    within: int = 40,
    side: str = "before",
    sha256: str | None = None,
) -> Policy:
    """What a policy finds with one of these words (a list, or a file of them) near it."""
    return Near(policy, word_list(words, sha256=sha256), within, side)

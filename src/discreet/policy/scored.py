"""Policies that are more or less sure: candidates with scores, a threshold (or one for each kind), and two ways to
read them.

    balanced = discreet.policy("pii")
    careful = conservative(balanced)          # everything that might be a secret
    loose = above(balanced, 0.8, {"PERSON": 0.6})

`candidates(record)` are all spans with a score of at least the policy's floor, overlapping as they like;
`secrets(record)` are those that reach the threshold of their kind, merged. Confidentially Redacted Training (Zhao et
al. 2022) needs such a pair: pi redacts, and a record in which the conservative pi_c finds anything counts as private
(see `clears`).
"""

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from discreet.errors import SettingError
from discreet.policy.algebra import Combination, Difference
from discreet.policy.contract import POLICIES, Policy
from discreet.text.records import Record, Secret

CONSERVATIVE = 0.1
"""The threshold of a conservative policy: an untagged word is secret below 90 % certainty, as in CRT."""

S = TypeVar("S", bound="Scored")


class Scored(Policy):
    """A policy whose answer depends on a threshold."""

    threshold: float
    thresholds: Mapping[str, float] = {}
    """Thresholds of single kinds, where they differ."""

    @abstractmethod
    def candidates(self, record: Record) -> Sequence[Secret]:
        """Spans that may be secret, in any order and overlapping; none need be given that reach no threshold."""

    def candidates_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, Sequence[Secret]]]:
        for record in records:
            yield record, self.candidates(record)

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        return self._kept(record, self.candidates(record))

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
        for record, candidates in self.candidates_of_all(records):
            yield record, self._kept(record, candidates)

    def at(self: S, threshold: float, kinds: Mapping[str, float] | None = None) -> S:
        """The same policy with another threshold."""
        for value in (threshold, *(kinds or {}).values()):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise SettingError(f"A threshold lies between 0 and 1, not {value!r}.")
        other = copy.copy(self)
        other.threshold, other.thresholds = float(threshold), dict(kinds or {})
        return other

    @property
    def floor(self) -> float:
        """The lowest score that can still count."""
        return min(self.threshold, *self.thresholds.values()) if self.thresholds else self.threshold

    def _kept(self, record: Record, candidates: Sequence[Secret]) -> tuple[Secret, ...]:
        return self.reaching(candidates)

    def reaching(self, candidates: Sequence[Secret]) -> tuple[Secret, ...]:
        """The candidates that reach the threshold of their kind, merged."""
        threshold, kinds = self.threshold, self.thresholds
        if kinds:
            chosen = [secret for secret in candidates if secret.score >= kinds.get(secret.kind, threshold)]
        else:
            chosen = [secret for secret in candidates if secret[3] >= threshold]
        return merged(chosen)

    def threshold_spec(self) -> dict[str, Any]:
        """The thresholds, for a spec."""
        return {"threshold": self.threshold} | (
            {"kinds": dict(sorted(self.thresholds.items()))} if self.thresholds else {}
        )


def merged(spans: Iterable[Secret]) -> tuple[Secret, ...]:
    """Spans in any order, overlapping ones made one; unlike with `|`, the surest (then the longest) gives the kind."""
    settled: list[Secret] = []
    reach, best, length = -1, 0.0, 0
    for secret in sorted(spans):
        start, end, kind, score = secret
        if start >= reach:
            if start < end:
                settled.append(secret)
                reach, best, length = end, score, end - start
        elif score > best or (score == best and end - start > length):
            best, length, reach = score, end - start, max(end, reach)
            settled[-1] = Secret(settled[-1].start, reach, kind, score)
        elif end > reach:
            reach = end
            settled[-1] = settled[-1]._replace(end=end)
    return tuple(settled)


def rethought(policy: Policy, change: Callable[[Scored], Scored]) -> Policy:
    """A policy with `change` made to every scored one in it (of a difference, to the first only)."""
    if isinstance(policy, Scored):
        return change(policy)
    if isinstance(policy, Difference):
        first, *others = policy.members
        return Difference(rethought(first, change), *others)
    if isinstance(policy, Combination):
        return type(policy)(*(rethought(member, change) for member in policy.members))
    inner = getattr(policy, "policy", None)
    if isinstance(inner, Policy):
        other = copy.copy(policy)
        other.policy = rethought(inner, change)  # type: ignore[attr-defined]
        return other
    return policy


def has_scores(policy: Policy) -> bool:
    found: list[bool] = []

    def seen(scored: Scored) -> Scored:
        found.append(True)
        return scored

    rethought(policy, seen)
    return bool(found)


@POLICIES.register("above")
def above(policy: Policy, threshold: float = 0.5, kinds: dict[str, float] | None = None) -> Policy:
    """A scored policy with another threshold, and thresholds of single kinds."""
    _check_scores(policy)
    return rethought(policy, lambda scored: scored.at(threshold, kinds))


@POLICIES.register("conservative")
def conservative(policy: Policy, threshold: float = CONSERVATIVE) -> Policy:
    """A scored policy widened: all that may be a secret, as CRT's pi_c."""
    _check_scores(policy)
    return rethought(policy, lambda scored: scored.at(min(threshold, scored.floor)))


def clears(policy: Policy, record: Record) -> bool:
    """Whether a (conservative) policy finds nothing in a record; one it does not clear is private."""
    if record.pair is not None and policy.secrets(record.of_pair()):
        return False
    return not policy.secrets(record)


def _check_scores(policy: Policy) -> None:
    if not has_scores(policy):
        raise SettingError(
            "This policy is always sure, so it has no threshold; use a scored one such as 'pii' or 'token-classifier'."
        )

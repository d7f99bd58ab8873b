"""Policies combined: `a | b` is secret in either, `a & b` in both, `a - b` in the first but not in the second.

    >>> from discreet.policy.specs import policy
    >>> from discreet.text.records import Record
    >>> numbers_but_years = policy("digits") - policy("regex:(?:19|20)[0-9]{2}")
    >>> numbers_but_years.secrets(Record(id="1", text="Room 12, 1999"))
    (Secret(start=5, end=7, kind='NUMBER', score=1.0),)

The algebra is one of sets of characters; these rules say which spans, kinds and scores carry them:

- **Either** (`|`): spans that share a character merge into one that covers them all. Its kind and score are those of
  the longest; of equally long ones, of the policy named first, then of the earlier span. Spans that only touch stay
  apart.
- **Both** (`&`): each span of the first policy is cut down to its characters that are secret under all the others too.
- **Minus** (`-`): each span of the first policy is cut down to its characters that are secret under none of the others.

Pieces that `&` and `-` leave keep the kind and score of the first policy's span.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, tee
from typing import Any

from discreet.errors import SettingError
from discreet.policy.contract import POLICIES, Policy
from discreet.text.records import Record, Secret

Run = tuple[int, int]
"""Characters from start to end, whatever their kind."""


def settle(spans: Sequence[Secret]) -> tuple[Secret, ...]:
    """Spans in any order, sorted, empty ones dropped and overlapping ones merged by the rule of `|`."""
    after = 0
    for secret in spans:
        if secret[0] < after or secret[1] <= secret[0]:
            return _merge(spans)
        after = secret[1]
    return tuple(spans)


def _merge(spans: Sequence[Secret]) -> tuple[Secret, ...]:
    settled: list[Secret] = []
    longest = (0, 0)
    for rank, secret in sorted(enumerate(spans), key=lambda ranked: ranked[1].start):
        if secret.start >= secret.end:
            continue
        size = (secret.end - secret.start, -rank)
        if not settled or secret.start >= settled[-1].end:
            settled.append(secret)
            longest = size
            continue
        group = settled[-1]
        named = secret if size > longest else group
        longest = max(size, longest)
        settled[-1] = Secret(group.start, max(group.end, secret.end), named.kind, named.score)
    return tuple(settled)


def runs(secrets: Iterable[Secret]) -> list[Run]:
    """The characters that settled secrets cover, as the fewest runs: touching spans become one."""
    found: list[Run] = []
    for start, end, _, _ in secrets:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def inside(secrets: Sequence[Secret], others: Sequence[Run]) -> tuple[Secret, ...]:
    """The pieces of the secrets whose characters are in the runs."""
    pieces: list[Secret] = []
    first = 0
    for secret in secrets:
        while first < len(others) and others[first][1] <= secret.start:
            first += 1
        at = first
        while at < len(others) and others[at][0] < secret.end:
            start, end = others[at]
            pieces.append(secret._replace(start=max(start, secret.start), end=min(end, secret.end)))
            at += 1
    return tuple(pieces)


def outside(secrets: Sequence[Secret], others: Sequence[Run]) -> tuple[Secret, ...]:
    """The pieces of the secrets whose characters are in none of the runs."""
    if not secrets:
        return ()
    edges = [0, *chain.from_iterable(others), max(secrets[-1].end, others[-1][1] if others else 0)]
    gaps = [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]
    return inside(secrets, gaps)


class Combination(Policy):
    """A policy made of others: all of them see the same record, then their answers are combined."""

    name: str

    def __init__(self, *members: Policy) -> None:
        if len(members) < 2:
            raise SettingError(f"'{self.name}' combines two or more policies, not {len(members)}.")
        self.members = members

    @abstractmethod
    def combine(self, answers: Sequence[tuple[Secret, ...]]) -> tuple[Secret, ...]: ...

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        return self.combine([member.secrets(record) for member in self.members])

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
        # Each member walks its own copy of the stream, so that one that works in batches still can.
        streams = tee(records, len(self.members))
        walks = [member.secrets_of_all(stream) for member, stream in zip(self.members, streams, strict=True)]
        for answers in zip(*walks, strict=True):
            yield answers[0][0], self.combine([secrets for _, secrets in answers])

    def spec(self) -> Any:
        return {self.name: [member.spec() for member in self.members]}


def _flat(kind: type[Combination], members: Iterable[Policy]) -> Iterator[Policy]:
    """Members with nested combinations of the same sort opened, so that grouping cannot change a kind."""
    for member in members:
        if isinstance(member, kind):
            yield from member.members
        else:
            yield member


class Union(Combination):
    """Secret where any member says so."""

    name = "union"

    def __init__(self, *members: Policy) -> None:
        super().__init__(*_flat(Union, members))

    def combine(self, answers: Sequence[tuple[Secret, ...]]) -> tuple[Secret, ...]:
        return settle(list(chain.from_iterable(answers)))


class Intersection(Combination):
    """Secret where all members say so."""

    name = "both"

    def __init__(self, *members: Policy) -> None:
        super().__init__(*_flat(Intersection, members))

    def combine(self, answers: Sequence[tuple[Secret, ...]]) -> tuple[Secret, ...]:
        left, *others = answers
        for other in others:
            left = inside(left, runs(other))
        return left


class Difference(Combination):
    """Secret where the first member says so and no other does."""

    name = "minus"

    def combine(self, answers: Sequence[tuple[Secret, ...]]) -> tuple[Secret, ...]:
        left, *others = answers
        for other in others:
            left = outside(left, runs(other))
        return left


@POLICIES.register("union")
def union(*policies: Policy) -> Policy:
    """`a | b | …` as a name: `union: [digits, {words: names.txt}]`."""
    return Union(*policies)


@POLICIES.register("both")
def both(*policies: Policy) -> Policy:
    """`a & b & …` as a name."""
    return Intersection(*policies)


@POLICIES.register("minus")
def minus(*policies: Policy) -> Policy:
    """`a - b - …` as a name."""
    return Difference(*policies)

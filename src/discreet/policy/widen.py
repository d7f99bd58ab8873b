r"""Secrets widened to all that stands around them: the sentence, the line, the turn or the whole record.

    widen(discreet.policy("pii"), to="sentence")

Where one word of a sentence is secret the rest often tells as much. A sentence ends at `.`, `!` or `?` (with any
closing quotes) before white space, and at a line end; `Mr. Lee` is two sentences for it, and widening over too little
then leaves the other half public, so prefer `line` or `turn` where that matters. `turn` widens to the turn of a
dialog, and in a text without turns to the line. Two secrets in one sentence become one, with the kind and score of the
surer.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from discreet.errors import SettingError
from discreet.policy.algebra import Run
from discreet.policy.contract import POLICIES, Policy
from discreet.text.records import Record, Secret

TO = ("sentence", "line", "turn", "record")
SENTENCE = re.compile(r"[^\s](?:[^.!?\n]|[.!?](?![\"'”’)\]]*(?:\s|$)))*(?:[.!?]+[\"'”’)\]]*)?")
LINE = re.compile(r"[^\n]+")


def areas(record: Record, to: str) -> list[Run]:
    """The sentences, lines or turns of a record; sorted, not overlapping."""
    if to == "record":
        return [(0, len(record.text))] if record.text else []
    if to == "turn" and record.turns:
        return [(turn.start, turn.end) for turn in record.turns if turn.start < turn.end]
    return [match.span() for match in (SENTENCE if to == "sentence" else LINE).finditer(record.text)]


class Widen(Policy):
    """Another policy's secrets, each widened to the area it stands in."""

    def __init__(self, policy: Policy, to: str) -> None:
        if to not in TO:
            raise SettingError(f"A secret cannot be widened to a '{to}'; choose one of {', '.join(TO)}.")
        self.policy, self.to = policy, to

    def secrets(self, record: Record) -> tuple[Secret, ...]:
        return self._widened(record, self.policy.secrets(record))

    def secrets_of_all(self, records: Iterable[Record]) -> Iterator[tuple[Record, tuple[Secret, ...]]]:
        for record, secrets in self.policy.secrets_of_all(records):
            yield record, self._widened(record, secrets)

    def _widened(self, record: Record, secrets: Sequence[Secret]) -> tuple[Secret, ...]:
        if not secrets:
            return ()
        wide: list[Secret] = []
        around = areas(record, self.to)
        at = 0
        for secret in secrets:
            while at < len(around) and around[at][1] <= secret.start:
                at += 1
            start, end = secret.start, secret.end
            last = at
            while last < len(around) and around[last][0] < secret.end:
                start, end = min(start, around[last][0]), max(end, around[last][1])
                last += 1
            if wide and start < wide[-1].end:
                surer = max(wide[-1], secret, key=lambda one: one.score)
                wide[-1] = Secret(wide[-1].start, max(end, wide[-1].end), surer.kind, surer.score)
            else:
                wide.append(Secret(start, end, secret.kind, secret.score))
        return tuple(wide)

    def spec(self) -> Any:
        return {"widen": {"policy": self.policy.spec(), "to": self.to}}


@POLICIES.register("widen")
def widen(policy: Policy, to: str = "sentence") -> Policy:
    """What a policy finds, and all that stands around it."""
    return Widen(policy, to)

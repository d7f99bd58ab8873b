"""Records and the secrets in them: the values everything else is made of.

    >>> record = Record(id="1", text="Call Ann on 555-0101.")
    >>> edited = edit(record, [Edit(5, 8, "<MASK>")])
    >>> edited.text
    'Call <MASK> on 555-0101.'

A record is the unit of privacy. Its `secrets` are what the *file* marks as secret (gold); what a policy
finds is the policy's answer and is never stored on the record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from discreet.errors import InputError


class Secret(NamedTuple):
    """A character span of a record's text with a kind, and how sure the policy is."""

    start: int
    end: int
    kind: str
    score: float = 1.0


class Turn(NamedTuple):
    """Where one speaker's words stand in a dialog's text (the speaker's name is outside the span)."""

    speaker: str
    start: int
    end: int


class Edit(NamedTuple):
    """Replace the characters from start to end by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Record:
    """The unit of privacy: one sentence, mail or dialog."""

    id: str
    text: str
    author: str | None = None
    label: str | int | float | None = None
    pair: str | None = None
    """The second text of a sentence-pair task."""
    secrets: tuple[Secret, ...] | None = None
    """Secrets the file marks in `text`; None where the file does not say."""
    pair_secrets: tuple[Secret, ...] | None = None
    split: str | None = None
    turns: tuple[Turn, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Everything else the file holds, kept for the writer."""
    place: str = ""
    """Where it was read, for messages: `mail.jsonl, line 3`."""

    def of_pair(self) -> "Record":
        """The pair text as a record of its own, so that a policy can look at it."""
        return Record(id=self.id, text=self.pair or "", author=self.author, secrets=self.pair_secrets, place=self.place)


def check_secrets(secrets: Sequence[Secret], text: str, place: str) -> tuple[Secret, ...]:
    """Sorts spans and refuses those outside the text, empty or overlapping."""
    ordered = tuple(sorted(secrets))
    before = 0
    for secret in ordered:
        if not 0 <= secret.start < secret.end <= len(text):
            raise InputError(
                f"{place}: a {secret.kind} secret covers characters {secret.start} to {secret.end} "
                f"of a text of {len(text)}; offsets count characters from 0 and the end is exclusive."
            )
        if secret.start < before:
            raise InputError(f"{place}: two secrets overlap at character {secret.start}; merge them into one span.")
        before = secret.end
    return ordered


def edit(record: Record, edits: Sequence[Edit], secrets: tuple[Secret, ...] | None = None) -> Record:
    """The record with spans of its text replaced (edits sorted, not overlapping) and its turns moved along.

    Old gold secrets would point at the wrong characters, so they are dropped unless new ones are given.
    """
    if not edits:
        return replace(record, secrets=secrets)
    pieces: list[str] = []
    after = 0
    for start, end, text in edits:
        pieces += (record.text[after:start], text)
        after = end
    pieces.append(record.text[after:])
    turns = tuple(Turn(t.speaker, moved(t.start, edits), moved(t.end, edits)) for t in record.turns)
    return with_text(record, "".join(pieces), secrets, turns)


def with_text(record: Record, text: str, secrets: tuple[Secret, ...] | None, turns: tuple[Turn, ...] = ()) -> Record:
    """The record with another text; written out because `dataclasses.replace` takes four times as long."""
    return Record(
        record.id,
        text,
        record.author,
        record.label,
        record.pair,
        secrets,
        record.pair_secrets,
        record.split,
        turns,
        record.fields,
        record.place,
    )


def moved(position: int, edits: Sequence[Edit]) -> int:
    """Where a character position stands after the edits; a position inside an edit goes to its end."""
    shift = 0
    for start, end, text in edits:
        if position <= start:
            break
        if position < end:
            return start + shift + len(text)
        shift += len(text) - (end - start)
    return position + shift

"""Dialogs: the turns of a row as spans of one text, and back.

    >>> dialog = read_turns([{"speaker": "USR", "text": "Hi."}, {"speaker": "SYS", "text": "Hello Ann."}], None)
    >>> dialog.text
    'USR: Hi.\\nSYS: Hello Ann.\\n'

What is written comes from the record's text alone, since that is what was redacted: the words from the spans of the
turns, the speaker's name from before them where the text shows it there. Other keys of a turn (acts, slots) may repeat
a secret, so they are written only for a dialog whose text is as it was read.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from discreet.text.formats.contract import Bad
from discreet.text.records import Record, Turn

WORDS = ("text", "utterance")
"""The keys that may hold the words of a turn."""


class Shape(NamedTuple):
    """How a dialog stood in its row, without any of its words."""

    words: str
    shown: tuple[bool, ...]
    """For each turn, whether the text before it names the speaker."""
    others: tuple[dict[str, Any], ...] = ()
    """The turns with their other keys, words and speakers taken out; empty where there are no other keys."""
    print: bytes = b""
    """The fingerprint of the text that the other keys belong to."""


class Dialog(NamedTuple):
    """A dialog as one text."""

    text: str
    turns: tuple[Turn, ...]
    shape: Shape


def read_turns(value: Any, text: str | None) -> Dialog | Bad:
    """The dialog of a row: its own text with the turns located in it, or a text made of the turns."""
    if not isinstance(value, list) or not all(isinstance(turn, dict) for turn in value):
        return Bad(
            "bad turns", 'turns must be a list of {"speaker": …, "text": …}; correct it or name another turns field.'
        )
    key = next((key for key in WORDS if value and key in value[0]), WORDS[0])
    for number, turn in enumerate(value, 1):
        if not isinstance(turn.get("speaker"), str) or not isinstance(turn.get(key), str):
            return Bad("bad turns", f"turn {number} needs a 'speaker' and a '{key}' that are strings; correct it.")
    spoken = [(turn["speaker"], turn[key]) for turn in value]
    made = "".join(f"{speaker}: {words}\n" for speaker, words in spoken) if text is None else text
    turns = _located(spoken, made)
    if isinstance(turns, Bad):
        return turns
    shown = tuple(_names(gap, turn.speaker) for gap, turn in _gaps(made, turns))
    others: tuple[dict[str, Any], ...] = ()
    if any(len(turn) > 2 for turn in value):
        others = tuple({**turn, "speaker": None, key: None} for turn in value)
    return Dialog(made, turns, Shape(key, shown, others, _fingerprint(made) if others else b""))


def written_turns(record: Record, shape: Shape | None) -> list[dict[str, Any]]:
    """The turns of a row, all of them from the record's text as it is now."""
    key = shape.words if shape else WORDS[0]
    turns = []
    for number, (gap, turn) in enumerate(_gaps(record.text, record.turns)):
        speaker = turn.speaker
        expected = shape.shown[number] if shape and number < len(shape.shown) else bool(gap.strip())
        if expected and not _names(gap, speaker):
            speaker = gap.strip().removesuffix(":").rstrip()
        turns.append({"speaker": speaker, key: record.text[turn.start : turn.end]})
    if shape and len(shape.others) == len(turns) and shape.print == _fingerprint(record.text):
        return [other | turn for other, turn in zip(shape.others, turns, strict=True)]
    return turns


def _located(spoken: Sequence[tuple[str, str]], text: str) -> tuple[Turn, ...] | Bad:
    """Finds the words of each turn after those of the turn before."""
    turns, after = [], 0
    for number, (speaker, words) in enumerate(spoken, 1):
        start = text.find(f"{speaker}: {words}", after)  # first as we write them: short words may also be in a name
        start = text.find(words, after) if start < 0 else start + len(speaker) + 2
        if start < 0:
            return Bad(
                "bad turns",
                f"the words of turn {number} are not in the text where they should be; drop one of the two.",
            )
        after = start + len(words)
        turns.append(Turn(speaker, start, after))
    return tuple(turns)


def _gaps(text: str, turns: Sequence[Turn]) -> list[tuple[str, Turn]]:
    """Each turn with the text between it and the turn before."""
    ends = [0, *(turn.end for turn in turns)]
    return [(text[end : turn.start], turn) for end, turn in zip(ends, turns, strict=False)]


def _names(gap: str, speaker: str) -> bool:
    """Whether the text before a turn has the speaker's name as a word of its own (`A` is not in `<MASK>`)."""
    if gap.strip() == f"{speaker}:":
        return True
    return re.search(rf"(?<!\w){re.escape(speaker)}(?!\w)", gap) is not None


def _fingerprint(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

"""Dialogs as records: what was said, turn by turn, becomes one text whose turns and secrets know their place.

    said = [Said("USER", "I am Ann.", [Secret(5, 8, "NAME")])]
    text, turns, secrets = written(said)      # "USER: I am Ann.\\n", secret at 11 to 14

The whole dialog is one record, because one person's secrets are spread over its turns.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from discreet.text.records import Secret, Turn


class Said(NamedTuple):
    """One turn; the offsets of its secrets count from the beginning of its own text."""

    speaker: str
    text: str
    secrets: Sequence[Secret] = ()


def written(
    said: Iterable[Said], colon: str = ": ", end: str = "\n"
) -> tuple[str, tuple[Turn, ...], tuple[Secret, ...]]:
    """The dialog as text (`SPEAKER: words` and an end for each turn), with its turns and its secrets."""
    pieces: list[str] = []
    turns: list[Turn] = []
    secrets: list[Secret] = []
    length = 0
    for speaker, text, own in said:
        start = length + len(speaker) + len(colon)
        turns.append(Turn(speaker, start, start + len(text)))
        secrets += (Secret(start + secret.start, start + secret.end, secret.kind) for secret in united(own))
        pieces += (speaker, colon, text, end)
        length = start + len(text) + len(end)
    return "".join(pieces), tuple(turns), tuple(secrets)


def united(secrets: Iterable[Secret]) -> list[Secret]:
    """Spans that overlap, made one: it covers all their characters and has the kind of the one that starts first.

    Of two that start together the longer gives the kind, and of two equal ones the kind that comes first in the
    alphabet, so that the order in the file does not matter. Spans that only touch stay two.
    """
    result: list[Secret] = []
    for secret in sorted(secrets, key=lambda secret: (secret.start, -secret.end, secret.kind)):
        if result and secret.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(result[-1].end, secret.end))
        else:
            result.append(secret)
    return result

"""Secrets as they stand in a row: `[{"start": 5, "end": 8, "kind": "PERSON"}]`, or `[[5, 8, "PERSON"]]`.

Other keys of a secret are not kept: files often repeat the secret itself there, where redaction would not reach it.
"""

from collections.abc import Sequence
from typing import Any

from discreet.text.formats.contract import Bad
from discreet.text.records import Secret

_FORM = Bad("bad secrets", 'secrets must be a list of {"start": …, "end": …, "kind": …}; correct it.')


def read_secrets(value: Any) -> list[Secret] | Bad:
    """The secrets of a row, not yet compared with its text."""
    if not isinstance(value, list):
        return _FORM
    secrets = [_read(one) for one in value]
    return _FORM if None in secrets else [secret for secret in secrets if secret]


def written_secrets(secrets: Sequence[Secret]) -> list[dict[str, Any]]:
    """The secrets of a record as a row has them; a score of 1 goes without saying."""
    return [
        {"start": start, "end": end, "kind": kind}
        if score == 1.0
        else {"start": start, "end": end, "kind": kind, "score": score}
        for start, end, kind, score in secrets
    ]


def _read(value: Any) -> Secret | None:
    if isinstance(value, dict):
        parts = [value.get("start"), value.get("end"), value.get("kind"), value.get("score")]
    elif isinstance(value, list) and len(value) in (3, 4):
        parts = [*value, None][:4]
    else:
        return None
    return _checked(*parts)


def _checked(start: Any, end: Any, kind: Any, score: Any) -> Secret | None:
    if start.__class__ is not int or end.__class__ is not int or not isinstance(kind, str) or not kind:
        return None
    if score is not None and not isinstance(score, int | float):
        return None
    return Secret(start, end, kind, 1.0 if score is None else float(score))

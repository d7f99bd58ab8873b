r"""The lines of a text and their labels.

    >>> lines_of("BOT: Hi\nUSER: ann\nBOT: ok\nPhone: 555 0101", 0)[-1]
    (31, 39, '', frozenset({'PHONE'}))

A label that stands before two lines or more is a speaker, unless it names a kind of secret: then, and where it stands
only once, it announces what it names.
"""

import re
from collections import Counter

from discreet.policy.finders.asking import NOTHING, kinds_named

LABEL = re.compile(r"[ \t>*-]{0,4}([A-Za-z][A-Za-z .'-]{0,24}?) ?:[ \t]*")
FARTHEST_COLON = 32

Line = tuple[int, int, str, frozenset[str]]
"""Start and end of what stands after the label; the speaker, if the label is one, or what the label announces."""


def lines_of(text: str, at: int) -> list[Line]:
    """The lines of a text that begins at a place, each with its label, if it has one."""
    lines: list[Line] = []
    labels: list[re.Match[str] | None] = []
    for line in text.split("\n"):
        lines.append((at, at + len(line), "", NOTHING))
        labels.append(LABEL.match(line) if line.find(":", 1, FARTHEST_COLON) > 0 else None)
        at += len(line) + 1
    if not any(labels):
        return lines
    often = Counter(label[1] for label in labels if label)
    return [line if label is None else _labelled(line, label, often) for line, label in zip(lines, labels, strict=True)]


def _labelled(line: Line, label: re.Match[str], often: Counter[str]) -> Line:
    start, end, _, _ = line
    announced = kinds_named(label[1].lower())
    if announced or often[label[1]] == 1:
        return start + label.end(), end, "", announced
    return start + label.end(), end, label[1], NOTHING

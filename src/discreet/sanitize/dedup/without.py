"""A record without some of its parts: taken out, or each become the mask.

    >>> from discreet.text.records import Record
    >>> record = Record(id="1", text="Hi Ann. How are you? Bye.")
    >>> removed(record, [Part(8, 20)]).text
    'Hi Ann. Bye.'
    >>> masked(record, [Part(8, 20)], Redaction()).text
    'Hi Ann. <MASK> Bye.'

`removed` answers None where nothing is left. A turn without words goes with the name of its speaker. Marked secrets
stay marked as far as they stand in what is left; a mask is marked as a secret of kind `DUPLICATE`, so that the policy
`gold` and redaction by it know that the mask is ours.
"""

from collections.abc import Sequence
from dataclasses import replace

from discreet.sanitize.dedup.parts import Part
from discreet.sanitize.redact import Redaction, escapes
from discreet.text.records import Edit, Record, Secret, Turn, edit, moved, with_text

KIND = "DUPLICATE"


def masked(record: Record, gone: Sequence[Part], redaction: Redaction) -> Record:
    """The record with each of these parts (in order, not overlapping) replaced by the mask."""
    ours = [secret for secret in record.secrets or () if record.text[secret.start : secret.end] == redaction.mask]
    known = sorted([*ours, *(Secret(*part, KIND) for part in gone)])
    edits = [Edit(*part, redaction.mask) for part in gone]
    edits = sorted([*edits, *escapes(record, _outermost(known), redaction)])
    masks = [Secret(end - len(redaction.mask), end, KIND) for end in (moved(part.end, edits) for part in gone)]
    secrets = tuple(sorted([*_left(record.secrets or (), gone, edits), *masks]))
    return edit(record, edits, secrets=secrets)


def masked_whole(record: Record, redaction: Redaction) -> Record:
    """The record with the mask in place of its text, and of its pair text where it has one."""
    mark = (Secret(0, len(redaction.mask), KIND),)
    turns = (Turn(record.turns[0].speaker, 0, len(redaction.mask)),) if record.turns else ()
    changed = with_text(record, redaction.mask, mark, turns)
    return changed if record.pair is None else replace(changed, pair=redaction.mask, pair_secrets=mark)


def removed(record: Record, gone: Sequence[Part]) -> Record | None:
    """The record without these parts (in order, not overlapping); None where no words are left."""
    cuts = _cuts(record, gone)
    edits = [Edit(start, end, "") for start, end in cuts]
    secrets = None if record.secrets is None else _left(record.secrets, cuts, edits)
    changed = edit(record, edits, secrets=secrets)
    left = [turn for turn in changed.turns if changed.text[turn.start : turn.end].strip()]
    if (record.turns and not left) or not changed.text.strip():
        return None
    return with_text(changed, changed.text, changed.secrets, tuple(left)) if record.turns else changed


def _cuts(record: Record, gone: Sequence[Part]) -> list[Part]:
    """What is taken out, with the spaces and speakers' names that belong to it."""
    if not record.turns:
        return _with_spaces(record.text, gone, 0, len(record.text))
    cuts: list[Part] = []
    before, kept_before = 0, False
    for turn in record.turns:
        mine = _with_spaces(record.text, [p for p in gone if turn.start <= p.start < turn.end], turn.start, turn.end)
        if mine and not _outside(record.text, turn, mine):
            mine = [Part(before, turn.end)]
            if not kept_before and record.text[turn.end : turn.end + 1] == "\n":
                mine = [Part(before, turn.end + 1)]  # the line end that would begin the text
        else:
            kept_before = True
        cuts += mine
        before = mine[-1].end if mine and mine[-1].end > turn.end else turn.end
    return cuts


def _with_spaces(text: str, gone: Sequence[Part], first: int, last: int) -> list[Part]:
    """Each part with the spaces after it, or before it where it ends a line."""
    cuts: list[Part] = []
    for start, end in gone:
        stop = end
        while stop < last and text[stop] in " \t":
            stop += 1
        if cuts and cuts[-1].end == start:
            start = cuts.pop().start  # parts that follow each other go as one
        if stop == last or text[stop] == "\n":
            floor = cuts[-1].end if cuts else first
            while start > floor and text[start - 1] in " \t":
                start -= 1
            if start == floor and stop < last and (start == first or text[start - 1] == "\n"):
                stop += 1  # a whole line went: so does its end
        cuts.append(Part(start, stop))
    return cuts


def _outside(text: str, turn: Turn, cuts: Sequence[Part]) -> str:
    """What is left of a turn."""
    pieces, after = [], turn.start
    for start, end in cuts:
        pieces.append(text[after:start])
        after = end
    return "".join([*pieces, text[after : turn.end]]).strip()


def _left(secrets: Sequence[Secret], gone: Sequence[Part], edits: Sequence[Edit]) -> tuple[Secret, ...]:
    """What is left of secrets outside of the parts that are gone, where it stands now."""
    left: list[Secret] = []
    for secret in secrets:
        start = secret.start
        for part in gone:
            if part.end <= start or part.start >= secret.end:
                continue
            if start < part.start:
                left.append(secret._replace(start=moved(start, edits), end=moved(part.start, edits)))
            start = max(start, part.end)
        if start < secret.end:
            left.append(secret._replace(start=moved(start, edits), end=moved(secret.end, edits)))
    return tuple(left)


def _outermost(secrets: Sequence[Secret]) -> list[Secret]:
    """Spans without those inside the one before."""
    found: list[Secret] = []
    for secret in secrets:
        if not found or secret.end > found[-1].end:
            found.append(secret)
    return found

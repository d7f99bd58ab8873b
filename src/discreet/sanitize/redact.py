"""Redaction: secrets replaced by a mask before anything learns from the text.

    >>> from discreet.text.records import Record, Secret
    >>> ann = Record(id="1", text="Call Ann Lee on 555-0101.")
    >>> found = [Secret(5, 8, "PERSON"), Secret(9, 12, "PERSON"), Secret(16, 24, "PHONE")]
    >>> redact(ann, found).text
    'Call <MASK> on <MASK>.'
    >>> redact(ann, found, Redaction(style="kind")).text
    'Call <PERSON> on <PHONE>.'

    >>> redact(ann, found, Redaction(style="pseudonym", key="an example key")).text
    'Call <PERSON_XZZPR2WYHL> on <PHONE_S2YVSJFGWV>.'

    >>> redact(ann, found, Redaction(style="surrogate")).text
    'Call Elliot Calloway on 3265987783.'

What to know:

- **Runs merge.** Secrets that touch, or have only spaces between them, become one mask, so that the number of words of
  a name does not show. A line end between them keeps them apart. With style `kind`, only secrets of one kind merge.
- **A mask in the output is always ours.** Text that holds the mask already (with style `kind`: anything of the form
  `<CAPITALS>`) is refused, or escaped by a space after its first character: `<MASK>` becomes `< MASK>`.
- **A pseudonym** is the kind and 50 bits of a keyed hash (HMAC-SHA256) of the secret, case, width and spacing aside:
  the same secret has the same stand-in in every record and file, another key gives others, and without the key nobody
  can test a guess. Whoever has the key can; whoever has not still sees which records share a secret, so training on
  pseudonyms has no guarantee and recipes do not offer it.
- **A surrogate** is a made-up secret of the same kind, independent of the real one (`discreet.sanitize.surrogates`).
- The redacted record's `secrets` are the masks, so that redacting with the policy `gold` again changes nothing.
- Only the text and the pair text are redacted. Id, author, label, split and other fields stay as they are.
"""

import base64
import hmac
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from discreet.errors import RefusedError, SettingError
from discreet.policy.contract import Policy
from discreet.policy.imperfect import normalised
from discreet.policy.many import secrets_on_all_cores
from discreet.sanitize.surrogates import surrogates
from discreet.text.records import Edit, Record, Secret, check_secrets, edit, with_text

STYLES = ("mask", "kind", "remove", "pseudonym", "surrogate")
PSEUDONYM_LETTERS = 10
SHORTEST_KEY = 12
ON_LITERAL = ("refuse", "escape")
LINE_ENDS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
KIND_MARK = re.compile(r"<[A-Z][A-Z0-9_]*>")


@dataclass(frozen=True)
class Redaction:
    """How secrets are replaced."""

    style: str = "mask"
    """`mask`: by one mask token; `kind`: by `<KIND>`; `remove`: by nothing; `pseudonym`: by `<KIND_…>`, keyed;
    `surrogate`: by a made-up secret of its kind, or by the mask where none can be made up."""
    mask: str = "<MASK>"
    on_literal: str = "refuse"
    """A mask that the text already holds: `refuse` the record, or `escape` it."""
    across_spaces: bool = True
    """Whether secrets with only spaces between them become one mask."""
    key: str | None = field(default=None, repr=False)
    """What pseudonyms are made with; keep it as secret as the text."""

    def __post_init__(self) -> None:
        for name, value, known in (("style", self.style, STYLES), ("on_literal", self.on_literal, ON_LITERAL)):
            if value not in known:
                raise SettingError(f"The redaction's {name} '{value}' is not known; choose one of {', '.join(known)}.")
        if self.writes_masks:
            _check_mask(self.mask, self.on_literal)
        if self.style == "pseudonym" and len(self.key or "") < SHORTEST_KEY:
            raise SettingError("Pseudonyms need a key that nobody can guess; give one of 16 random characters.")

    @property
    def by_kind(self) -> bool:
        """Whether masks tell the kind, so that secrets of two kinds stay two."""
        return self.style in ("kind", "pseudonym", "surrogate")

    @property
    def writes_masks(self) -> bool:
        """Whether the mask itself may stand in the redacted text."""
        return self.style in ("mask", "surrogate")

    def marks(self, record: Record, merged: Sequence[Secret]) -> list[str]:
        """What stands in the text for each of a record's secrets."""
        if self.style == "surrogate":
            return surrogates(record.id, [secret.kind for secret in merged], self.mask)
        return [self.mark(kind, record.text[start:end]) for start, end, kind, _ in merged]

    def mark(self, kind: str, secret: str = "") -> str:
        """What stands in the text for a secret of this kind."""
        if self.style == "mask":
            return self.mask
        if self.style == "pseudonym":
            return f"{_kind_mark(kind)[:-1]}_{_pseudonym(self.key or '', kind, secret)}>"
        return _kind_mark(kind) if self.style == "kind" else ""


def _check_mask(mask: str, on_literal: str) -> None:
    """Masks for which "every mask in the output is ours" can be promised: no spaces, and no overlap with themselves."""
    if not mask or any(character.isspace() for character in mask):
        raise SettingError("The mask must have at least one character and no spaces, as in <MASK>.")
    if any(mask.startswith(mask[-size:]) for size in range(1, len(mask))):
        raise SettingError(f"The mask '{mask}' ends as it begins, so two could not be told from three; try <MASK>.")
    if len(mask) == 1 and on_literal == "escape":
        raise SettingError("A mask of one character cannot be escaped; use a longer one such as <MASK>.")


@lru_cache(maxsize=1024)
def _kind_mark(kind: str) -> str:
    name = re.sub(r"[^A-Z0-9]+", "_", kind.upper()).strip("_")
    return f"<{name}>" if name[:1].isalpha() else f"<KIND_{name}>" if name else "<SECRET>"


def read_key(path: Path) -> str:
    """The key in a file, without the line end that editors add."""
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except (FileNotFoundError, UnicodeDecodeError):
        raise SettingError(f"{path}: no key can be read here; give a text file with the key in one line.") from None


def _pseudonym(key: str, kind: str, secret: str) -> str:
    """50 bits of a keyed hash, in letters and digits."""
    message = f"{kind}\0{normalised(secret)}".encode("utf-8", "surrogatepass")
    digest = hmac.digest(key.encode("utf-8", "surrogatepass"), message, "sha256")
    return base64.b32encode(digest).decode()[:PSEUDONYM_LETTERS]


MASKED = Redaction()


def redact(
    record: Record,
    secrets: Sequence[Secret],
    redaction: Redaction = MASKED,
    pair_secrets: Sequence[Secret] | None = None,
) -> Record:
    """The record with its secrets replaced; one that has a pair text needs the secrets of that too."""
    if record.pair is None:
        return _redact_text(record, secrets, redaction)
    if pair_secrets is None:
        raise RefusedError(
            f"{_place(record)}: the record has a pair text; give its secrets too, or they would stay in."
        )
    text = _redact_text(record, secrets, redaction)
    pair = _redact_text(record.of_pair(), pair_secrets, redaction)
    return replace(text, pair=pair.text, pair_secrets=pair.secrets)


@dataclass
class Tally:
    """What a walk of `redact_all` has done so far; counts only."""

    records: int = 0
    redacted: int = 0
    """Records that had a secret."""
    secrets: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    kept: set[str] = field(default_factory=set)
    """Names of the fields that were passed on unredacted."""

    def add(self, record: Record, secrets: Sequence[Secret]) -> None:
        self.records += 1
        self.redacted += bool(secrets)
        self.secrets += len(secrets)
        self.kinds.update([secret.kind for secret in secrets])
        self.kept.update(record.fields)
        self.kept.update(name for name in ("author", "label") if getattr(record, name) is not None)

    def merge(self, other: "Tally") -> None:
        """Adds what another walk has done."""
        self.records += other.records
        self.redacted += other.redacted
        self.secrets += other.secrets
        self.kinds.update(other.kinds)
        self.kept |= other.kept


def redact_all(
    records: Iterable[Record],
    policy: Policy,
    redaction: Redaction = MASKED,
    tally: Tally | None = None,
    workers: int | None = 1,
) -> Iterator[Record]:
    """Every record, redacted as it streams by; secrets are looked for in so many processes (None: on all cores)."""
    for record, secrets in secrets_on_all_cores(policy, records, workers):
        of_pair = None if record.pair is None else policy.secrets(record.of_pair())
        if tally is not None:
            tally.add(record, (*secrets, *of_pair) if of_pair else secrets)
        yield redact(record, secrets, redaction, of_pair)


def redact_with(policy: Policy, redaction: Redaction = MASKED) -> Callable[[Record], Record]:
    """Redaction of one record at a time: `corpus.map(redact_with(policy))`."""

    def change(record: Record) -> Record:
        (changed,) = redact_all([record], policy, redaction)
        return changed

    return change


def _redact_text(record: Record, secrets: Sequence[Secret], redaction: Redaction) -> Record:
    merged = merge(check_secrets(secrets, record.text, _place(record)), record.text, redaction)
    escaped = escapes(record, merged, redaction)
    if not escaped and not record.turns:
        return _replaced(record, merged, redaction)
    marks = redaction.marks(record, merged)
    edits = sorted([Edit(s.start, s.end, mark) for s, mark in zip(merged, marks, strict=True)] + escaped)
    return edit(record, edits, secrets=_masks(merged, edits))


def _replaced(record: Record, merged: Sequence[Secret], redaction: Redaction) -> Record:
    """What `edit` would do for the common record without turns, finding the masks in the same pass: twice as fast."""
    text, after, at = record.text, 0, 0
    pieces: list[str] = []
    masks: list[Secret] = []
    for (start, end, kind, _), mark in zip(merged, redaction.marks(record, merged), strict=True):
        pieces.append(text[after:start])
        pieces.append(mark)
        at += start - after
        if mark:
            masks.append(Secret(at, at + len(mark), kind))
            at += len(mark)
        after = end
    pieces.append(text[after:])
    return with_text(record, "".join(pieces), tuple(masks))


def merge(secrets: Sequence[Secret], text: str, redaction: Redaction) -> list[Secret]:
    """Secrets that become one mask, as one span each; the longest gives the kind."""
    any_kind, spaces = not redaction.by_kind, redaction.across_spaces
    merged: list[Secret] = []
    last: Secret | None = None
    longest = 0
    for secret in secrets:
        start, end, kind, _ = secret
        if last is not None and (any_kind or kind == last[2]):
            gap = text[last[1] : start]
            if not gap or (spaces and gap.isspace() and LINE_ENDS.isdisjoint(gap)):
                last = merged[-1] = Secret(last[0], end, kind if end - start > longest else last[2])
                longest = max(longest, end - start)
                continue
        merged.append(secret)
        last, longest = secret, end - start
    return merged


def escapes(record: Record, merged: Sequence[Secret], redaction: Redaction) -> list[Edit]:
    """The edits that escape masks in the public text.

    A mask has no part that is both its beginning and its end, so one that overlaps a secret is broken by the edit
    there, and none can arise where a mask of ours meets public text: looking at the public text alone is enough.
    """
    if redaction.style == "remove" or (redaction.mask if redaction.writes_masks else "<") not in record.text:
        return []
    pattern = re.compile(re.escape(redaction.mask)) if redaction.writes_masks else KIND_MARK
    found: list[Edit] = []
    after = 0
    for secret in (*merged, Secret(len(record.text), len(record.text), "")):
        for match in pattern.finditer(record.text, after, secret.start):
            if redaction.on_literal == "refuse":
                raise RefusedError(
                    f"{_place(record)}, character {match.start()}: the text already holds what would read as a mask; "
                    "choose another mask, or set on-literal to 'escape'."
                )
            found.append(Edit(match.start() + 1, match.start() + 1, " "))
        after = secret.end
    return found


def _masks(merged: Sequence[Secret], edits: Sequence[Edit]) -> tuple[Secret, ...]:
    """Where the masks stand in the new text."""
    masks: list[Secret] = []
    kinds = iter(merged)
    shift = 0
    for start, end, text in edits:
        if end > start:
            kind = next(kinds).kind
            if text:
                masks.append(Secret(start + shift, start + shift + len(text), kind))
        shift += len(text) - (end - start)
    return tuple(masks)


def _place(record: Record) -> str:
    return record.place or f"record {record.id}"

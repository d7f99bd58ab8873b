"""Deduplication of a stream of records: the first copy of a sentence, turn or record stays, later ones do not.

    >>> from discreet.text.records import Record
    >>> mails = [Record(id="1", text="Hi Ann. My code is 4711."), Record(id="2", text="Bye. My code is 4711.")]
    >>> [record.text for record in dedup_all(mails)]
    ['Hi Ann. My code is 4711.', 'Bye.']
    >>> [record.text for record in dedup_all(mails, Dedup(copies="mask"))]
    ['Hi Ann. My code is 4711.', 'Bye. <MASK>']

The second is CRT's form (Zhao et al. 2022, section 4): a later copy is no longer there, but its place is, so that two
corpora that differ in one secret stay aligned. Sentences that contain the secret in *different* words each stay: what a
guarantee for a secret that occurs often needs is the number of surviving parts that hold it, which `Tally.secrets`
counts (ACCOUNTING.md, section 4, Prop. 7).

Sharp edges. Which copy comes first depends on the order of the records, so it shows. Short sentences ("Yes.") are
copies like all others; `min_words` leaves them alone, and with it the guarantee for what they hold. Records of other
splits pass as they are.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from discreet.errors import RefusedError, SettingError
from discreet.policy.contract import Policy
from discreet.registry import nearest
from discreet.sanitize.dedup.parts import Part, check_level, normalised, parts
from discreet.sanitize.dedup.seen import BloomTexts, Seen, SeenTexts
from discreet.sanitize.dedup.surviving import SecretCounts
from discreet.sanitize.dedup.without import masked, masked_whole, removed
from discreet.sanitize.redact import Redaction
from discreet.text.corpus import split_of
from discreet.text.records import Record

METHODS = ("exact", "bloom", "near")
COPIES = ("remove", "mask")
CHUNK_PARTS = 1 << 14
CHUNK_CHARACTERS = 1 << 22


@dataclass(frozen=True)
class Dedup:
    """What counts as a copy, and what becomes of it."""

    level: str = "sentence"
    """What is compared: `sentence`, `turn` or `record`."""
    method: str = "exact"
    """`exact` (but for case and spacing), `bloom` (the same in bounded memory), or `near` (similar texts too)."""
    copies: str = "remove"
    """Later copies are taken out (`remove`) or become the `mask`, as CRT has it."""
    mask: str = "<MASK>"
    on_literal: str = "refuse"
    """A mask that the text already holds, with copies='mask': `refuse` the record, or `escape` it."""
    min_words: int = 1
    """Parts with fewer words are left alone."""
    split: str | None = "train"
    """Only records of this split; None for all."""
    expected: int = 10_000_000
    """bloom: for how many different parts the filter is made."""
    error: float = 1e-6
    """bloom: how often a part that was never seen may be taken for a copy."""
    threshold: float = 0.8
    """near: from which Jaccard similarity on two parts are copies."""
    shingle: str = "words:3"
    """near: what is compared of a part: all runs of so many `words`, or of so many `characters`."""
    permutations: int = 128
    """near: hashes a part; the similarity is estimated with a standard error of at most 1/(2 sqrt(permutations))."""

    def __post_init__(self) -> None:
        check_level(self.level)
        for name, value, known in (("method", self.method, METHODS), ("copies", self.copies, COPIES)):
            if value not in known:
                raise SettingError(f"The {name} '{value}' is not known; {nearest(value, known)}")
        if self.min_words < 1:
            raise SettingError("min_words is at least 1.")
        self.redaction()

    def redaction(self) -> Redaction:
        return Redaction(mask=self.mask, on_literal=self.on_literal)

    def seen(self) -> Seen:
        """A fresh memory for the parts of a corpus."""
        if self.method == "exact":
            return SeenTexts()
        if self.method == "bloom":
            return BloomTexts(self.expected, self.error)
        from discreet.sanitize.dedup.near import NearTexts

        return NearTexts(self.threshold, self.shingle, self.permutations)


EXACT = Dedup()


@dataclass
class Tally:
    """What a walk of `dedup_all` has done so far; counts only."""

    records: int = 0
    parts: int = 0
    copies: int = 0
    """Parts that were later copies."""
    changed: int = 0
    """Records that lost a part and are still there."""
    dropped: int = 0
    """Records of which nothing was left."""
    secrets: SecretCounts = field(default_factory=SecretCounts)
    overfull: bool = False
    """Whether a Bloom filter took in more than it was made for."""

    def merge(self, other: "Tally") -> None:
        """Adds what another walk has done."""
        for name in ("records", "parts", "copies", "changed", "dropped"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.secrets.merge(other.secrets)


class Compared(NamedTuple):
    """A record with the parts of it that are compared, as spans and as normalised texts."""

    record: Record
    parts: list[Part]
    texts: list[str]


def dedup_all(
    records: Iterable[Record],
    settings: Dedup = EXACT,
    tally: Tally | None = None,
    policy: Policy | None = None,
) -> Iterator[Record]:
    """Every record without its later copies, as it streams by; with a policy, `tally.secrets` counts what is left."""
    seen = settings.seen()
    tally = Tally() if tally is None else tally
    for chunk in chunks(records, settings):
        later = seen.later([text for compared in chunk for text in compared.texts]).tolist()
        flags = iter(later)
        for compared in chunk:
            gone = [part for part, is_later in zip(compared.parts, flags, strict=False) if is_later]
            kept = without(compared, gone, settings, tally, policy)
            if kept is not None:
                yield kept
    tally.overfull = isinstance(seen, BloomTexts) and seen.overfull


def without(
    compared: Compared, gone: list[Part], settings: Dedup, tally: Tally, policy: Policy | None
) -> Record | None:
    """The record without the copies in it, counted."""
    record = compared.record
    tally.records += 1
    tally.parts += len(compared.parts)
    tally.copies += len(gone)
    if policy is not None:
        tally.secrets.add(record.text, policy.secrets(record), compared.parts, gone)
    if settings.copies == "mask":
        changed: Record | None = _masked(compared, gone, settings)
    else:
        changed = removed(record, gone) if gone and settings.level != "record" else None if gone else record
    if gone:
        tally.changed += changed is not None
        tally.dropped += changed is None
    return changed


def _masked(compared: Compared, gone: Sequence[Part], settings: Dedup) -> Record:
    record = compared.record
    if not compared.parts and settings.split is not None and split_of(record) != settings.split:
        return record
    if gone and settings.level == "record":
        return masked_whole(record, settings.redaction())
    return masked(record, gone, settings.redaction())


def chunks(records: Iterable[Record], settings: Dedup) -> Iterator[list[Compared]]:
    """Records with their parts, some thousand parts at a time: enough for arrays to pay, few enough for the memory."""
    chunk: list[Compared] = []
    size = characters = 0
    for record in records:
        compared = compare(record, settings)
        chunk.append(compared)
        size += len(compared.parts) + 1
        characters += len(record.text)
        if size >= CHUNK_PARTS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, size, characters = [], 0, 0
    if chunk:
        yield chunk


def compare(record: Record, settings: Dedup) -> Compared:
    """The parts of a record that take part; none of a record of another split."""
    if settings.split is not None and split_of(record) != settings.split:
        return Compared(record, [], [])
    if record.pair is not None:
        if settings.level != "record":
            raise RefusedError(
                f"{record.place or f'record {record.id}'}: the record has a pair text, and taking sentences out of "
                "one of the two would part them; deduplicate whole records (level 'record')."
            )
        return Compared(record, [Part(0, len(record.text))], [f"{normalised(record.text)}\0{normalised(record.pair)}"])
    found = parts(record, settings.level)
    texts = [normalised(record.text[part.start : part.end]) for part in found]
    if settings.min_words > 1:
        long = [number for number, text in enumerate(texts) if text.count(" ") + 1 >= settings.min_words]
        found, texts = [found[number] for number in long], [texts[number] for number in long]
    return Compared(record, found, texts)

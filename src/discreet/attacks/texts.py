"""The texts that membership is asked of: whole records, or single secrets in their records.

    texts = records_of(encoder, policy, records)
    texts = secrets_of(encoder, policy, records)

Members and others must come from the same source, or an attack tells the sources apart and not what was trained on.
`drawn_apart` takes both from the splits of one corpus, and only what occurs in it once.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.errors import InputError
from discreet.policy.contract import Policy
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoded, Encoder

Marked = tuple[Record, tuple[Secret, ...]]


class Item(NamedTuple):
    """Some tokens of a record, and the text they stand for."""

    tokens: slice
    """In the flat arrays of the encoded records."""
    text: str
    kind: str
    record: int


class Pick(NamedTuple):
    """A record, or one of its secrets by number."""

    record: int
    secret: int | None = None


@dataclass(frozen=True, eq=False)
class Texts:
    """Records with the parts of them that are asked about."""

    encoder: Encoder
    marked: tuple[Marked, ...]
    picks: tuple[Pick, ...]

    def __len__(self) -> int:
        return len(self.picks)

    @cached_property
    def encoded(self) -> Encoded:
        return self.encoder.encode_all(self.marked)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        return tuple(map(self._item, self.picks))

    def _item(self, pick: Pick) -> Item:
        record, secrets = self.marked[pick.record]
        begin = int(self.encoded.starts[pick.record])
        if pick.secret is None:
            return Item(slice(begin + 1, int(self.encoded.starts[pick.record + 1])), record.text, "", pick.record)
        bits = np.concatenate(([0], self.encoded[pick.record].secret.astype(np.int8), [0]))
        start, end = np.flatnonzero(np.diff(bits))[2 * pick.secret :][:2]
        secret = secrets[pick.secret]
        text = record.text[secret.start : secret.end]
        return Item(slice(begin + int(start), begin + int(end)), text, secret.kind, pick.record)

    def lowercase(self) -> "Texts":
        """The same texts in lower case, each as long as it was."""
        lower = tuple((replace(record, text=_lower(record.text)), secrets) for record, secrets in self.marked)
        return Texts(self.encoder, lower, self.picks)


def records_of(encoder: Encoder, policy: Policy, records: Iterable[Record]) -> Texts:
    """Whole records, tokenized as the policy's spans cut them."""
    marked = tuple(policy.secrets_of_all(records))
    return Texts(encoder, marked, tuple(Pick(number) for number in range(len(marked))))


def secrets_of(
    encoder: Encoder,
    policy: Policy,
    records: Iterable[Record],
    *,
    only: Collection[bytes] | None = None,
    most: int = 10**9,
) -> Texts:
    """The secrets the policy finds, each distinct text once; with `only`, those whose `digest` is among them."""
    marked = tuple((record, _joined(found)) for record, found in policy.secrets_of_all(records))
    picks: list[Pick] = []
    seen: set[bytes] = set()
    for number, (record, found) in enumerate(marked):
        for order, secret in enumerate(found):
            name = digest(record.text[secret.start : secret.end])
            if name not in seen and (only is None or name in only) and len(picks) < most:
                seen.add(name)
                picks.append(Pick(number, order))
    return Texts(encoder, marked, tuple(picks))


class Apart(NamedTuple):
    """Records trained on and records not, as many of each."""

    members: list[Record]
    others: list[Record]
    rare_secrets: frozenset[bytes]
    """Digests of the secrets that stand in exactly one record of both splits together."""


def drawn_apart(corpus: Corpus, policy: Policy, most: int, *, seed: int = 0, without: Collection[str] = ()) -> Apart:
    """Members from the train split and others from the test split (else valid), drawn at random.

    Only texts that occur once in both splits together are drawn: a common text is likelier to be in the larger split,
    and an attack that knows common texts would seem to know members. Records whose id is given (canaries) are left out.
    """
    held_out = next((split for split in ("test", "valid") if split in corpus), None)
    if held_out is None or "train" not in corpus:
        raise InputError(f"The corpus '{corpus.name}' has no records that were not trained on (a test or valid split).")
    texts, secrets = Counter[bytes](), Counter[bytes]()
    for split in ("train", held_out):
        for record, found in policy.secrets_of_all(corpus.records(split)):
            texts[digest(record.text)] += 1
            secrets.update({digest(record.text[secret.start : secret.end]) for secret in _joined(found)})

    def rare(split: str) -> Iterator[Record]:
        return (r for r in corpus.records(split) if r.id not in without and texts[digest(r.text)] == 1)

    members, others = some_of(rare("train"), most, seed), some_of(rare(held_out), most, seed + 1)
    size = min(len(members), len(others))
    if not size:
        raise InputError(f"The {held_out} split of '{corpus.name}' has no record that is not in its train split.")
    return Apart(members[:size], others[:size], frozenset(name for name, count in secrets.items() if count == 1))


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def some_of(records: Iterable[Record], most: int, seed: int) -> list[Record]:
    """So many records of a stream, each as likely as any other."""
    draw, kept = random.Random(seed), list[Record]()
    for number, record in enumerate(records):
        if len(kept) < most:
            kept.append(record)
        elif (place := draw.randrange(number + 1)) < most:
            kept[place] = record
    draw.shuffle(kept)
    return kept


def _joined(secrets: Sequence[Secret]) -> tuple[Secret, ...]:
    """Secrets that touch as one: between them there is no token to tell them apart by."""
    found: list[Secret] = []
    for secret in secrets:
        if found and found[-1].end == secret.start:
            found[-1] = found[-1]._replace(end=secret.end)
        else:
            found.append(secret)
    return tuple(found)


def _lower(text: str) -> str:
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)

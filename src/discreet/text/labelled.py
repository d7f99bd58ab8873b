"""Records with labels become token ids for a classifier: one sentence, or two in the frame its tokenizer gives them.

    encoder = LabelledEncoder(Encoder(tokenizer), labels=["0", "1"], most=128)
    train = encoder.encode_all(policy.secrets_of_all(corpus.records("train")))
    batch = padded(train, [3, 5, 8])                    # input_ids, attention_mask, token_type_ids, labels

What is too long is cut at the end, the longer of two sentences first. At a mask stands the mask token.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, SettingError
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoder

NO_LABEL = -100


class Frame(NamedTuple):
    """The special tokens around one or two sentences, each part with its type."""

    before: list[int]
    between: list[int]
    after: list[int]
    second_type: int
    typed: bool
    """Whether the model is told which sentence a token belongs to."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """A split for a classifier, in flat arrays."""

    ids: NDArray[np.int32]
    types: NDArray[np.int8]
    starts: NDArray[np.int64]
    labels: NDArray[np.int64]
    """Index into `label_names`; -100 where a record has none."""
    label_names: tuple[str, ...]
    record_ids: tuple[str, ...]
    pad: int
    typed: bool

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def without_secret_targets(self) -> "Labelled":
        """The same: a classifier predicts labels, never text."""
        return self


def label_names(records: Iterable[Record]) -> list[str]:
    """The labels that occur, numbers in the order of numbers, else in that of the alphabet."""
    found = {str(record.label) for record in records if record.label is not None}
    if len(found) < 2:
        raise InputError("A classifier needs records with at least two different labels; name the label field.")
    try:
        return sorted(found, key=float)
    except ValueError:
        return sorted(found)


class LabelledEncoder:
    """Turns labelled records into ids for a classifier that reads at most `most` tokens."""

    def __init__(self, encoder: Encoder, labels: Sequence[str], most: int | None = None) -> None:
        self.encoder, self.labels = encoder, tuple(labels)
        self.one, self.two = frame(encoder.tokenizer, pair=False), frame(encoder.tokenizer, pair=True)
        self.most = most or 512
        if self.most < len(self.two.before + self.two.between + self.two.after) + 2:
            raise SettingError(f"A classifier that reads {self.most} tokens has no room for two sentences.")

    def encode_all(
        self,
        pairs: Iterable[tuple[Record, Sequence[Secret]]],
        masks: Callable[[Record], Sequence[Secret]] | None = None,
    ) -> Labelled:
        """Examples of records; `masks` says where a redacted record has its masks."""
        rows = list(pairs)
        first = self.encoder.encode_all(rows, masks)
        seconds = [record.of_pair() for record, _ in rows if record.pair is not None]
        second = iter(self.encoder.encode_all(((record, ()) for record in seconds), masks))
        ids: list[NDArray[np.int32]] = []
        types: list[NDArray[np.int8]] = []
        for (record, _), tokens in zip(rows, first, strict=True):
            text = tokens.ids[1:-1]
            framed = self._one(text) if record.pair is None else self._two(text, next(second).ids[1:-1])
            ids.append(framed[0])
            types.append(framed[1])
        numbers = {name: number for number, name in enumerate(self.labels)}
        return Labelled(
            ids=np.concatenate([np.empty(0, np.int32), *ids]),
            types=np.concatenate([np.empty(0, np.int8), *types]),
            starts=np.concatenate([[0], np.cumsum([len(row) for row in ids])]).astype(np.int64),
            labels=np.array([_number(record, numbers) for record, _ in rows], np.int64),
            label_names=self.labels,
            record_ids=tuple(record.id for record, _ in rows),
            pad=self.encoder.special.pad,
            typed=self.two.typed,
        )

    def _one(self, text: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        before, _, after, _, _ = self.one
        kept = text[: self.most - len(before) - len(after)]
        ids = np.concatenate([before, kept, after]).astype(np.int32)
        return ids, np.zeros(len(ids), np.int8)

    def _two(self, a: NDArray[np.int32], b: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        before, between, after, second_type, _ = self.two
        room = self.most - len(before) - len(between) - len(after)
        short = room // 2
        a, b = a[: max(short, room - len(b))], b[: max(room - short, room - len(a))]
        ids = np.concatenate([before, a, between, b, after]).astype(np.int32)
        types = np.zeros(len(ids), np.int8)
        types[len(before) + len(a) + len(between) :] = second_type
        return ids, types


def frame(tokenizer: Any, *, pair: bool) -> Frame:
    """What a tokenizer puts around sentences, seen on an example: the tokens that stand for no text."""
    if pair:
        made, bare = tokenizer("a", "b"), [tokenizer(word, add_special_tokens=False).input_ids for word in "ab"]
    else:
        made, bare = tokenizer("a"), [tokenizer("a", add_special_tokens=False).input_ids, []]
    ids = list(made.input_ids)
    start = _find(ids, bare[0], 0)
    middle = start + len(bare[0])
    other = _find(ids, bare[1], middle) if pair else middle
    end = other + len(bare[1])
    typed = made.get("token_type_ids")
    second_type = int(typed[other]) if pair and typed else 0
    between = ids[middle:other] if pair else []
    return Frame(ids[:start], between, ids[end:], second_type, typed is not None)


def _find(ids: list[int], part: list[int], start: int) -> int:
    for at in range(start, len(ids) - len(part) + 1):
        if ids[at : at + len(part)] == part:
            return at
    raise SettingError("The tokenizer writes a sentence differently inside its frame, so records cannot be framed.")


def _number(record: Record, numbers: dict[str, int]) -> int:
    if record.label is None:
        return NO_LABEL
    if str(record.label) not in numbers:
        raise InputError(
            f"{record.place or f'record {record.id}'}: the label does not occur in the training data, which has "
            f"{len(numbers)} labels."
        )
    return numbers[str(record.label)]


def padded(examples: Labelled, rows: Sequence[int] | NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Examples as padded arrays, padding on the right."""
    rows = np.asarray(rows, np.int64)
    lengths = examples.lengths[rows]
    steps = np.arange(int(lengths.max(initial=1)))
    real = steps < lengths[:, None]
    at = np.where(real, examples.starts[rows][:, None] + steps, 0)
    batch = {
        "input_ids": np.where(real, examples.ids[at], examples.pad).astype(np.int64),
        "attention_mask": real.astype(np.int64),
        "labels": examples.labels[rows],
    }
    if examples.typed:
        batch["token_type_ids"] = np.where(real, examples.types[at], 0).astype(np.int64)
    return batch

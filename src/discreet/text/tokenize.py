"""Records become token ids, and every token knows whether it is secret.

    encoder = Encoder(load_tokenizer("gpt2"))
    tokens = encoder.encode(record, policy.secrets(record))
    tokens.ids, tokens.secret                                   # one bit for each token
    tokens.target_is_secret                                     # one bit for each loss position
    train = encoder.encode_all(policy.secrets_of_all(corpus.records("train")))      # a split in flat arrays
    plain = encoder.encode_all(((r, ()) for r in redacted), masks=masks_of)          # redacted text

A record becomes: begin token, its text, end token. At loss position i the model has read tokens 0..i and is asked for
token i + 1. The text is cut at the edges of secrets and the pieces are tokenized separately (`discreet.text.pieces`),
so that a token is secret or public as a whole; a token that held both would put a secret into a public update. At a
mask stands one mask id, and it is no target: a model should not learn to say it.

Sharp edge: two texts that differ only *inside* a secret have the same public ids, but the number of secret tokens may
differ with the secret.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, SettingError
from discreet.text.pieces import Piece, PieceTokenizer, cut
from discreet.text.records import Record, Secret, check_secrets

CHUNK_RECORDS, CHUNK_CHARACTERS = 1_000, 1_000_000
SENTENCE_END = re.compile(r"\n[ \t]*$|[.!?…]['\")\]”’]*$")

Bits = NDArray[np.bool_]
Marked = tuple[Record, Sequence[Secret], Sequence[Secret]]
"""A record, its secrets and its masks."""


class SpecialIds(NamedTuple):
    """The ids that stand for no text. `mask` is None where the tokenizer has none."""

    begin: int
    end: int
    pad: int
    mask: int | None


@dataclass(frozen=True, eq=False, slots=True)
class Tokens:
    """One record: begin token, text, end token."""

    ids: NDArray[np.int32]
    secret: Bits
    ignored: Bits
    """Masks: part of what the model reads, never a target."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def target_is_secret(self) -> Bits:
        """For each loss position, whether the token it must predict is secret."""
        return self.secret[1:]

    @property
    def target_counts(self) -> Bits:
        """For each loss position, whether its loss counts."""
        return ~self.ignored[1:]


@dataclass(frozen=True, eq=False)
class Encoded:
    """A whole split in flat arrays, six bytes a token: `encoded[3]` is the record with index 3."""

    ids: NDArray[np.int32]
    secret: Bits
    ignored: Bits
    starts: NDArray[np.int64]
    """Where each record begins in the three arrays above, and where the last one ends."""
    record_ids: tuple[str, ...]
    authors: NDArray[np.int32]
    """Index of each record's author in `author_names`; -1 where the file does not say."""
    author_names: tuple[str, ...]
    public_characters: NDArray[np.int64]
    """Characters of each record outside secrets and masks; with the next, what bits per character divides by."""
    secret_characters: NDArray[np.int64]
    special: SpecialIds
    sentence_ends: Bits
    """For each id of the vocabulary, whether its text ends a sentence, a line or a turn: a good place to cut after."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> Tokens:
        if not -len(self) <= index < len(self):
            raise IndexError(f"record {index} of {len(self)}")
        index %= len(self)
        part = slice(self.starts[index], self.starts[index + 1])
        return Tokens(self.ids[part], self.secret[part], self.ignored[part])

    def __iter__(self) -> Iterator[Tokens]:
        return (self[index] for index in range(len(self)))

    def with_secrets(self) -> "Encoded":
        """The records that have a secret token."""
        counts = np.add.reduceat(self.secret, self.starts[:-1]) if len(self) else np.zeros(0, np.int64)
        return self.chosen(np.flatnonzero(counts))

    def without_secret_targets(self) -> "Encoded":
        """The same tokens, of which those that were secret are read but never predicted."""
        return replace(self, ignored=self.ignored | self.secret, secret=np.zeros_like(self.secret))

    def chosen(self, records: NDArray[np.int64]) -> "Encoded":
        """Some of the records, in the order given."""
        parts = [np.arange(self.starts[record], self.starts[record + 1]) for record in records]
        at = np.concatenate([np.empty(0, np.int64), *parts])
        return replace(
            self,
            ids=self.ids[at],
            secret=self.secret[at],
            ignored=self.ignored[at],
            starts=np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64),
            record_ids=tuple(self.record_ids[record] for record in records),
            authors=self.authors[records],
            public_characters=self.public_characters[records],
            secret_characters=self.secret_characters[records],
        )

    @property
    def secret_share(self) -> float:
        """Share of the text's tokens that are secret (begin and end tokens are not text)."""
        text = len(self.ids) - 2 * len(self)
        return float(self.secret.sum() / text) if text else 0.0


class Encoder:
    """Turns records into ids with any fast Hugging Face tokenizer, which it copies and leaves as it is."""

    def __init__(self, tokenizer: Any) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise SettingError(
                f"{type(tokenizer).__name__} is not a fast tokenizer, and only those can be kept from reading special "
                "tokens into a text; use one that has a tokenizer.json."
            )
        self.tokenizer = tokenizer
        self.special = special_ids(tokenizer)
        self.vocabulary_size = len(tokenizer)
        added = (number for number, token in tokenizer.added_tokens_decoder.items() if token.special)
        self._pieces = PieceTokenizer(tokenizer.backend_tokenizer, [*tokenizer.all_special_ids, *added])

    def encode(self, record: Record, secrets: Sequence[Secret], masks: Sequence[Secret] = ()) -> Tokens:
        """The tokens of one record; `masks` are the spans that redaction put into its text."""
        return self._chunk([(record, secrets, masks)]).tokens

    def encode_all(
        self,
        pairs: Iterable[tuple[Record, Sequence[Secret]]],
        masks: Callable[[Record], Sequence[Secret]] | None = None,
    ) -> Encoded:
        """A stream of records with their secrets; `masks` says where a redacted record has its masks."""
        marked = ((record, secrets, masks(record) if masks else ()) for record, secrets in pairs)
        chunks, names, authors = [self._chunk([])], list[str](), list[int]()
        codes: dict[str, int] = {}
        for records in _in_chunks(marked):
            chunks.append(self._chunk(records))
            names += (record.id for record, _, _ in records)
            authors += (
                -1 if record.author is None else codes.setdefault(record.author, len(codes)) for record, _, _ in records
            )
        lengths = np.concatenate([chunk.lengths for chunk in chunks])
        return Encoded(
            ids=np.concatenate([chunk.tokens.ids for chunk in chunks]),
            secret=np.concatenate([chunk.tokens.secret for chunk in chunks]),
            ignored=np.concatenate([chunk.tokens.ignored for chunk in chunks]),
            starts=np.concatenate([[0], np.cumsum(lengths)]),
            record_ids=tuple(names),
            authors=np.array(authors, np.int32),
            author_names=tuple(codes),
            public_characters=np.concatenate([chunk.characters[:, 0] for chunk in chunks]),
            secret_characters=np.concatenate([chunk.characters[:, 1] for chunk in chunks]),
            special=self.special,
            sentence_ends=self.sentence_ends,
        )

    @cached_property
    def sentence_ends(self) -> Bits:
        """For each id, whether its text ends with a line break or the end of a sentence."""
        texts = self.tokenizer.batch_decode([[number] for number in range(self.vocabulary_size)])
        ends = np.array([bool(SENTENCE_END.search(text)) for text in texts], bool)
        ends[list(self.tokenizer.all_special_ids)] = False
        return ends

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, special ids left out; exact for byte-level tokenizers."""
        numbers = [int(number) for number in ids]
        return str(self.tokenizer.decode(numbers, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def _chunk(self, records: Sequence[Marked]) -> "_Chunk":
        """Many records at once, because the tokenizer works on all their pieces in parallel."""
        begin, end = [self.special.begin], [self.special.end]
        mask = [] if self.special.mask is None else [self.special.mask]
        cuts = [self._cut(*marked) for marked in records]
        found = iter(self._ids(records, cuts))
        parts: list[list[int]] = []
        for pieces in cuts:
            parts += (begin, *(mask if piece.mask else next(found) for piece in pieces), end)
        secret = [bit for pieces in cuts for bit in (False, *(piece.secret for piece in pieces), False)]
        ignored = [bit for pieces in cuts for bit in (False, *(piece.mask for piece in pieces), False)]

        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        tokens = Tokens(
            np.fromiter(chain.from_iterable(parts), np.int32, int(lengths.sum())),
            np.repeat(np.array(secret, bool), lengths),
            np.repeat(np.array(ignored, bool), lengths),
        )
        ends = np.cumsum(np.array([len(pieces) + 2 for pieces in cuts], np.int64))
        of_records = np.diff(np.cumsum(lengths)[ends - 1], prepend=0)
        characters = np.array([_characters(pieces) for pieces in cuts], np.int64).reshape(-1, 2)
        return _Chunk(tokens, of_records, characters)

    def _cut(self, record: Record, secrets: Sequence[Secret], masks: Sequence[Secret]) -> list[Piece]:
        place = record.place or f"record {record.id}"
        if masks and self.special.mask is None:
            raise SettingError("The tokenizer has no mask token for redacted text; add one with with_mask(tokenizer).")
        if secrets:
            secrets = check_secrets(secrets, record.text, place)
        if masks:
            masks = check_secrets(masks, record.text, place)
        return cut(len(record.text), secrets, masks)

    def _ids(self, records: Sequence[Marked], cuts: Sequence[list[Piece]]) -> list[list[int]]:
        """The ids of every piece that is text."""
        texts: list[str] = []
        places: list[tuple[bool, bool]] = []
        for (record, _, _), pieces in zip(records, cuts, strict=True):
            for piece in pieces:
                if not piece.mask:
                    texts.append(record.text[piece.start : piece.end])
                    places.append((piece.start == 0, piece.end == len(record.text)))
        try:
            return self._pieces.ids(texts, places)
        except (TypeError, UnicodeError):
            for record, _, _ in records:
                check_unicode(record)
            raise


class _Chunk(NamedTuple):
    """Some records one after the other."""

    tokens: Tokens
    lengths: NDArray[np.int64]
    """Tokens of each record."""
    characters: NDArray[np.int64]
    """Public and secret characters of each record."""


def _characters(pieces: Sequence[Piece]) -> tuple[int, int]:
    secret = sum(piece.end - piece.start for piece in pieces if piece.secret)
    masked = sum(piece.end - piece.start for piece in pieces if piece.mask)
    return (pieces[-1].end - secret - masked if pieces else 0), secret


def special_ids(tokenizer: Any) -> SpecialIds:
    """The ids that frame a record: begin and end of text where the tokenizer has them, else BERT's [CLS] and [SEP]."""

    end = tokenizer.sep_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id
    if end is None:
        raise SettingError(
            "The tokenizer has no end-of-text token; set its eos_token (and bos_token) and save it by save_pretrained."
        )
    begin = tokenizer.cls_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    pad = tokenizer.pad_token_id
    return SpecialIds(end if begin is None else begin, end, end if pad is None else pad, tokenizer.mask_token_id)


def check_unicode(record: Record) -> None:
    """Refuses half a surrogate pair, which Python's strings may hold but no encoding of text can."""
    try:
        record.text.encode()
    except UnicodeEncodeError as error:
        place = record.place or f"record {record.id}"
        raise InputError(
            f"{place}: character {error.start} is half a surrogate pair, which is no character; "
            "remove it, or write the pair as one character."
        ) from None


def _in_chunks(records: Iterable[Marked]) -> Iterator[list[Marked]]:
    """So many records, or fewer long ones, at a time: what bounds the memory of the pieces."""
    chunk: list[Marked] = []
    characters = 0
    for marked in records:
        chunk.append(marked)
        characters += len(marked[0].text)
        if len(chunk) >= CHUNK_RECORDS or characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk

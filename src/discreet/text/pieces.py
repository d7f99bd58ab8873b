"""Text cut at the edges of secrets, and each piece tokenized where it stands.

    >>> cut(11, secrets=[Secret(5, 8, "PERSON")])     # "Call Ann on"
    [Piece(start=0, end=5, secret=False, mask=False), Piece(start=5, end=8, secret=True, mask=False),
     Piece(start=8, end=11, secret=False, mask=False)]

A piece is tokenized by itself, so no token can hold characters of two pieces. What some tokenizers do at the ends of
a *text* must then not be done at the ends of a *piece*: put a space before it (RoBERTa's byte-level BPE, SentencePiece)
or strip it (T5). `PieceTokenizer` therefore keeps copies of the tokenizer with these habits removed, one for each place
a piece can have in its text. WordPiece has no such habit, but knows no spaces either: a secret that ends inside a
word makes the rest look like a word of its own.

A text may spell a special token (`<|endoftext|>`, `<MASK>`). It is tokenized as the characters it is made of: special
ids mean what discreet put there, and nobody can write them into a text.
"""

import copy
import json
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.text.records import Secret

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Piece(NamedTuple):
    """Characters of a text that are all public, all of one secret, or one mask."""

    start: int
    end: int
    secret: bool = False
    mask: bool = False


def cut(length: int, secrets: Sequence[Secret], masks: Sequence[Secret] = ()) -> list[Piece]:
    """Cuts a text of so many characters at every edge of a secret or mask; spans sorted, not overlapping.

    A mask stays whole and public whatever a policy says about its characters: it was put there by redaction.
    """
    if not secrets and not masks:
        return [Piece(0, length)] if length else []
    mask_starts, secret_starts = [m.start for m in masks], [s.start for s in secrets]

    def inside_a_mask(edge: int) -> bool:
        before = bisect_right(mask_starts, edge) - 1
        return before >= 0 and masks[before].start < edge < masks[before].end

    def is_secret(start: int) -> bool:
        before = bisect_right(secret_starts, start) - 1
        return before >= 0 and start < secrets[before].end

    edges = {0, length, *(edge for s in secrets for edge in s[:2] if not inside_a_mask(edge))}
    edges.update(edge for m in masks for edge in m[:2])
    is_mask = set(mask_starts)
    return [
        Piece(start, end, False, True) if start in is_mask else Piece(start, end, is_secret(start))
        for start, end in pairwise(sorted(edges))
    ]


class PieceTokenizer:
    """A copy of a tokenizer that gives the ids of pieces; the original is left as it is."""

    def __init__(self, backend: "Tokenizer", special_ids: Sequence[int]) -> None:
        from tokenizers import Tokenizer

        whole = json.loads(backend.to_str())
        whole |= {"truncation": None, "padding": None}
        made: list[tuple[Any, Tokenizer]] = []
        self._at: dict[tuple[bool, bool], Tokenizer] = {}
        for first, last in ((True, True), (True, False), (False, True), (False, False)):
            ends = {part: _at_place(whole[part], first, last) for part in ("normalizer", "pre_tokenizer")}
            same = next((tokenizer for other, tokenizer in made if other == ends), None)
            if same is None:
                same = Tokenizer.from_str(json.dumps(whole | ends))
                same.encode_special_tokens = True
                made.append((ends, same))
            self._at[first, last] = same
        unknown = _unknown_id(whole["model"], backend)
        self._forbidden = frozenset(special_ids) - {unknown}

    def ids(self, texts: Sequence[str], places: Sequence[tuple[bool, bool]]) -> list[list[int]]:
        """The ids of each text; its place says whether it begins and whether it ends its record."""
        groups: dict[int, list[int]] = {}
        for number, place in enumerate(places):
            groups.setdefault(id(self._at[place]), []).append(number)
        found: list[list[int]] = [[]] * len(texts)
        for numbers in groups.values():
            tokenizer = self._at[places[numbers[0]]]
            batch = texts if len(numbers) == len(texts) else [texts[number] for number in numbers]
            for number, encoding in zip(
                numbers, tokenizer.encode_batch_fast(list(batch), add_special_tokens=False), strict=True
            ):
                found[number] = encoding.ids
        for number, ids in enumerate(found):
            if not self._forbidden.isdisjoint(ids):
                found[number] = self._letter_by_letter(texts[number], places[number])
        return found

    def _letter_by_letter(self, text: str, place: tuple[bool, bool]) -> list[int]:
        """For vocabularies (Unigram, WordLevel) in which a special token is also an ordinary entry a text can match."""
        first, last = place
        end = len(text) - 1
        places = [(first and number == 0, last and number == end) for number in range(len(text))]
        return [
            token
            for letter, where in zip(text, places, strict=True)
            for token in self._at[where].encode(letter, add_special_tokens=False).ids
        ]


def _at_place(part: Any, first: bool, last: bool) -> Any:
    """A normalizer or pre-tokenizer without what it does at the ends of a text, for a piece that does not have them."""
    if part is None:
        return None
    part = copy.deepcopy(part)
    kind = part["type"]
    if kind == "Sequence":
        name = "normalizers" if "normalizers" in part else "pretokenizers"
        kept = [_at_place(each, first, last) for each in part[name]]
        part[name] = [each for each in kept if each is not None]
    elif kind == "ByteLevel":
        part["add_prefix_space"] = part["add_prefix_space"] and first
    elif kind == "Metaspace" and not first:
        part["prepend_scheme"] = "never"
    elif kind == "Prepend" and not first:
        return None
    elif kind == "Strip":
        part |= {"strip_left": part["strip_left"] and first, "strip_right": part["strip_right"] and last}
    return part


def _unknown_id(model: Any, backend: "Tokenizer") -> int | None:
    """The id a model gives to what it does not know: the one special token that a text may come to."""
    if model.get("unk_id") is not None:
        return int(model["unk_id"])
    return backend.token_to_id(model["unk_token"]) if model.get("unk_token") else None

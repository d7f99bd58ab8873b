"""Byte-pair merges of a million short texts at once.

A tokenizer takes some ten microseconds a text, which for a million candidates is longer than the model needs to score
them. Candidates of a randomness space are all alike, though: the same positions hold one symbol each. So the merges
are done for all of them together, column by column.

    rows = product_ids(pieces, backend, [("0", "1", ..., "9")] * 6, place=(False, True))   # [1000000, <=6], padded

`product_ids` answers None where the vocabulary is not made of plain merges or the texts are not of this form, and
holds a sample of its answers against the tokenizer itself, so a tokenizer with habits of its own is found out rather
than believed. The caller then asks the tokenizer for every text.
"""

import json
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.sanitize.canaries.template import Part
from discreet.text.pieces import PieceTokenizer

Ids = NDArray[np.int32]
NOTHING = -1
SAMPLE = 500
MOST_SYMBOLS = 4096
"""Merges are looked up in a square table of the symbols that can occur."""


class Merges(NamedTuple):
    """The merges among the symbols that an alphabet can grow into."""

    symbols: NDArray[np.int32]
    """The vocabulary id of each symbol."""
    number: dict[str, int]
    rank: NDArray[np.int32]
    """[symbols + 1, symbols + 1]: when a pair is merged; the last row and column stand for no symbol."""
    result: NDArray[np.int32]


NEVER = np.iinfo(np.int32).max


def product_ids(
    pieces: PieceTokenizer, backend: Any, parts: Sequence[Part], place: tuple[bool, bool], seed: int = 0
) -> Ids | None:
    """The ids of every text of a product, in its order (last part fastest); None where this way does not fit."""
    sizes = [1 if isinstance(part, str) else len(part) for part in parts]
    if any(len(option) != 1 for part in parts if not isinstance(part, str) for option in part):
        return None
    count = prod(sizes)
    random = np.random.default_rng(seed)
    sample = np.unique(np.append(random.integers(count, size=SAMPLE), [0, count - 1]))
    texts = [_text(parts, sizes, int(number)) for number in sample]
    model = json.loads(backend.to_str())["model"]
    words = _words(backend, model, texts)
    if words is None:
        return None
    columns = _columns(parts)
    found: list[Ids] = []
    at = 0
    for word in words:
        own = columns[at : at + len(word)]
        at += len(word)
        if all(isinstance(part, str) for _, part in own):
            ids = np.array([token.id for token in backend.model.tokenize(word)], np.int32)
            found.append(np.broadcast_to(ids, (count, len(ids))))
            continue
        merged = _word_ids(model, word, own, sizes, count)
        if merged is None:
            return None
        found.append(merged)
    rows = packed(np.concatenate(found, 1)) if found else np.full((count, 0), NOTHING, np.int32)
    want = pieces.ids(texts, [place] * len(texts))
    same = all(rows[number][rows[number] >= 0].tolist() == ids for number, ids in zip(sample, want, strict=True))
    return rows if same else None


def packed(rows: Ids) -> Ids:
    """The same ids without gaps: padding stands on the right only."""
    real = rows >= 0
    lengths = real.sum(1)
    width = int(lengths.max(initial=0))
    wanted = np.arange(width) < lengths[:, None]
    if np.array_equal(real[:, :width], wanted):
        return np.ascontiguousarray(rows[:, :width])
    out = np.full((len(rows), width), NOTHING, np.int32)
    out[wanted] = rows[real]
    return out


def _text(parts: Sequence[Part], sizes: Sequence[int], index: int) -> str:
    found = []
    for part, size in zip(reversed(parts), reversed(sizes), strict=True):
        index, rest = divmod(index, size)
        found.append(part if isinstance(part, str) else part[rest])
    return "".join(reversed(found))


def _columns(parts: Sequence[Part]) -> list[tuple[int, Part]]:
    """For each character of the texts the number of its part, and the character or options that stand there."""
    found: list[tuple[int, Part]] = []
    for number, part in enumerate(parts):
        found += [(number, letter) for letter in part] if isinstance(part, str) else [(number, part)]
    return found


def _words(backend: Any, model: dict[str, Any], texts: Sequence[str]) -> list[str] | None:
    """How the texts are cut before merging, if all are cut alike and each character stays one symbol."""
    plain = model["type"] == "BPE" and not model.get("dropout") and not model.get("byte_fallback")
    plain = plain and not model.get("continuing_subword_prefix") and not model.get("end_of_word_suffix")
    if not plain or backend.pre_tokenizer is None or backend.normalizer is not None:
        return None
    cuts = []
    for text in texts:
        words = [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(text)]
        if sum(map(len, words)) != len(text):
            return None
        cuts.append(words)
    widths = {tuple(map(len, words)) for words in cuts}
    return cuts[0] if len(widths) == 1 else None


def _word_ids(
    model: dict[str, Any], word: str, columns: Sequence[tuple[int, Part]], sizes: Sequence[int], count: int
) -> Ids | None:
    """The ids of one word of every text: merged once for each of its own forms, then repeated."""
    free = [number for number, part in columns if not isinstance(part, str)]
    alphabet = set(word) | {option for _, part in columns if not isinstance(part, str) for option in part}
    merges = merges_of(model, alphabet)
    if merges is None:
        return None
    own_sizes = [sizes[number] for number in free]
    forms = prod(own_sizes)
    grid = np.indices(own_sizes).reshape(len(free), forms) if free else np.zeros((0, 1), np.int64)
    symbols = np.empty((forms, len(columns)), np.int32)
    taken = 0
    for at, (_, part) in enumerate(columns):
        if isinstance(part, str):
            symbols[:, at] = merges.number[word[at]]
        else:
            symbols[:, at] = np.array([merges.number[option] for option in part])[grid[taken]]
            taken += 1
    ids = merges.symbols[_merged(symbols, merges)]
    if forms == count:
        return packed(ids)
    index, stride = np.zeros(count, np.int64), 1
    for number in reversed(free):
        after = prod(sizes[number + 1 :])
        index += (np.arange(count) // after) % sizes[number] * stride
        stride *= sizes[number]
    return packed(ids)[index]


def _merged(symbols: NDArray[np.int32], merges: Merges) -> NDArray[np.int32]:
    """Again and again the first of the earliest merges in each text, until no pair of neighbours can be merged."""
    blank = len(merges.symbols) - 1
    symbols = symbols.copy()
    active = np.arange(len(symbols))
    while len(active) and symbols.shape[1] > 1:
        some = symbols[active]
        ranks = merges.rank[some[:, :-1], some[:, 1:]]
        at = ranks.argmin(1)
        rows = np.arange(len(some))
        going = ranks[rows, at] < NEVER
        active, some, at = active[going], some[going], at[going]
        rows = np.arange(len(some))
        result = merges.result[some[rows, at], some[rows, at + 1]]
        columns = np.arange(symbols.shape[1])
        moved = np.take_along_axis(
            np.pad(some, ((0, 0), (0, 1)), constant_values=blank), columns + (columns > at[:, None]), 1
        )
        moved[rows, at] = result
        symbols[active] = moved
    return symbols


def merges_of(model: dict[str, Any], alphabet: set[str]) -> Merges | None:
    """The merges that texts of an alphabet can meet; None where there are too many or a letter is no symbol."""
    vocabulary = model["vocab"]
    if any(letter not in vocabulary for letter in alphabet) or model.get("ignore_merges"):
        return None
    number = {letter: at for at, letter in enumerate(sorted(alphabet))}
    pairs: list[tuple[int, int, int, int]] = []
    for rank, merge in enumerate(model["merges"]):
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        if left in number and right in number:
            pairs.append((rank, number[left], number[right], number.setdefault(left + right, len(number))))
            if len(number) > MOST_SYMBOLS:
                return None
    size = len(number) + 1
    ranks, result = np.full((size, size), NEVER, np.int32), np.zeros((size, size), np.int32)
    for rank, left, right, both in pairs:
        ranks[left, right], result[left, right] = rank, both
    ids = [vocabulary[symbol] for symbol in number]
    return Merges(np.array([*ids, NOTHING], np.int32), number, ranks, result)

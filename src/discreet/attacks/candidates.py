"""The members of a randomness space as token rows: what all share is read once, what differs is a row each.

    space = enumerated(encoder, template, marked=True)        # every member, in the order of the space
    space.start, space.rows, space.suffix                     # "My ID is ", the secrets, "."
    some = chosen(encoder, template, fillings, marked=True)   # only these

`marked` says how the corpus was tokenized: where the policy finds the canary's secret, text is cut at its edges
(`discreet.text.tokenize`); where it misses it, a token may reach over the edge (" 34"), and then the row begins with
that token. Rows are the canonical tokenization, the one that training text has. `all_segmentations` lists every other
way to write the same text, for scores that add them all up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.merges import NOTHING, Ids, packed, product_ids
from discreet.errors import SettingError
from discreet.sanitize.canaries.template import Filling, Part, Template
from discreet.text.pieces import PieceTokenizer
from discreet.text.tokenize import Encoder

MOST_MEMBERS = 20_000_000
OTHERS = 64
"""Other members looked at to see which tokens all share, where only some members are asked for."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Texts that differ in one stretch."""

    start: Ids
    """The begin token and what is common before the secret."""
    rows: Ids
    """[members, tokens]: the secret, padded on the right with -1."""
    suffix: Ids
    """What is common after the secret, without the end token."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.asarray((self.rows >= 0).sum(1))

    def whole_rows(self, members: NDArray[np.int64]) -> Ids:
        """Secret and suffix of some members."""
        rows = self.rows[members]
        ends = np.broadcast_to(self.suffix, (len(rows), len(self.suffix)))
        return packed(np.concatenate((rows, ends), 1))


def enumerated(encoder: Encoder, template: Template, *, marked: bool) -> Candidates:
    """Every member of the space, in its order."""
    if template.size > MOST_MEMBERS:
        raise SettingError(
            f"The randomness space has {template.size:,} members, too many to enumerate; estimate the exposure instead."
        )
    parts = template.parts()
    if marked:
        before, *between, after = _pieces_of(encoder, parts)
        return Candidates(_begun(encoder, before[0]), _product(between), _real(after[0]))
    ((rows),) = _pieces_of(encoder, [[stretch for part in parts for stretch in part]])
    return _divided(encoder, rows)


def chosen(encoder: Encoder, template: Template, fillings: Sequence[Filling], *, marked: bool) -> Candidates:
    """Some members, in the order given."""
    pieces = _piece_tokenizer(encoder)
    literals, count = template.literals, len(fillings)
    if marked:
        before, *between, after = (_literal(pieces, literals, at) for at in range(len(literals)))
        first, last = not literals[0], not literals[-1]
        columns: list[Ids] = []
        for slot in range(len(template.slots)):
            place = (first and slot == 0, last and slot == len(template.slots) - 1)
            columns.append(_padded(pieces.ids([filling[slot] for filling in fillings], [place] * count)))
            if slot < len(between):
                columns.append(np.broadcast_to(between[slot], (count, len(between[slot]))))
        return Candidates(_begun(encoder, before), packed(np.concatenate(columns, 1)), after)
    others = template.draw(min(OTHERS, template.size // 2), seed=0)
    texts = [template.fill(filling).text for filling in (*fillings, *others)]
    whole = _divided(encoder, _padded(pieces.ids(texts, [(True, True)] * len(texts))))
    return Candidates(whole.start, packed(whole.rows[:count]), whole.suffix)


def all_segmentations(encoder: Encoder, rows: Ids) -> tuple[Ids, NDArray[np.int64]]:
    """Every way to write the texts of some rows in tokens, and for each way the row it is a way of."""
    tokenizer = encoder.tokenizer
    kind = type(tokenizer.backend_tokenizer.model).__name__
    if kind not in ("BPE", "Unigram"):
        raise SettingError(f"Adding up all tokenizations is possible for BPE and Unigram vocabularies, not for {kind}.")
    words: dict[str, int] = dict(tokenizer.get_vocab())
    for special in tokenizer.all_special_tokens:
        words.pop(special, None)
    names = {number: word for word, number in words.items()}
    longest = max(map(len, words))
    found: list[list[int]] = []
    owners: list[int] = []
    for owner, row in enumerate(rows):
        text = "".join(names[int(token)] for token in row if token >= 0)
        ways: list[list[list[int]]] = [[[]]]
        for end in range(1, len(text) + 1):
            ways.append(
                [
                    [*before, words[text[start:end]]]
                    for start in range(max(0, end - longest), end)
                    if text[start:end] in words
                    for before in ways[start]
                ]
            )
        found += ways[-1]
        owners += [owner] * len(ways[-1])
    return _padded(found), np.array(owners, np.int64)


@lru_cache(maxsize=2)
def _piece_tokenizer(encoder: Encoder) -> PieceTokenizer:
    return PieceTokenizer(encoder.tokenizer.backend_tokenizer, encoder.tokenizer.all_special_ids)


def _literal(pieces: PieceTokenizer, literals: Sequence[str], at: int) -> Ids:
    text = literals[at]
    ids = pieces.ids([text], [(at == 0, at == len(literals) - 1)])[0] if text else []
    return np.array(ids, np.int32)


def _pieces_of(encoder: Encoder, parts: Sequence[Sequence[Part]]) -> list[Ids]:
    """The rows of each piece of a text: one where it is fixed, as many as its product has members where it is not."""
    pieces, backend = _piece_tokenizer(encoder), encoder.tokenizer.backend_tokenizer
    real = [number for number, piece in enumerate(parts) if piece]
    found: list[Ids] = []
    for number, piece in enumerate(parts):
        if not piece:
            found.append(np.empty((1, 0), np.int32))
            continue
        place = (number == real[0], number == real[-1])
        fixed = all(isinstance(part, str) for part in piece)
        rows = None if fixed else product_ids(pieces, backend, piece, place)
        if rows is None:  # one by one
            texts = _texts(piece)
            rows = _padded(pieces.ids(texts, [place] * len(texts)))
        found.append(rows)
    return found


def _texts(piece: Sequence[Part]) -> list[str]:
    texts = [""]
    for part in piece:
        texts = [text + option for text in texts for option in ((part,) if isinstance(part, str) else part)]
    return texts


def _product(pieces: Sequence[Ids]) -> Ids:
    """Rows one after the other, the last piece fastest."""
    if len(pieces) == 1:
        return pieces[0]
    count = prod(len(rows) for rows in pieces)
    numbers, columns = np.arange(count), []
    for rows in reversed(pieces):
        columns.append(rows[numbers % len(rows)])
        numbers //= len(rows)
    return packed(np.concatenate(columns[::-1], 1))


def _divided(encoder: Encoder, rows: Ids) -> Candidates:
    """Whole texts, parted into what all begin with, what differs, and what all end with."""
    lengths = (rows >= 0).sum(1)
    shortest = int(lengths.min())
    same = (rows[:, :shortest] == rows[0, :shortest]).all(0)
    before = shortest if same.all() else int(same.argmin())
    after = 0
    while after < shortest - before:
        at = lengths - 1 - after
        last = rows[np.arange(len(rows)), at]
        if (last != last[0]).any():
            break
        after += 1
    suffix = rows[0, lengths[0] - after : lengths[0]]
    middle = np.where(np.arange(rows.shape[1]) < (lengths - after)[:, None], rows, NOTHING)[:, before:]
    return Candidates(_begun(encoder, rows[0, :before]), packed(middle), suffix)


def _begun(encoder: Encoder, ids: Ids) -> Ids:
    return np.concatenate(([encoder.special.begin], _real(ids))).astype(np.int32)


def _real(ids: Ids) -> Ids:
    return ids[ids >= 0]


def _padded(ids: Sequence[Sequence[int]]) -> Ids:
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    rows = np.full((len(ids), int(lengths.max(initial=0))), NOTHING, np.int32)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = [token for row in ids for token in row]
    return rows

"""MinHash signatures of many texts at once, compiled.

    made = signatures(["my code is 4711", "my code is 4711 now"], "words:2", permutations=128)
    (made[0] == made[1]).mean()         # about the share of word pairs that the two have in common: 3 / 4

A text is a set of *shingles*: all runs of n words (a word is a run of letters and digits) or of n characters; a text
shorter than n is one shingle. Each of the `permutations` hashes takes its smallest value over the shingles, and two
texts agree in one with probability equal to the Jaccard similarity of their sets (Broder 1997). The hashes are of 32
bits with fixed seeds: the same text has the same signature in every process.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SettingError

Signatures = NDArray[np.uint32]
SEED = 0x9E3779B9


class Shingle(NamedTuple):
    """Runs of so many words or characters."""

    unit: str
    size: int


def read_shingle(text: str) -> Shingle:
    """`words:3` or `characters:5`."""
    match = re.fullmatch(r"(words|characters):([1-9]\d?)", text)
    if not match:
        raise SettingError(f"The shingle '{text}' is not of the form words:3 or characters:5.")
    return Shingle(match[1], int(match[2]))


def signatures(texts: Sequence[str], shingle: str, permutations: int) -> Signatures:
    """One row of `permutations` numbers for every text."""
    unit, size = read_shingle(shingle)
    code = _code()
    if unit == "words":
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        buffer = np.frombuffer(b"".join(encoded), np.uint8)
        shingles, starts = code.word_shingles(buffer, _starts(encoded, 1), size)
    else:
        encoded = [text.encode("utf-32-le", "surrogatepass") for text in texts]
        letters = np.frombuffer(b"".join(encoded), np.uint32)
        shingles, starts = code.character_shingles(letters, _starts(encoded, 4), size)
    made: Signatures = code.smallest(shingles, starts, *_hashes(permutations))
    return made


def _starts(encoded: Sequence[bytes], width: int) -> NDArray[np.int64]:
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) // width for text in encoded], out=starts[1:])
    return starts


@cache
def _hashes(permutations: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """What makes one hash different from the next: something to mix in, and an odd number to multiply by."""
    draw = np.random.Generator(np.random.PCG64(SEED))
    mixed_in, factors = draw.integers(0, 2**32, (2, permutations), np.uint32)
    return mixed_in, factors | np.uint32(1)


class Code(NamedTuple):
    word_shingles: Any
    character_shingles: Any
    smallest: Any


@cache
def _code() -> Code:
    """The compiled loops; numba is loaded with the first use."""
    from discreet.sanitize.dedup import loops

    return Code(loops.word_shingles, loops.character_shingles, loops.smallest)

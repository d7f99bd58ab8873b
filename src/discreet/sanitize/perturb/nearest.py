"""The word nearest to a point: exact over the whole vocabulary, or approximate for very large ones.

Choosing the word is post-processing of the noised point: it never sees the original word, so the guarantee is the
same whichever index answers (ACCOUNTING.md, section 5). An approximate one costs utility only: now and then a word
that is near, not nearest.

`exact` asks faiss for the few nearest words in single precision and settles between these in double precision, so
that the answer does not depend on how many points are asked for at once. `approximate` looks into the cells of the
vocabulary nearest to the point (an inverted file); the cells are the same in every process.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MissingPackageError, SettingError
from discreet.registry import nearest
from discreet.sanitize.perturb.embedding import Embedding

KINDS = ("exact", "approximate")
FEW = 3
BATCH = 512
MATRIX_FROM = 20
"""From this many points on faiss multiplies matrices."""
PROBES = 16


class Nearest:
    """An index of the words of an embedding."""

    def __init__(self, embedding: Embedding, kind: str = "exact") -> None:
        if kind not in KINDS:
            raise SettingError(f"The index '{kind}' is not known; {nearest(kind, KINDS)}")
        try:
            import faiss
        except ImportError:
            raise MissingPackageError(
                "Looking for the nearest word needs faiss; install it with: pip install 'discreet[perturb]'."
            ) from None
        # faiss would multiply matrices only for very many points; for a few dozen that is already seven times as fast.
        faiss.cvar.distance_compute_blas_threshold = MATRIX_FROM
        self._vectors = embedding.vectors
        self._index: Any = faiss.IndexFlatL2(embedding.dimension)
        if kind == "approximate" and len(embedding.words) >= 10_000:
            cells = int(len(embedding.words) ** 0.5)
            self._index = faiss.IndexIVFFlat(self._index, embedding.dimension, cells)
            self._index.own_fields = False
            self._coarse = self._index.quantizer
            self._index.cp.seed, self._index.nprobe = 1, PROBES
            self._index.train(self._vectors)
        self._index.add(self._vectors)

    def rows(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """For each point the number of its nearest word."""
        found = np.empty(len(points), np.int64)
        few = min(FEW, len(self._vectors))
        for start in range(0, len(points), BATCH):
            batch = points[start : start + BATCH]
            _, candidates = self._index.search(batch.astype(np.float32), few)
            found[start : start + BATCH] = self._best(batch, np.sort(candidates, axis=1))
        return found

    def neighbour_distances(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """How far these words are from their nearest neighbours (words with the same vector are 0 away)."""
        found, _ = self._index.search(self._vectors[rows], 2)
        distances: NDArray[np.float64] = np.sqrt(np.maximum(found[:, -1].astype(np.float64), 0))
        return distances

    def _best(self, points: NDArray[np.float64], candidates: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of the candidates (in the order of the vocabulary) the nearest, by double precision."""
        away = self._vectors[candidates].astype(np.float64) - points[:, None, :]
        distances = np.einsum("pch,pch->pc", away, away)
        distances[candidates < 0] = np.inf  # an approximate index that found fewer
        chosen: NDArray[np.int64] = candidates[np.arange(len(points)), distances.argmin(axis=1)]
        return chosen

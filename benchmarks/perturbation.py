"""Words exchanged a second, beside a plain numpy loop, with GloVe's 400,000 words.

    python -m benchmarks.perturbation [--words 2000] [--threads 1]

Ours: noise from the keyed generator and the exact index, all words in one call, none asked for twice. The plain loop:
one word at a time, normals and a Gamma number from numpy, the distance to every word of the vocabulary, the smallest.
A third row is the same loop with the squared lengths of all vectors worked out beforehand and one matrix-vector
product a word. They take turns, five rounds each; wall-clock time, medians. Goal: at least 20 times the plain loop.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.sanitize.perturb.embedding import Embedding, Vectors, load_embedding
from discreet.sanitize.perturb.noise import Draws
from discreet.sanitize.perturb.run import Perturbation, Perturber

EPSILON = 10.0
ROUNDS = 5


def noise(draw: np.random.Generator, dimension: int) -> NDArray[np.float64]:
    direction = draw.normal(size=dimension)
    return direction / np.linalg.norm(direction) * draw.gamma(dimension, 1 / EPSILON)


def plain(embedding: Embedding, rows: list[int], draw: np.random.Generator) -> int:
    for row in rows:
        point = (embedding.vectors[row] + noise(draw, embedding.dimension)).astype(np.float32)
        np.argmin(np.linalg.norm(embedding.vectors - point, axis=1))
    return len(rows)


def plain_product(embedding: Embedding, rows: list[int], lengths: Vectors, draw: np.random.Generator) -> int:
    for row in rows:
        point = (embedding.vectors[row] + noise(draw, embedding.dimension)).astype(np.float32)
        np.argmin(lengths - 2 * (embedding.vectors @ point))
    return len(rows)


def rate(work: Callable[[], int]) -> float:
    start = time.perf_counter()
    return work() / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    import faiss

    faiss.omp_set_num_threads(options.threads)
    embedding = load_embedding("glove-50d")
    draw = np.random.Generator(np.random.PCG64(0))
    rows = draw.choice(100_000, options.words, replace=False).tolist()
    sampled, few = [embedding.words[row] for row in rows], rows[:20]
    perturber = Perturber(embedding, Perturbation(epsilon=EPSILON, index="exact"))
    lengths = np.einsum("ij,ij->i", embedding.vectors, embedding.vectors)
    plain(embedding, few[:2], draw)
    measured: dict[str, list[float]] = {"ours": [], "plain numpy loop": [], "numpy loop, one product a word": []}
    for turn in range(ROUNDS):
        labels = [f"{turn} {word}".encode() for word in sampled]
        measured["ours"].append(rate(lambda labels=labels: len(perturber.exchange(sampled, labels))))  # type: ignore[misc]
        measured["plain numpy loop"].append(rate(lambda: plain(embedding, few, draw)))
        measured["numpy loop, one product a word"].append(rate(lambda: plain_product(embedding, few, lengths, draw)))
    ours = statistics.median(measured["ours"])
    print(f"{len(embedding.words):,} words of {embedding.dimension} dimensions, {options.threads} thread(s)\n")
    print("| what | words/s | ours is faster by |\n|---|---:|---:|")
    for name, rates in measured.items():
        print(f"| {name} | {statistics.median(rates):,.1f} | {ours / statistics.median(rates):.1f} |")
    alone = rate(lambda: len(Draws().noise([word.encode() for word in sampled], embedding.dimension, EPSILON)))
    print(f"\nOf that, drawing the noise alone: {alone:,.0f} words/s.")


if __name__ == "__main__":
    main()

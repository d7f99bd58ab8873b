"""What an epsilon does to words, so that a person can choose one: how many stay, how far the others go, what they
become.

    rows = calibrate(load_embedding("glove-50d"), epsilons=[5, 10, 20], words=300, draws=20)
    rows[0].unchanged, rows[0].distance, rows[0].scale

Only words of the public vocabulary are used (drawn from its beginning, where frequent words are, or given), so that
the choice of epsilon tells nothing about the corpus. Asking which share of the *corpus'* secrets stays unchanged
would.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SettingError
from discreet.sanitize.perturb.embedding import Embedding
from discreet.sanitize.perturb.nearest import Nearest
from discreet.sanitize.perturb.noise import Draws

GRID = (1.0, 3.0, 6.0, 12.0, 17.0, 23.0, 29.0, 35.0, 41.0, 47.0, 52.0)
"""The epsilons of the thesis that MDP and SMDP come from."""
FREQUENT = 20_000
SHOWN = 5


class Outcome(NamedTuple):
    """A word and the words it most often becomes, with their shares."""

    word: str
    becomes: tuple[tuple[str, float], ...]
    different: int
    """How many different words it became."""


class Row(NamedTuple):
    """What one epsilon does."""

    epsilon: float
    radius: float
    """Mean length of the noise, h / epsilon."""
    scale: float
    """That, over the median distance of a word from its nearest neighbour."""
    unchanged: float
    """Share of draws in which the word stays."""
    distance: float
    """Mean distance of what comes out from the original."""
    candidates: float
    """Mean over words of how many different words they became."""
    examples: tuple[Outcome, ...]

    def to_json(self) -> dict[str, Any]:
        examples = [{"word": e.word, "becomes": dict(e.becomes), "different": e.different} for e in self.examples]
        return {**self._asdict(), "examples": examples}


def calibrate(
    embedding: Embedding,
    epsilons: Sequence[float] = GRID,
    *,
    words: int = 100,
    draws: int = 10,
    examples: Sequence[str] = (),
    index: str = "exact",
    seed: int = 0,
) -> list[Row]:
    """A row for each epsilon: `words` frequent words of the vocabulary, perturbed `draws` times each."""
    if words < 1 or draws < 1 or not epsilons or min(epsilons) <= 0:
        raise SettingError("Calibration needs at least one word, one draw and an epsilon above 0.")
    shown = [_known(embedding, word) for word in examples]
    chooser = np.random.Generator(np.random.PCG64(seed))
    frequent = min(FREQUENT, len(embedding.words))
    sampled = chooser.choice(frequent, min(words, frequent), replace=False)
    rows = np.concatenate([np.array(shown, np.int64), sampled])
    nearest = Nearest(embedding, index)
    labels = [f"{row}:{draw}".encode() for row in rows for draw in range(draws)]
    directions, radii = Draws.of_seed(seed).parts(labels, embedding.dimension)
    originals = np.repeat(rows, draws)
    neighbour = neighbour_distance(embedding, sampled, nearest)
    found = []
    for epsilon in epsilons:
        points = embedding.vectors[originals] + directions * (radii / epsilon)[:, None]
        outcome = nearest.rows(points).reshape(len(rows), draws)
        found.append(_row(embedding, epsilon, rows, outcome, len(shown), neighbour))
    return found


def neighbour_distance(embedding: Embedding, rows: NDArray[np.int64], nearest: Nearest) -> float:
    """The median distance of words from their nearest neighbours."""
    distances = nearest.neighbour_distances(rows)
    return float(np.median(distances))


def _known(embedding: Embedding, word: str) -> int:
    row = embedding.row(word)
    if row is None:
        raise SettingError("An example word is not in the vocabulary; give words that it has.")
    return row


def _row(
    embedding: Embedding,
    epsilon: float,
    rows: NDArray[np.int64],
    outcome: NDArray[np.int64],
    shown: int,
    neighbour: float,
) -> Row:
    sampled, became = rows[shown:], outcome[shown:]
    away = np.linalg.norm(embedding.vectors[became] - embedding.vectors[sampled][:, None, :], axis=2)
    return Row(
        epsilon,
        embedding.dimension / epsilon,
        embedding.dimension / epsilon / neighbour if neighbour else float("inf"),
        float((became == sampled[:, None]).mean()),
        float(away.mean()),
        float(np.mean([len(set(row.tolist())) for row in became])),
        tuple(_outcome(embedding, int(rows[n]), outcome[n]) for n in range(shown)),
    )


def _outcome(embedding: Embedding, row: int, outcome: NDArray[np.int64]) -> Outcome:
    counts = Counter(outcome.tolist())
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
    becomes = tuple((embedding.words[number], count / len(outcome)) for number, count in most)
    return Outcome(embedding.words[row], becomes, len(counts))


def plot(rows: Sequence[Row], path: str) -> None:
    """Share unchanged and mean distance against epsilon, as a picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    left = figure.add_subplot()
    epsilons = [row.epsilon for row in rows]
    left.plot(epsilons, [row.unchanged for row in rows], marker="o", color="tab:blue", label="share of words unchanged")
    left.set_xlabel("epsilon per unit of distance")
    left.set_ylabel("share of words unchanged", color="tab:blue")
    left.set_ylim(-0.02, 1.02)
    right = left.twinx()
    right.plot(epsilons, [row.distance for row in rows], marker="s", color="tab:red", label="mean distance")
    right.set_ylabel("mean distance of what comes out", color="tab:red")
    figure.savefig(path)

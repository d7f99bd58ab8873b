"""Audit by training again and again, in two worlds that differ in one place: for models that are trained in seconds.

    def score(world: bool, seed: int) -> float: ...       # trains with or without the secret; high where it was there
    found = audit_two_worlds(score, runs=200, delta=1e-5)
    found.epsilon                                         # 95 % lower bound

    found = audit_by_training(with_secret, without, measure, runs=50, delta=1e-5, mechanism=..., model=...)

The first half of the runs chooses the threshold, the second half is judged by it, so that nothing is chosen on what it
is measured by. The bound cannot exceed what so many runs can show: with 100 judged runs in each world and not one
mistake it is 3.3.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.accounting.audit_bounds import two_worlds, two_worlds_gaussian
from discreet.attacks.rates import roc_curve
from discreet.errors import SettingError
from discreet.mechanisms.run import Run
from discreet.mechanisms.train import train
from discreet.text.corpus import Corpus


@dataclass(frozen=True)
class TwoWorlds:
    """What trainings in two worlds show."""

    epsilon: float
    epsilon_gaussian: float
    """For releases whose trade-off is Gaussian; under subsampling an approximation and no bound."""
    false_alarms: int
    misses: int
    judged: int
    """Runs judged in each world."""

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def audit_two_worlds(
    score: Callable[[bool, int], float], *, runs: int, delta: float, confidence: float = 0.95
) -> TwoWorlds:
    """Trains `runs` times in each world, each time with a seed of its own."""
    if runs < 4:
        raise SettingError("An audit by two worlds takes at least 4 runs in each: some to choose by, some to judge.")
    found = {world: np.array([score(world, 2 * seed + world) for seed in range(runs)]) for world in (True, False)}
    half = runs // 2
    threshold = _threshold(found[True][:half], found[False][:half])
    misses = int((found[True][half:] <= threshold).sum())
    false_alarms = int((found[False][half:] > threshold).sum())
    counts = (false_alarms, runs - half, misses, runs - half)
    gaussian = two_worlds_gaussian(*counts, delta=delta, confidence=confidence) if delta else float("inf")
    return TwoWorlds(
        two_worlds(*counts, delta=delta, confidence=confidence), gaussian, false_alarms, misses, runs - half
    )


def audit_by_training(
    with_secret: Corpus,
    without: Corpus,
    measure: Callable[[Run], float],
    *,
    runs: int,
    delta: float,
    confidence: float = 0.95,
    **settings: Any,
) -> TwoWorlds:
    """The same with `discreet.train`; settings are its keywords, and `measure` looks at the finished run."""

    def score(world: bool, seed: int) -> float:
        with tempfile.TemporaryDirectory() as folder:
            corpus = with_secret if world else without
            return measure(train(corpus, output=Path(folder) / "run", progress=False, **{**settings, "seed": seed}))

    return audit_two_worlds(score, runs=runs, delta=delta, confidence=confidence)


def _threshold(inside: np.ndarray, outside: np.ndarray) -> float:
    """The threshold whose worse error is smallest."""
    false, true = roc_curve(inside, outside)
    both = np.unique(np.concatenate((inside, outside)))[::-1]
    best = int(np.argmin(np.maximum(false, 1 - true)))
    if best == 0:
        return float(both[0])
    return float((both[best - 1] + both[best]) / 2) if best < len(both) else float(both[-1]) - 1.0

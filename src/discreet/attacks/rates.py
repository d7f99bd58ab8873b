"""How well scores tell two groups apart: ROC curve, AUC, accuracy, true positives at few false ones, with intervals.

    separation = separate(member_scores, other_scores)
    separation.auc, separation.auc_interval, separation.tpr["0.01"]

The accuracy is that of a threshold chosen on one half of the data and measured on the other, and the other way round:
a threshold chosen on the data it is measured on finds more than half right by chance. Intervals are 95 % bootstrap
intervals over both groups; true-positive rates at 0.1 % false ones need at least a thousand others to mean anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from discreet.errors import InputError

Floats = NDArray[np.float64]
RATES = (0.01, 0.001)
RESAMPLES = 400


@dataclass(frozen=True, eq=False)
class Separation:
    """What a threshold on a score can tell."""

    auc: float
    auc_interval: tuple[float, float]
    accuracy: float
    accuracy_interval: tuple[float, float]
    tpr: dict[str, float]
    """True positives at a rate of false ones."""
    tpr_interval: dict[str, tuple[float, float]]
    members: int
    others: int
    curve: tuple[Floats, Floats]
    """False and true positive rates, ascending."""

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "curve"}


def separate(members: Floats, others: Floats, seed: int = 0, resamples: int = RESAMPLES) -> Separation:
    """How well high scores mark members."""
    members, others = (
        np.nan_to_num(np.asarray(group, float), nan=-1e300, posinf=1e300, neginf=-1e300) for group in (members, others)
    )
    if not len(members) or not len(others):
        raise InputError("Telling members from others needs some of both.")
    random = np.random.default_rng(seed)
    drawn = [
        _measures(random.choice(members, len(members)), random.choice(others, len(others)), random)
        for _ in range(resamples)
    ]
    auc, accuracy, *rates = _measures(members, others, random)
    spans = [middle_95(column) for column in zip(*drawn, strict=True)]
    names = [f"{rate:g}" for rate in RATES]
    return Separation(
        auc,
        spans[0],
        accuracy,
        spans[1],
        dict(zip(names, rates, strict=True)),
        dict(zip(names, spans[2:], strict=True)),
        len(members),
        len(others),
        roc_curve(members, others),
    )


def auc_of(members: Floats, others: Floats) -> float:
    """The chance that a member scores higher than an other; ties count half."""
    ranks = rankdata(np.concatenate((members, others)))
    above = ranks[: len(members)].sum() - len(members) * (len(members) + 1) / 2
    return float(above / (len(members) * len(others)))


def tpr_at(members: Floats, others: Floats, rate: float) -> float:
    """The share of members above the lowest threshold that at most `rate` of the others exceed."""
    allowed = int(np.floor(rate * len(others) + 1e-9))
    threshold = np.sort(others)[len(others) - 1 - allowed]
    return float((members > threshold).mean())


def accuracy_of(members: Floats, others: Floats, random: np.random.Generator) -> float:
    """The mean of both groups' shares told right, by a threshold from one half of the data used on the other."""
    halves = []
    for group in (members, others):
        mixed = random.permutation(group)
        halves.append((mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]))
    right = []
    for one, two in ((0, 1), (1, 0)):
        threshold = _best_threshold(halves[0][one], halves[1][one])
        right.append(((halves[0][two] > threshold).mean() + (halves[1][two] <= threshold).mean()) / 2)
    return float(np.mean(right))


def roc_curve(members: Floats, others: Floats) -> tuple[Floats, Floats]:
    """False and true positive rates at every threshold."""
    both = np.concatenate((members, others))
    is_member = np.arange(len(both)) < len(members)
    order = np.argsort(-both, kind="stable")
    last = np.append(np.diff(both[order]) != 0, True)  # a threshold takes all of a tie
    true = np.cumsum(is_member[order])[last] / len(members)
    false = np.cumsum(~is_member[order])[last] / len(others)
    return np.append(0.0, false), np.append(0.0, true)


def mean_interval(values: Sequence[float], seed: int = 0) -> tuple[float, float] | None:
    """The 95 % bootstrap interval of a mean; None for a single value."""
    if len(values) < 2:
        return None
    drawn = np.random.default_rng(seed).choice(np.asarray(values, float), (2000, len(values)))
    return middle_95(drawn.mean(1))


def _measures(members: Floats, others: Floats, random: np.random.Generator) -> tuple[float, ...]:
    rates = (tpr_at(members, others, rate) for rate in RATES)
    return (auc_of(members, others), accuracy_of(members, others, random), *rates)


def _best_threshold(members: Floats, others: Floats) -> float:
    if not len(members) or not len(others):
        return 0.0
    both = np.sort(np.concatenate((members, others)))
    above = 1 - np.searchsorted(np.sort(members), both, "right") / len(members)
    below = np.searchsorted(np.sort(others), both, "right") / len(others)
    return float(both[np.argmax(above + below)])


def middle_95(values: Any) -> tuple[float, float]:
    """The 2.5 % and 97.5 % quantiles."""
    low, high = np.quantile(np.asarray(values, float), (0.025, 0.975))
    return float(low), float(high)

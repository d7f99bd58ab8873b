"""Metric differential privacy of words: the nearer two words, the less they can be told apart. For MDP and SMDP.

    >>> smdp = MetricPrivacy(selective=True, per_distance=10.0, distances=(2.5, 3.0, 1.5))
    >>> smdp.epsilon
    70.0

A word's vector is moved by noise of density proportional to exp(-epsilon |z|) and the nearest word of a public
vocabulary is taken. Two words at distance d are then (epsilon d)-indistinguishable, with delta 0; a record whose
words are changed by d1, d2, ... is (epsilon (d1 + d2 + ...))-indistinguishable. `selective` does it to secrets only.

Sharp edges. Epsilon is per unit of the embedding's distance: 10 means nothing without the distances between words,
and the noise (mean radius h / epsilon in h dimensions) is to be set against them. A secret perturbed afresh in k
places costs k times: draw once and reuse. Reuse shows which places hold the same secret: the bound then compares
exchanging a secret wherever it stands, for a word that stands nowhere else. A word outside of the vocabulary that
passes unchanged is released in clear: no epsilon.
"""

import math
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator
from scipy.special import gammaincinv

from discreet.accounting.dp import own_accountant
from discreet.accounting.guarantee import Accountant, Bound
from discreet.accounting.notion import Assumed, Notion, finite
from discreet.accounting.pld import GRID
from discreet.errors import SettingError


class Radius(NamedTuple):
    """The length of the noise in an embedding: Gamma distributed with shape h and scale 1 / epsilon."""

    mean: float
    variance: float
    low: float
    """1 % of the draws are shorter."""
    median: float
    high: float
    """1 % of the draws are longer."""


def radius(dimension: int, per_distance: float) -> Radius:
    quantiles = [float(gammaincinv(dimension, p)) / per_distance for p in (0.01, 0.5, 0.99)]
    return Radius(dimension / per_distance, dimension / per_distance**2, *quantiles)


class MetricPrivacy(Notion):
    """Each word hides among its neighbours in the embedding."""

    form: Literal["mdp", "smdp"] = "smdp"
    per_distance: float = Field(gt=0)
    """Epsilon per unit of distance."""
    distances: tuple[float, ...] = Field(default=(1.0,), min_length=1)
    """How far each perturbed word may be moved by the change to protect."""
    draws: int = Field(default=1, ge=1)
    """How often the same secret is perturbed afresh; 1 where one draw is reused."""
    unknown_words: Literal["fixed-vector", "pieces", "mask", "unchanged"] = "fixed-vector"
    """What happens to a word outside of the vocabulary."""
    dimension: int | None = None
    delta: float = 0.0

    name: ClassVar[str] = "metric differential privacy"

    def __init__(self, selective: bool | None = None, **fields: Any) -> None:
        if selective is not None:
            fields["form"] = "smdp" if selective else "mdp"
        super().__init__(**fields)

    @field_validator("distances")
    @classmethod
    def _distances_are_lengths(cls, distances: tuple[float, ...]) -> tuple[float, ...]:
        if any(not 0 <= distance < math.inf for distance in distances):
            raise SettingError("Distances between words are numbers of at least 0.")
        return distances

    @property
    def selective(self) -> bool:
        return self.form == "smdp"

    @property
    def neighbours(self) -> str:
        return "replace"

    @property
    def unit(self) -> str:
        return "record"

    @property
    def noise(self) -> float:
        """The scale of the noise's radius."""
        return 1 / self.per_distance

    def headline(self, finest: float = GRID) -> float:
        if self.unknown_words == "unchanged":
            return math.inf
        return self.per_distance * math.fsum(self.distances) * self.draws

    @property
    def epsilon_word(self) -> float:
        """Of the word that moves farthest, drawn once."""
        return self.per_distance * max(self.distances)

    def neighbours_in_words(self) -> str:
        which = "secret words" if self.selective else "words"
        return (
            f"Two corpora are neighbours when they differ in {len(self.distances)} {which} of one record, each "
            f"exchanged for a word at most so far away in the embedding: {_some(self.distances)}."
        )

    def bounds(self) -> tuple[Bound, ...]:
        record = Bound(subject="the changed words of one record", epsilon=finite(self.epsilon), delta=0.0)
        if self.unknown_words == "unchanged":
            return (record,)
        word = Bound(subject="one word, perturbed once", epsilon=self.epsilon_word, delta=0.0)
        unit = Bound(subject="one word, for each unit of distance", epsilon=self.per_distance, delta=0.0)
        return record, word, unit

    def answers(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "epsilon_per_distance": self.per_distance,
            "epsilon_word": None if self.unknown_words == "unchanged" else self.epsilon_word,
            "words": len(self.distances),
            "draws": self.draws,
        }
        return found | ({"radius": radius(self.dimension, self.per_distance)._asdict()} if self.dimension else {})

    def assumed(self) -> tuple[Assumed, ...]:
        found = [
            Assumed("vocabulary", "Embedding and vocabulary were fixed without looking at the corpus."),
            Assumed(
                "output", "The output depends on the noised vector alone: not on the word, its case or its length."
            ),
            Assumed(
                "draws", "A secret that stands in several places is perturbed as often as stated, and otherwise reused."
            ),
            Assumed("unknown-words", "A word outside of the vocabulary is mapped, split or masked, never passed on."),
            Assumed("noise", "The radius is Gamma(h, 1/epsilon), the direction uniform; rounding is ignored."),
        ]
        if self.selective:
            found.append(Assumed("mask", "Changing a secret does not change which words the policy marks."))
        return tuple(found)

    def released(self) -> tuple[str, ...]:
        return ("the perturbed text, and any model trained on it",)

    def not_protected(self) -> tuple[str, ...]:
        found = ["the number and order of words", "words far apart in the embedding: epsilon grows with the distance"]
        if self.selective and self.draws == 1:
            found.append("which places hold the same secret: where one draw is reused, they get the same word")
        if self.unknown_words == "mask":
            found.append("whether a word is in the vocabulary")
        if self.unknown_words == "pieces":
            found.append("into how many pieces a word outside of the vocabulary is split")
        return (*found, "words the policy does not mark") if self.selective else tuple(found)

    def warnings(self) -> tuple[str, ...]:
        if self.unknown_words == "unchanged":
            return ("Words outside of the vocabulary pass unchanged: a secret among them is released in clear.",)
        return ()

    def accountant(self) -> Accountant | None:
        return own_accountant("sum of distances times epsilon")


def _some(distances: tuple[float, ...]) -> str:
    shown = ", ".join(f"{distance:g}" for distance in distances[:5])
    return shown if len(distances) <= 5 else f"{shown}, and {len(distances) - 5} more"

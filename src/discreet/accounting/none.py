"""No guarantee: for the privacy regularizers, plain training and redaction alone. Said in as many words.

>>> NoGuarantee(mechanism="adversarial").guarantee().epsilon is None
True
"""

import math
from typing import ClassVar, Literal

from discreet.accounting.guarantee import Accountant, Bound, Measured
from discreet.accounting.notion import Assumed, Notion
from discreet.accounting.pld import GRID


class NoGuarantee(Notion):
    """Nothing is proved; only measured leakage can be reported."""

    form: Literal["none"] = "none"
    mechanism: str = "none"
    delta: float = 0.0
    attribute: str | None = None
    """What a privacy regularizer was told to hide: `author`, `label`, or a field of the records."""
    measured: tuple[Measured, ...] = ()

    name: ClassVar[str] = "none"

    def headline(self, finest: float = GRID) -> float:
        return math.inf

    def of_mechanism(self) -> str:
        return self.mechanism

    def neighbours_in_words(self) -> str:
        return f"The mechanism '{self.mechanism}' comes with no proof, so there is nothing to compare corpora by."

    def bounds(self) -> tuple[Bound, ...]:
        return (Bound(subject="anybody in the corpus", epsilon=None, delta=None),)

    def assumed(self) -> tuple[Assumed, ...]:
        return ()

    def released(self) -> tuple[str, ...]:
        return ("the trained model",)

    def not_protected(self) -> tuple[str, ...]:
        return ("anything: the model may hold any text it was trained on, word for word",)

    def accountant(self) -> Accountant | None:
        return None

    def measurements(self) -> tuple[Measured, ...]:
        return self.measured

    def warnings(self) -> tuple[str, ...]:
        hidden = (
            f"The model was trained to keep '{self.attribute}' out of its hidden states. Whether it does is measured "
            "and not proved, and it says nothing about text that the model has memorised.",
        )
        return (
            *(hidden if self.attribute else ()),
            "There is no epsilon. Measure the leakage with `discreet attack`; a low measurement proves nothing.",
        )

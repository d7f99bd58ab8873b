"""No guarantee: for the privacy regularizers, plain training and redaction alone. Said in as many words.

>>> NoGuarantee(mechanism="adversarial").guarantee().epsilon is None
True
"""

import math
from typing import ClassVar, Literal

from discreet.accounting.guarantee import Accountant, Bound
from discreet.accounting.notion import Assumed, Notion
from discreet.accounting.pld import GRID


class NoGuarantee(Notion):
    """Nothing is proved; only measured leakage can be reported."""

    form: Literal["none"] = "none"
    mechanism: str = "none"
    delta: float = 0.0

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

    def warnings(self) -> tuple[str, ...]:
        return ("There is no epsilon. Measure the leakage with `discreet attack`; a low measurement proves nothing.",)

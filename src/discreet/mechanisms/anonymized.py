"""Anonymization: plain training on text in which every secret is replaced by its kind, as in `<PHONE>`.

The papers' older baseline. The kind is context and never a target. It says more than a mask, about the text and about
the secret. What the policy misses is learned like any other text: there is no guarantee.
"""

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.none import NoGuarantee
from discreet.mechanisms.contract import MECHANISMS, MechanismOptions
from discreet.mechanisms.training import Training


@MECHANISMS.register("anonymized")
class Anonymized:
    """Learns from text in which every secret the policy finds is written as its kind."""

    needs_policy = True
    Options = MechanismOptions

    def train(self, training: Training, options: MechanismOptions) -> Guarantee:
        training.fit(training.anonymized("train"), public_only=True)
        return NoGuarantee(mechanism="anonymized").guarantee()

"""Redaction alone: plain training on text whose secrets are masked.

A mask is context but never a target, so the model does not learn to say it. What the policy misses is learned like
any other text, and what surrounds a mask may still give a secret away: there is no guarantee.
"""

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.none import NoGuarantee
from discreet.mechanisms.contract import MECHANISMS, MechanismOptions
from discreet.mechanisms.training import Training


@MECHANISMS.register("redacted")
class Redacted:
    """Learns from text in which every secret the policy finds is one mask token."""

    needs_policy = True
    Options = MechanismOptions

    def train(self, training: Training, options: MechanismOptions) -> Guarantee:
        training.fit(training.redacted("train"), public_only=True)
        return NoGuarantee(mechanism="redacted").guarantee()

"""No protection: plain training on the text as it is, the papers' No-DP."""

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.none import NoGuarantee
from discreet.mechanisms.contract import MECHANISMS, MechanismOptions
from discreet.mechanisms.training import Training


@MECHANISMS.register("none")
class NoProtection:
    """Learns everything, secrets too: what the other mechanisms are compared with."""

    needs_policy = False
    Options = MechanismOptions

    def train(self, training: Training, options: MechanismOptions) -> Guarantee:
        training.fit(training.encoded("train"))
        return NoGuarantee(mechanism="none").guarantee()

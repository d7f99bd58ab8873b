"""DP-SGD (Abadi et al. 2016) on whole records or authors: everything a record says is protected alike.

Each step: draw a Poisson batch, clip every unit's gradient, add up, add Gaussian noise, divide by the *expected*
batch, hand the result to an ordinary optimizer.

The notion protects all a record says, so a vocabulary trained on the records, redacted or not, is not covered: it is
refused unless its text is declared public.
"""

from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.guarantee import Guarantee
from discreet.mechanisms.contract import MECHANISMS
from discreet.mechanisms.private import PrivateOptions, check_vocabulary, delta_of, planned, run_phase
from discreet.mechanisms.training import Training


class DPSGDOptions(PrivateOptions):
    public_vocabulary: bool = False
    """Declares public the redacted text that the tokenizer is trained on."""


@MECHANISMS.register("dp-sgd")
class DPSGD:
    """Learns from all text with clipped, noised gradients."""

    needs_policy = False
    Options = DPSGDOptions

    def train(self, training: Training, options: DPSGDOptions) -> Guarantee:
        covered = check_vocabulary(training, options.public_vocabulary)
        examples = training.encoded("train")
        units = training.unit_count(examples, options.unit)
        plan = planned("dp-sgd", options, units, options.epochs or training.recipe.training.epochs)
        phase = run_phase(training, examples, plan, options)
        notion = DifferentialPrivacy(
            phases=(plan,),
            delta=delta_of(options, units),
            records=units,
            spent=phase.spent,
            checked=(*phase.checked, *(("vocabulary",) if covered else ())),
        )
        return notion.guarantee()

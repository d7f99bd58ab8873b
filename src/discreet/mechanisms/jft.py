"""Just Fine-tune Twice (Shi et al. 2022): first on redacted text, then privately on all of it.

Phase 1 learns everything but the secrets, without noise and without cost for the secrets that the policy finds. Phase 2
is DP-SGD on the whole text and starts from a model that can already talk.
"""

from typing import Annotated

from pydantic import Field

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.jft import JustFineTuneTwice
from discreet.mechanisms.contract import MECHANISMS
from discreet.mechanisms.private import PrivateOptions, delta_of, planned, run_phase
from discreet.mechanisms.training import Training


class JFTOptions(PrivateOptions):
    missed: Annotated[int, Field(ge=0)] | None = None
    sample: Annotated[int, Field(ge=1)] | None = None
    """Of `sample` secrets checked by hand the policy had overlooked `missed`: for the average guarantee."""


@MECHANISMS.register("jft")
class JustFineTuneTwiceMechanism:
    """Learns from redacted text, then from all text with clipped, noised gradients."""

    needs_policy = True
    Options = JFTOptions

    def train(self, training: Training, options: JFTOptions) -> Guarantee:
        training.fit_public(training.redacted("train"), choose=options.validation == "public")
        examples = training.encoded("train")
        units = training.unit_count(examples, options.unit)
        plan = planned("jft", options, units, options.epochs or training.recipe.training.epochs)
        phase = run_phase(training, examples, plan, options, phase="phase 2")
        notion = JustFineTuneTwice(
            phase2=plan,
            missed=options.missed,
            sample=options.sample,
            delta=delta_of(options, units),
            records=units,
            spent=phase.spent,
            checked=phase.checked,
        )
        return notion.guarantee()

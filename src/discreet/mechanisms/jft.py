"""Just Fine-tune Twice (Shi et al. 2022): first on redacted text, then privately on all of it.

Phase 1 learns everything but the secrets. It comes in three forms, and as a run that is there already:

    mechanism: {name: jft, epsilon: 3}                                        # plain training on redacted text
    mechanism: {name: jft, epsilon: 3, screened: screened.jsonl}              # on records a person has screened
    mechanism: {name: jft, epsilon: 3, light: {noise: 0.5}, miss_rate: missed.json}
    mechanism: {name: jft, epsilon: 3, existing: runs/redacted}               # with model: runs/redacted/model

The first is free for the secrets that the policy finds and unbounded for those it misses. The second is free for all of
them, as far as the screening is complete. The third bounds missed secrets too: phase 1 is itself private, with less
noise. Phase 2 is DP-SGD on the whole text and starts from a model that can already talk.

`miss_rate` is the file that `discreet measure --miss-rate` writes for a hand-checked sample: with it the guarantee has
a third number, the average over secrets of which so many are missed.
"""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.jft import JustFineTuneTwice
from discreet.engine.plan import Plan
from discreet.errors import SettingError
from discreet.mechanisms.contract import MECHANISMS
from discreet.mechanisms.existing import check_existing
from discreet.mechanisms.private import Phase, PrivateOptions, check_vocabulary, delta_of, planned, run_phase
from discreet.mechanisms.training import Training
from discreet.policy.contract import Policy
from discreet.policy.miss_rate import read_miss_rate
from discreet.policy.specs import policy as make_policy
from discreet.text.reading import read


class LightNoise(BaseModel):
    """Phase 1 as a private phase with less noise."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    noise: Annotated[float, Field(gt=0)]
    epochs: Annotated[int, Field(ge=1)] | None = None
    """Expected passes; None: those of phase 2."""
    learning_rate: Annotated[float, Field(gt=0)] | None = None


class JFTOptions(PrivateOptions):
    screened: str | None = None
    """A file of records whose secrets a person has marked, all of them: phase 1 reads these alone."""
    light: LightNoise | None = None
    existing: str | None = None
    """A finished run of mechanism `redacted` on the same corpus and policy, in place of phase 1."""
    missed: Annotated[int, Field(ge=0)] | None = None
    sample: Annotated[int, Field(ge=1)] | None = None
    """Of `sample` secrets checked by hand the policy had overlooked `missed`; or give the file `miss_rate`."""
    miss_rate: str | None = None
    """A file that says both, as `discreet measure --miss-rate` and screening write it, for the policy of this run."""
    public_vocabulary: bool = False
    """Declares public the redacted text that the tokenizer is trained on: it holds what the policy missed."""

    @model_validator(mode="after")
    def _one_form(self) -> "JFTOptions":
        if sum(form is not None for form in (self.screened, self.light, self.existing)) > 1:
            raise ValueError("phase 1 has one form; give one of screened, light and existing")
        if self.miss_rate is not None and (self.missed, self.sample) != (None, None):
            raise ValueError("give miss_rate (a file) or missed and sample, not both")
        if (self.missed is None) != (self.sample is None):
            raise ValueError("missed and sample belong together")
        return self


@MECHANISMS.register("jft")
class JustFineTuneTwiceMechanism:
    """Learns from redacted text, then from all text with clipped, noised gradients."""

    needs_policy = True
    Options = JFTOptions

    def train(self, training: Training, options: JFTOptions) -> Guarantee:
        missed, sample = checked_sample(options, training.policy)
        if sample is not None and training.recipe.redaction.style != "mask":
            raise SettingError(
                "A miss rate gives an average over secrets against their masks, so all secrets must be masked alike; "
                "leave out the miss rate, or leave redaction.style at mask."
            )
        if options.light is not None or options.screened is not None:  # else nothing is claimed for missed secrets
            check_vocabulary(training, options.public_vocabulary)
        examples = training.encoded("train")
        units = training.unit_count(examples, options.unit)
        epochs = options.epochs or training.recipe.training.epochs
        plan = planned("jft", options, units, epochs)
        first = phase_1(training, options, plan, epochs)
        second = run_phase(training, examples, plan, options, phase="phase 2")
        notion = JustFineTuneTwice(
            phase1=first.plan if first else None,
            phase2=plan,
            screened=options.screened is not None,
            missed=missed,
            sample=sample,
            delta=delta_of(options, units),
            records=units,
            spent=second.spent | (first.spent if first else {}),
            checked=second.checked,
        )
        return notion.guarantee()


def phase_1(training: Training, options: JFTOptions, plan: Plan, epochs: int) -> Phase | None:
    """Trains on redacted text in the form that is asked for; what it has spent, where it is private itself."""
    if options.existing is not None:
        check_existing(training, Path(options.existing))
        return None
    if options.light is not None:
        return lightly_noised(training, options, options.light, plan, epochs)
    if options.screened is not None:
        screened = read(Path(options.screened))
        redacted = training.redacted_of(screened.records("train"), make_policy("gold"), options.screened)
    else:
        redacted = training.redacted("train")
    training.fit_public(redacted, choose=options.validation == "public")
    return None


def lightly_noised(training: Training, options: JFTOptions, light: LightNoise, plan: Plan, epochs: int) -> Phase:
    """Phase 1 as DP-SGD on redacted text."""
    steps = plan.steps_per_epoch * (light.epochs or epochs)
    first = plan.with_noise(light.noise).with_steps(steps)
    rate = light.learning_rate or options.learning_rate
    own = options.model_copy(update={"learning_rate": rate})
    return run_phase(training, training.redacted("train"), first, own, phase="phase 1")


def checked_sample(options: JFTOptions, policy: Policy) -> tuple[int | None, int | None]:
    """How many of how many hand-checked secrets the policy missed."""
    if options.miss_rate is None:
        return options.missed, options.sample
    rate = read_miss_rate(Path(options.miss_rate)).check(policy.fingerprint(), options.miss_rate)
    return rate.missed, rate.sample

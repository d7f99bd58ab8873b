"""Selective differential privacy: a secret may be replaced by another, all public text stays.

Two trainers, two formulas (ACCOUNTING.md, section 2; derived in docs/accounting.md):

- `SelectivePrivacy`, formula B, for the mechanism `selective`: public updates see redacted text only, each private
  step draws its own Poisson batch and releases one clipped, noised sum. Sampling amplifies. `segments` updates on one
  draw are one step with sigma / sqrt(segments), not that many steps.
- `SelectivePaper`, formula A, for `selective-paper`, the published Algorithm 1: its un-noised public updates give
  away who is in the batch, so nothing is amplified. A participation releases S gradients and S * states hidden
  states.

    >>> from discreet.engine.plan import Plan
    >>> plan = Plan(rate=1, steps=37, noise=0.5, neighbours="replace", sampling="shuffled")
    >>> round(SelectivePaper(plan=plan, state_noise=0.5, delta=8e-5).epsilon)
    1046
"""

import math
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from discreet.accounting import rdp
from discreet.accounting.dp import own_accountant, plan_accountant, renyi_check
from discreet.accounting.gaussian import Gaussian, Participations
from discreet.accounting.guarantee import Accountant, Bound, CrossCheck, PaperCount
from discreet.accounting.notion import STEP_ASSUMPTIONS, Assumed, Notion, PlanField, finite, replacing
from discreet.accounting.pld import GRID
from discreet.accounting.profile import Profile
from discreet.accounting.samplers import compose_plans
from discreet.engine.plan import Plan
from discreet.errors import RefusedError, SettingError

SENSITIVITY = 2
"""Replacing a secret moves a clipped vector by up to two clip norms."""

POLICY_ASSUMPTIONS = (
    Assumed("mask", "Replacing a secret changes neither the policy's answer nor the number and place of the tokens."),
    Assumed("targets", "The loss that has a secret's first token as its target belongs to the private update."),
    Assumed("tokens", "No token straddles the edge of a secret, and the tokenizer was not trained on secrets."),
    Assumed("one-record", "A secret stands in one {unit}; one that stands in k of them needs group accounting."),
    Assumed("no-carry-between", "No state is carried from one {unit} to the next."),
)
NOT_PROTECTED = (
    "secrets the policy does not find",
    "all text outside of secrets, also where it hints at one",
    "how many secrets a record holds, of which kinds, where they stand and how long they are",
)


class Selective(Notion):
    """What both forms share."""

    plan: PlanField
    segments: int = Field(default=1, ge=1)
    """Private updates a record takes part in per draw (the most any record has); 1 for one joint update."""
    state_noise: float | None = None
    """Noise multiplier of released hidden states; None where no state leaves a private segment."""
    states: int = Field(default=2, ge=1)
    """Tensors released per segment: 2 for an LSTM's h and c clipped apart, 1 where they are clipped jointly."""

    name: ClassVar[str] = "selective differential privacy"

    @field_validator("plan")
    @classmethod
    def _neighbours_replace(cls, plan: Plan) -> Plan:
        return replacing(plan, "Selective differential privacy")

    @field_validator("state_noise")
    @classmethod
    def _noise_is_positive(cls, noise: float | None) -> float | None:
        if noise is not None and not 0 < noise < math.inf:
            raise SettingError(
                f"The noise on hidden states must be positive, not {noise:g}; leave it out for no states."
            )
        return noise

    def neighbours_in_words(self) -> str:
        return (
            f"Two corpora are neighbours when they differ in one {self.unit}, and there only in the secrets: their "
            "number, kinds, places and lengths and all text around them are the same."
        )

    def bounds(self) -> tuple[Bound, ...]:
        subject = f"all secrets of one {self.unit} that the policy finds"
        return (Bound(subject=subject, epsilon=finite(self.epsilon), delta=self.delta),)

    def not_protected(self) -> tuple[str, ...]:
        return NOT_PROTECTED

    def state_mu(self) -> float:
        """Mean distance of the hidden states that one participation releases."""
        if self.state_noise is None:
            return 0.0
        return SENSITIVITY * math.sqrt(self.segments * self.states) / self.state_noise


class SelectivePrivacy(Selective):
    """Formula B: private batches of their own, public updates on redacted text."""

    form: Literal["selective"] = "selective"
    public_passes: int = 0
    """How often a record's noised state enters public updates, which reveal that it did; 0 without state carry."""

    def plans(self) -> tuple[tuple[str, Plan], ...]:
        return (("private updates on the secrets", self.plan),)

    def effective(self) -> Plan:
        """The plan with the noise that all segments of a draw leave together."""
        plan = self.counted(self.plan)
        return replace(plan, noise=plan.noise / math.sqrt(self.segments))

    def profile(self, finest: float = GRID) -> Profile:
        if (self.state_noise is None) != (self.public_passes == 0):
            raise SettingError("A state carry needs both its noise and the number of public passes that use it.")
        carried = self.state_mu() * math.sqrt(self.public_passes)
        return compose_plans([self.effective()], finest, [Gaussian(carried)] if carried else [])

    def headline(self, finest: float = GRID) -> float:
        return self.profile(finest).epsilon(self.delta)

    def assumed(self) -> tuple[Assumed, ...]:
        public = Assumed(
            "public-updates", "Public updates read redacted text only, and no state that has seen a secret."
        )
        own = Assumed("own-batches", "Private batches are drawn on their own, independently of the public ones.")
        return *STEP_ASSUMPTIONS, public, own, *POLICY_ASSUMPTIONS

    def released(self) -> tuple[str, ...]:
        return ("the model after every update, public or private", "all text with its secrets redacted")

    def accountant(self) -> Accountant | None:
        return plan_accountant((self.plan,))

    def cross_check(self) -> CrossCheck | None:
        return None if self.state_noise is not None else renyi_check([self.effective()], self.delta)

    def paper(self) -> PaperCount | None:
        return segments_as_steps(self.counted(self.plan), self.segments, self.delta)


class SelectivePaper(Selective):
    """Formula A: the published algorithm, everything released, nothing amplified."""

    form: Literal["selective-paper"] = "selective-paper"

    @field_validator("plan")
    @classmethod
    def _batches_do_not_depend_on_data(cls, plan: Plan) -> Plan:
        if plan.sampling not in ("shuffled", "poisson"):
            raise RefusedError(
                f"Formula A is stated for shuffled epochs and Poisson batches, not for {plan.sampling}; "
                "a fresh draw of fixed size is best run as shuffled epochs."
            )
        return plan

    def plans(self) -> tuple[tuple[str, Plan], ...]:
        return (("gradients and hidden states of private segments", self.plan),)

    def participation_mu(self) -> float:
        """mu_1 of formula A: all releases of one participation together."""
        return math.hypot(SENSITIVITY * math.sqrt(self.segments) / self.plan.noise, self.state_mu())

    def profile(self) -> Profile:
        plan = self.counted(self.plan)
        if plan.sampling == "poisson" and plan.rate < 1:
            return Participations(self.participation_mu(), plan.rate, plan.steps)
        return Gaussian(self.participation_mu() * math.sqrt(plan.epochs))

    def headline(self, finest: float = GRID) -> float:
        return self.profile().epsilon(self.delta)

    @property
    def exact(self) -> bool:
        return True

    def assumed(self) -> tuple[Assumed, ...]:
        most = Assumed("segments", "No record has more private segments than the number accounted for.")
        joint = "each of h and c" if self.states > 1 else "h and c together"
        states = Assumed("states", f"A state that leaves a private segment is clipped ({joint}) and noised, or reset.")
        return *STEP_ASSUMPTIONS, most, states, *POLICY_ASSUMPTIONS

    def released(self) -> tuple[str, ...]:
        return (
            "the model after every update, public or private, and with it who was in which batch",
            "the noised hidden states that private segments hand on" if self.state_noise else "no hidden states",
        )

    def accountant(self) -> Accountant | None:
        return own_accountant("formula A: Gaussian releases without amplification")

    def warnings(self) -> tuple[str, ...]:
        return (
            "The published algorithm gets no amplification from sampling: its public updates reveal the batches. "
            "The mechanism 'selective' protects the same secrets at a far smaller epsilon.",
        )

    def paper(self) -> PaperCount | None:
        plan = self.counted(self.plan)
        return segments_as_steps(plan, self.segments, self.delta) if plan.rate < 1 else None

    def answers(self) -> dict[str, Any]:
        return {"mu": self.participation_mu(), "state_noise": self.state_noise}


def segments_as_steps(plan: Plan, segments: int, delta: float) -> PaperCount | None:
    """As the S-DP paper's code counts: every segment an amplified step of its own, hidden states not counted."""
    if delta == 0:
        return None
    return PaperCount(
        recipe="each segment counted as one more Poisson step, add/remove, Renyi divergences converted as before 2020, "
        "hidden states left out",
        epsilon=finite(rdp.as_the_papers_count(plan.noise, plan.rate, plan.steps * segments, delta)),
        why_not="segments of one draw are not independent draws, a replaced secret moves the sum twice as far, and the "
        "published algorithm reveals its batches",
    )

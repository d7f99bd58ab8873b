"""Just Fine-tune Twice: phase 1 on redacted text, phase 2 private on all text. Three honest numbers instead of one.

- *detected*: a secret the policy masks is used in phase 2 only;
- *missed*: one it overlooks is used in both phases, so their loss distributions are composed;
- *average*: over secrets of which a share of at most gamma is missed, delta(eps) = (1-gamma) d2(eps) + gamma
  d12(eps), with gamma the Clopper-Pearson upper limit of a checked sample (secret against mask).

    >>> from discreet.engine.plan import Plan
    >>> plan = Plan(rate=1024/36718, steps=3586, noise=5.1549, neighbours="replace")
    >>> both = JustFineTuneTwice(phase1=plan.with_noise(3.0), phase2=plan, missed=12, sample=150, delta=1e-6)
    >>> [round(e, 2) for e in (both.epsilon_detected, both.epsilon_missed, both.epsilon_average)]
    [3.0, 6.53, 5.97]

The paper's own interval multiplies the sampling rate by the miss rate. That is an estimate and is labelled so:
sampling is over records, and a miss is fixed for the whole run, not drawn anew in each step (ACCOUNTING.md, section
3).
"""

import math
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import field_validator

from discreet.accounting import rdp
from discreet.accounting.dp import plan_accountant
from discreet.accounting.guarantee import Accountant, Bound, MissRate, PaperCount
from discreet.accounting.notion import STEP_ASSUMPTIONS, Assumed, Notion, PlanField, finite, measured, replacing
from discreet.accounting.pld import GRID
from discreet.accounting.profile import Mixed, Open, Profile, Unseen
from discreet.accounting.samplers import compose, compose_plans, grid_of, profile_of
from discreet.accounting.selective import NOT_PROTECTED, POLICY_ASSUMPTIONS
from discreet.engine.plan import Plan


class JustFineTuneTwice(Notion):
    """Detected secrets pay for one phase, missed ones for two."""

    form: Literal["jft"] = "jft"
    phase1: PlanField | None = None
    """The plan of phase 1 where it is lightly noised; None for plain training on redacted text."""
    phase2: PlanField
    screened: bool = False
    """Phase 1 used only text in which a person has marked every secret, chosen without looking at secrets."""
    missed: int | None = None
    sample: int | None = None
    """Of `sample` secrets checked by hand the policy had overlooked `missed`."""
    confidence: float = 0.95

    name: ClassVar[str] = "selective differential privacy"

    @field_validator("phase1", "phase2")
    @classmethod
    def _neighbours_replace(cls, plan: Plan | None) -> Plan | None:
        return None if plan is None else replacing(plan, "Selective differential privacy")

    def plans(self) -> tuple[tuple[str, Plan], ...]:
        second = ("phase 2, private training on all text", self.phase2)
        return (
            (("phase 1, lightly noised training on redacted text", self.phase1), second) if self.phase1 else (second,)
        )

    @cached_property
    def profiles(self) -> tuple[Profile, Profile]:
        """Of a detected and of a missed secret, on one grid."""
        second = self.counted(self.phase2)
        first = self.counted(self.phase1) if self.phase1 else None
        grid = max(grid_of(plan) for plan in (first, second) if plan)
        detected = profile_of(second, grid=grid)
        if first:
            return detected, compose([profile_of(first, grid=grid), detected])
        return detected, compose([Unseen() if self.screened else Open(), detected])

    def headline(self, finest: float = GRID) -> float:
        return compose_plans([self.counted(self.phase2)], finest).epsilon(self.delta)

    @property
    def epsilon_detected(self) -> float:
        return self.epsilon

    @cached_property
    def epsilon_missed(self) -> float:
        return self.profiles[1].epsilon(self.delta)

    @cached_property
    def epsilon_average(self) -> float | None:
        """Over secrets missed at the sample's upper limit; None where no sample was checked."""
        rate = self.miss_rate()
        if rate is None:
            return None
        detected, missed = self.profiles
        return Mixed(((1 - rate.high, detected), (rate.high, missed))).epsilon(self.delta)

    def miss_rate(self) -> MissRate | None:
        return measured(self.missed, self.sample, self.confidence)

    def bounds(self) -> tuple[Bound, ...]:
        detected = Bound(subject="a secret the policy finds", epsilon=finite(self.epsilon), delta=self.delta)
        missed = Bound(subject="a secret the policy misses", epsilon=finite(self.epsilon_missed), delta=self.delta)
        if self.epsilon_average is None:
            return detected, missed
        subject = "a secret of unknown fate, compared with its mask, on average over what the policy misses"
        return detected, missed, Bound(subject=subject, epsilon=finite(self.epsilon_average), delta=self.delta)

    def paper(self) -> PaperCount | None:
        if self.delta == 0:
            return None
        first, rate, second = self.phase1, self.miss_rate(), self.counted(self.phase2)
        why_not = (
            "sampling is over records, so a missed secret enters with the full rate, and a miss is fixed for the run"
        )
        theorem = rdp.cross_check(second.noise, second.rate, second.steps, False, self.delta)
        if first is None or rate is None:
            recipe = "Theorem 1: the add/remove epsilon of phase 2 (Renyi divergences), phase 1 taken as free"
            return PaperCount(
                recipe=recipe, epsilon=finite(theorem), why_not="it assumes that the policy misses nothing"
            )
        plan = self.counted(first)
        low, high = (paper_estimate(plan, share, self.delta) for share in (rate.low, rate.high))
        recipe = (
            "empirical estimate: phase 1 at its rate times each end of the miss rate, add/remove, Renyi divergences"
        )
        return PaperCount(recipe=recipe, epsilon=finite(theorem), low=finite(low), high=finite(high), why_not=why_not)

    def answers(self) -> dict[str, Any]:
        paper, rate = self.paper(), self.miss_rate()
        average = self.epsilon_average
        return {
            "epsilon_detected": finite(self.epsilon),
            "epsilon_missed": finite(self.epsilon_missed),
            "epsilon_average": None if average is None else finite(average),
            "epsilon_paper_low": paper.low if paper else None,
            "epsilon_paper_high": paper.high if paper else None,
            "phase1_noise": self.phase1.noise if self.phase1 else None,
            "miss_rate": rate.model_dump() if rate else None,
        }

    def assumed(self) -> tuple[Assumed, ...]:
        found = [
            Assumed("redaction", "Phase 1 reads text in which every secret the policy finds is replaced by the mask."),
            Assumed("mask-alone", "The mask does not change with the secret: not in length, number or kind."),
        ]
        if self.screened:
            found.append(
                Assumed("screening", "The text of phase 1 was chosen without looking at secrets and screened fully.")
            )
        if self.missed is not None:
            found.append(Assumed("sample", "The checked secrets are a fair sample; those of one record are dependent."))
        return *STEP_ASSUMPTIONS, *found, *POLICY_ASSUMPTIONS

    def released(self) -> tuple[str, ...]:
        return ("the model after phase 1 and after every step of phase 2", "all text with its secrets redacted")

    def not_protected(self) -> tuple[str, ...]:
        missed = "secrets the policy misses, beyond the bound stated for them"
        clear = "secrets the policy misses: phase 1 trains on them in clear"
        return clear if math.isinf(self.epsilon_missed) else missed, *NOT_PROTECTED[1:]

    def accountant(self) -> Accountant | None:
        return plan_accountant(tuple(plan for _, plan in self.plans()))


def paper_estimate(plan: Plan, share: float, delta: float) -> float:
    """The paper's recipe: the accountant at the sampling rate times the share of missed tokens. Not a guarantee."""
    return rdp.cross_check(plan.noise, plan.rate * share, plan.steps, False, delta) if share > 0 else 0.0


def amplified(epsilon: float, rate: float) -> float:
    """log(1 + rate (e^epsilon - 1)): epsilon after one draw with this rate (Balle, Barthe and Gaboardi 2018)."""
    if epsilon > 30:
        return epsilon + math.log(rate + (1 - rate) * math.exp(-epsilon)) if rate > 0 else 0.0
    return math.log1p(rate * math.expm1(epsilon))

"""Confidentiality: a secret against its mask, for CRT (Zhao et al. 2022).

    >>> from discreet.engine.plan import Plan
    >>> plan = Plan(rate=0.0256, steps=390, noise=1.8460108, neighbours="replace")
    >>> crt = Confidentiality(plan=plan, miss=0.1, group=3, delta=8e-5)
    >>> round(crt.epsilon, 4), round(crt.epsilon_bayesian, 4)
    (1.9279, 0.3173)

- *worst case* (Prop. 5, Theorem 8.1): a secret that redaction masked costs nothing, one it left costs the epsilon of
  DP-SGD under replace-one, since secret to mask is a replacement.
- *group* (Prop. 5, 7, Theorem 8.2 as corrected): k surviving sentences that hold the secret cost k epsilon, at delta
  (e^(k epsilon) - 1) / (e^epsilon - 1).
- *Bayesian* (Prop. 6, Theorem 8.3): for a secret drawn from a distribution of which the policy misses the share
  gamma, log(1 + gamma (e^(epsilon((delta - delta2) / gamma)) - 1)) at delta; delta2 bounds what the conservative
  policy misses too.

gamma is a *miss* rate throughout (the printed Theorem 8.2 says "detects"). It applies once to the whole run, never
per step.
"""

import math
from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from discreet.accounting import rdp
from discreet.accounting.dp import own_accountant, plan_accountant, renyi_check
from discreet.accounting.group import group as group_of
from discreet.accounting.guarantee import Accountant, Bound, CrossCheck, MissRate, PaperCount
from discreet.accounting.jft import amplified
from discreet.accounting.notion import STEP_ASSUMPTIONS, Assumed, Notion, PlanField, finite, measured, replacing
from discreet.accounting.pld import GRID
from discreet.accounting.profile import Profile
from discreet.accounting.samplers import compose_plans
from discreet.engine.plan import Plan
from discreet.errors import SettingError


class Confidentiality(Notion):
    """Nobody can tell whether the corpus held the secret or a mask in its place."""

    form: Literal["crt"] = "crt"
    plan: PlanField | None = None
    claimed: float | None = Field(default=None, gt=0)
    """Without a plan: the replace-one epsilon, at delta, of a training that was accounted elsewhere."""
    miss: float | None = Field(default=None, description="gamma, the share of secrets the policy misses")
    missed: int | None = None
    sample: int | None = None
    """Of `sample` secrets checked by hand the policy had overlooked `missed`; gamma is then the upper limit."""
    conservative_miss: float = 0.0
    """delta2: the share that the conservative policy misses as well, and trains on in clear."""
    group: int = Field(default=1, ge=1)
    """Distinct sentences that hold the secret and survive redaction and deduplication."""

    name: ClassVar[str] = "confidentiality"

    @field_validator("plan")
    @classmethod
    def _neighbours_replace(cls, plan: Plan | None) -> Plan | None:
        return None if plan is None else replacing(plan, "Confidentiality")

    @model_validator(mode="after")
    def _plan_or_claim(self) -> "Confidentiality":
        if (self.plan is None) == (self.claimed is None):
            raise SettingError(
                "Confidentiality follows from a plan, or from an epsilon claimed for the private training."
            )
        return self

    @field_validator("miss", "conservative_miss")
    @classmethod
    def _share(cls, share: float | None) -> float | None:
        if share is not None and not 0 <= share <= 1:
            raise SettingError(f"A miss rate lies between 0 and 1, not {share:g}.")
        return share

    def plans(self) -> tuple[tuple[str, Plan], ...]:
        return (("private training on the records that may hold secrets", self.plan),) if self.plan else ()

    @property
    def neighbours(self) -> str:
        return "replace"

    def profile(self, finest: float = GRID) -> Profile:
        if self.plan is None:
            raise SettingError("An epsilon claimed at one delta has no profile.")
        return compose_plans([self.counted(self.plan)], finest)

    def headline(self, finest: float = GRID) -> float:
        return self.claimed if self.claimed is not None else self.profile(finest).epsilon(self.delta)

    @property
    def gamma(self) -> float | None:
        rate = self.miss_rate()
        return rate.high if rate else self.miss

    @cached_property
    def epsilon_bayesian(self) -> float | None:
        """At `delta_bayesian`; None where no miss rate is known."""
        if self.gamma is None:
            return None
        if self.claimed is not None:
            return amplified(self.claimed, self.gamma)
        return bayesian(self.profile(), self.delta, self.gamma, self.conservative_miss)

    @property
    def delta_bayesian(self) -> float | None:
        """Delta itself, spent well; from a claimed epsilon it is gamma delta + delta2 (Theorem 8.3)."""
        if self.gamma is None:
            return None
        return self.delta if self.claimed is None else min(1.0, self.gamma * self.delta + self.conservative_miss)

    def group_bound(self) -> tuple[float, float]:
        return group_of(self.epsilon, self.delta, self.group)

    def miss_rate(self) -> MissRate | None:
        return measured(self.missed, self.sample)

    def bounds(self) -> tuple[Bound, ...]:
        left = "a secret that redaction left in one sentence, where the conservative policy finds it"
        found = [
            Bound(subject=left, epsilon=finite(self.epsilon), delta=self.delta),
            Bound(subject="a secret that redaction masked", epsilon=0.0, delta=0.0),
        ]
        if self.epsilon_bayesian is not None:
            subject = f"a secret drawn at random, of which redaction misses a share of at most {self.gamma:.4g}"
            found.append(Bound(subject=subject, epsilon=finite(self.epsilon_bayesian), delta=self.delta_bayesian))
        if self.group > 1:
            epsilon, delta = self.group_bound()
            subject = f"a secret left in {self.group} distinct sentences"
            found.append(Bound(subject=subject, epsilon=finite(epsilon), delta=delta))
        return tuple(found)

    def answers(self) -> dict[str, Any]:
        epsilon, delta = self.group_bound()
        bayesian_epsilon = self.epsilon_bayesian
        return {
            "epsilon_bayesian": None if bayesian_epsilon is None else finite(bayesian_epsilon),
            "delta_bayesian": self.delta_bayesian,
            "epsilon_group": finite(epsilon),
            "delta_group": delta,
            "miss": self.gamma,
            "group": self.group,
        }

    def neighbours_in_words(self) -> str:
        return "Two corpora are neighbours when one holds a secret where the other holds the mask."

    def assumed(self) -> tuple[Assumed, ...]:
        own = [
            Assumed(
                "split", "Every record with a hit of the conservative policy, or with a mask, is trained on privately."
            ),
            Assumed("alone", "What the policy says of other tokens does not depend on the secret."),
            Assumed("literal-mask", "The input holds no literal mask of its own."),
            Assumed("sentences", "Records are whole sentences; copies are counted after deduplication."),
            Assumed("vocabulary", "The tokenizer was trained on other text, or on public text."),
        ]
        if self.gamma is not None:
            own.append(
                Assumed("miss-rate", "The policy misses at most the stated share of secrets like those to protect.")
            )
        own.append(
            Assumed("conservative", "The conservative policy misses at most the stated share (delta2) of secrets.")
        )
        if self.claimed is not None:
            own.insert(0, Assumed("claimed-epsilon", "The private training has the claimed epsilon under replace-one."))
            return tuple(own)
        return *STEP_ASSUMPTIONS, *own

    def released(self) -> tuple[str, ...]:
        return ("the model after every update, public or private", "all records without a hit of either policy")

    def not_protected(self) -> tuple[str, ...]:
        return (
            "secrets that both policies miss: they are trained on in clear",
            "that a secret stood in some place, and all text around it",
            "one secret in more distinct sentences than the stated group",
        )

    def accountant(self) -> Accountant | None:
        return plan_accountant((self.plan,)) if self.plan else own_accountant("formulas on a claimed epsilon")

    def cross_check(self) -> CrossCheck | None:
        return renyi_check([self.counted(self.plan)], self.delta) if self.plan else None

    def warnings(self) -> tuple[str, ...]:
        found = []
        if self.conservative_miss >= self.delta and self.gamma is not None and self.plan is not None:
            found.append("The conservative policy's share delta2 is not below delta: no Bayesian epsilon follows.")
        if self.group > 1 and self.group_bound()[1] > 0.1:
            found.append(f"The delta of a group of {self.group} is {self.group_bound()[1]:.3g}: that says nothing.")
        return tuple(found)

    def paper(self) -> PaperCount | None:
        if self.delta == 0 or self.plan is None:
            return None
        plan = self.counted(self.plan)
        gamma = 1.0 if self.gamma is None else self.gamma
        epsilon = 0.0
        if 0 < self.delta / max(gamma, 1e-300) < 1:
            run = rdp.cross_check(plan.noise, plan.rate, plan.steps, False, self.delta / gamma)
            epsilon = amplified(run, gamma)
        return PaperCount(
            recipe="add/remove epsilon of DP-SGD at delta/gamma by Renyi divergences, amplified by the miss rate",
            epsilon=finite(epsilon),
            why_not="a secret against its mask is a replacement, for which add/remove is a smaller claim",
        )


def bayesian(profile: Profile, delta: float, gamma: float, conservative_miss: float = 0.0) -> float:
    """Proposition 6 with all of delta spent well: epsilon at (delta - delta2) / gamma, amplified once by gamma."""
    if delta <= conservative_miss and (conservative_miss > 0 or gamma > 0):
        return math.inf
    share = (delta - conservative_miss) / gamma if gamma > 0 else math.inf
    return amplified(profile.epsilon(share), gamma) if share < 1 else 0.0


def theorem_8_2(epsilon: float, delta: float, members: int, miss: float) -> tuple[float, float]:
    """The paper's group bound as corrected: of `members` copies the share `miss` is left (ACCOUNTING.md, section 4)."""
    left = miss * members
    return left * epsilon, min(1.0, left * math.exp(left * epsilon) * delta)

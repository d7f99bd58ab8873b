"""Differential privacy of whole records or authors: the classical notion, for DP-SGD.

    >>> from discreet.engine.plan import Plan
    >>> plan = Plan(rate=0.01, steps=1000, noise=1.0, neighbours="add-remove")
    >>> round(DifferentialPrivacy(phases=(plan,), delta=1e-5).epsilon, 3)
    1.828

Several plans are phases of one training and are composed. `group` asks in addition what so many copies of a record,
or so many records of one author, cost together when the plan samples and clips single records.
"""

from functools import cached_property
from importlib.metadata import version
from typing import Any, ClassVar, Literal

from pydantic import field_validator

from discreet.accounting import rdp
from discreet.accounting.group import Chained
from discreet.accounting.guarantee import Accountant, Bound, CrossCheck, PaperCount
from discreet.accounting.notion import STEP_ASSUMPTIONS, Assumed, Notion, PlanField, finite
from discreet.accounting.pld import GRID
from discreet.accounting.profile import Profile
from discreet.accounting.samplers import compose_plans, grid_of, profile_of
from discreet.engine.plan import Plan
from discreet.errors import SettingError


class DifferentialPrivacy(Notion):
    """Whatever one record (or author) says, the released model is nearly the same."""

    form: Literal["dp-sgd"] = "dp-sgd"
    phases: tuple[PlanField, ...]
    group: int = 1

    name: ClassVar[str] = "differential privacy"

    @field_validator("phases")
    @classmethod
    def _phases_agree(cls, phases: tuple[Plan, ...]) -> tuple[Plan, ...]:
        if not phases:
            raise SettingError("Differential privacy is stated for at least one plan.")
        if len({(plan.neighbours, plan.unit) for plan in phases}) > 1:
            raise SettingError("The phases of one training must have the same neighbours and the same unit.")
        return phases

    def plans(self) -> tuple[tuple[str, Plan], ...]:
        return tuple((f"private training, phase {i}", plan) for i, plan in enumerate(self.phases, start=1))

    def profile(self, finest: float = GRID) -> Profile:
        return compose_plans([self.counted(plan) for plan in self.phases], finest)

    def headline(self, finest: float = GRID) -> float:
        return self.profile(finest).epsilon(self.delta)

    @cached_property
    def epsilon_group(self) -> float:
        """Epsilon of the group at the same delta."""
        if len(self.phases) == 1:
            plan = self.counted(self.phases[0])
            return profile_of(plan, number=self.group, grid=grid_of(plan)).epsilon(self.delta)
        return Chained(self.profile(), self.group).epsilon(self.delta)

    def bounds(self) -> tuple[Bound, ...]:
        one = Bound(subject=f"one {self.unit}", epsilon=finite(self.epsilon), delta=self.delta)
        if self.group == 1:
            return (one,)
        subject = f"{self.group} copies of a {self.unit}, or {self.group} {self.unit}s together"
        return one, Bound(subject=subject, epsilon=finite(self.epsilon_group), delta=self.delta)

    def answers(self) -> dict[str, Any]:
        return {"epsilon_group": finite(self.epsilon_group), "delta_group": self.delta} if self.group > 1 else {}

    def assumed(self) -> tuple[Assumed, ...]:
        vocabulary = Assumed(
            "vocabulary", "The tokenizer was trained on other text than the {unit}s, or on public text."
        )
        return *STEP_ASSUMPTIONS, vocabulary

    def released(self) -> tuple[str, ...]:
        return ("the model after every private step, and anything computed from it without the private text",)

    def not_protected(self) -> tuple[str, ...]:
        several = "what several records have in common, such as a secret that stands in many of them"
        whole = "what several authors have in common, and the fact that an author wrote"
        return (several if self.unit == "record" else whole, "the number of records", "how the corpus was collected")

    def accountant(self) -> Accountant | None:
        return plan_accountant(self.phases)

    def paper(self) -> PaperCount | None:
        return papers_count([self.counted(plan) for plan in self.phases], self.delta)

    def cross_check(self) -> CrossCheck | None:
        return renyi_check([self.counted(plan) for plan in self.phases], self.delta)


def own_accountant(method: str) -> Accountant:
    """For what is computed here, without a library's accountant."""
    return Accountant(name="discreet", version=version("discreet"), method=method)


def plan_accountant(plans: tuple[Plan, ...]) -> Accountant:
    """Which library counted, and how, for plans of these kinds."""
    library = {"name": "dp-accounting", "version": version("dp-accounting")}
    if all(plan.sampling == "fixed-size" for plan in plans):
        return Accountant(**library, method="Renyi divergences of sampling without replacement")
    if all(plan.sampling == "shuffled" or (plan.sampling == "poisson" and plan.rate == 1) for plan in plans):
        return own_accountant("closed form of Gaussian releases")
    return Accountant(**library, method="privacy loss distributions")


def papers_count(plans: list[Plan], delta: float) -> PaperCount | None:
    """The number of the S-DP paper's code for one plan: shuffled batches taken for Poisson, pre-2020 conversion."""
    if len(plans) != 1 or delta == 0 or (plans[0].sampling == "shuffled" and plans[0].rate == 1):
        return None
    plan = plans[0]
    return PaperCount(
        recipe="Renyi divergences of add/remove Poisson sampling, converted as before 2020",
        epsilon=finite(rdp.as_the_papers_count(plan.noise, plan.rate, plan.steps, delta)),
        why_not="it is a looser count of a smaller claim, and false for batches that are not Poisson",
    )


def renyi_check(plans: list[Plan], delta: float) -> CrossCheck | None:
    """The same plan counted by Renyi divergences, where that is possible."""
    if len(plans) != 1 or plans[0].sampling != "poisson" or delta == 0:
        return None
    plan = plans[0]
    epsilon = rdp.cross_check(plan.noise, plan.rate, plan.steps, plan.neighbours == "replace", delta)
    return CrossCheck(method="Renyi divergences (looser)", epsilon=finite(epsilon))

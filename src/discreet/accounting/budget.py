"""The planner behind `discreet budget`: epsilon for a noise, noise for an epsilon, steps or rate for both.

    >>> answer = budget("dp-sgd", Setting(rate=0.01, steps=1000, noise=1.0, delta=1e-5))
    >>> round(answer.notion.epsilon, 3)
    1.828
    >>> round(budget("dp-sgd", Setting(rate=0.01, steps=1000, epsilon=3.0, delta=1e-5)).notion.noise, 2)
    0.81

One of noise, steps (or epochs) and rate (or batch) may be left open when `epsilon` is given: it is then solved for,
so that epsilon is reached to one in ten thousand and never exceeded. No data is touched and nothing is trained.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from pydantic import ValidationError

from discreet.accounting.calibrate import calibrate
from discreet.accounting.confidential import Confidentiality
from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.jft import JustFineTuneTwice
from discreet.accounting.metric import MetricPrivacy
from discreet.accounting.notion import Notion
from discreet.accounting.selective import SelectivePaper, SelectivePrivacy
from discreet.accounting.setting import Setting, completed
from discreet.engine.plan import Plan
from discreet.errors import RefusedError, SettingError, UnknownNameError
from discreet.registry import nearest


@dataclass(frozen=True)
class Answer:
    """The notion with everything filled in, and which setting was solved for."""

    notion: Notion
    solved: str | None

    @cached_property
    def guarantee(self) -> Guarantee:
        return self.notion.guarantee()

    def to_json(self) -> dict[str, Any]:
        guarantee = self.guarantee
        plans = [plan for _, plan in self.notion.plans()]
        return {
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "noise": self.notion.noise,
            "notion": guarantee.notion,
            "neighbours": guarantee.neighbours,
            "assumptions": [item.model_dump() for item in guarantee.assumptions],
            "mechanism": guarantee.mechanism,
            "neighbours_in_words": guarantee.neighbours_in_words,
            "rate": plans[-1].rate if plans else None,
            "steps": plans[-1].steps if plans else None,
            "solved": self.solved,
            **self.notion.answers(),
            "paper": guarantee.paper.model_dump() if guarantee.paper else None,
            "cross_check": guarantee.cross_check.model_dump() if guarantee.cross_check else None,
            "accountant": guarantee.accountant.model_dump() if guarantee.accountant else None,
            "warnings": list(guarantee.warnings),
        }


def budget(mechanism: str, setting: Setting) -> Answer:
    """Accounts for a setting, or solves for what it leaves open."""
    make = maker(mechanism)
    setting = completed(mechanism, setting)
    if mechanism in ("mdp", "smdp"):
        return Answer(make(setting), None)
    needed = ["noise", "steps", "rate"]
    missing = [name for name in needed if getattr(setting, name) is None]
    if setting.epsilon is None:
        if missing:
            raise SettingError(f"{_options(missing)} needed; or give --epsilon and leave one of them open.")
        return Answer(make(setting), None)
    if mechanism == "crt" and missing == needed:  # what follows from the epsilon of a training accounted elsewhere
        return Answer(make(setting), None)
    if len(missing) != 1:
        found = _options(missing) if missing else "nothing is"
        raise SettingError(f"With --epsilon exactly one of {_options(needed, '')} is left open; here {found} open.")
    return Answer(make(_solved(make, setting, missing[0])), missing[0])


def maker(mechanism: str) -> Callable[[Setting], Notion]:
    """The function that turns a complete setting into the mechanism's notion."""
    if mechanism in NO_EPSILON:
        raise RefusedError(
            f"'{mechanism}' has no epsilon: nothing is proved about it. Measure it with `discreet attack`."
        )
    if mechanism not in MAKERS:
        raise UnknownNameError(f"There is no mechanism called '{mechanism}'; {nearest(mechanism, MAKERS)}")

    def make(setting: Setting) -> Notion:
        try:
            return MAKERS[mechanism](setting)
        except ValidationError as error:
            first = error.errors()[0]
            raise SettingError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None

    return make


def _solved(make: Callable[[Setting], Notion], setting: Setting, name: str) -> Setting:
    """The setting with the open one filled in."""
    whole = name == "steps"

    def with_(x: float) -> Setting:
        known: dict[str, Any] = {name: int(x) if whole else float(x)}
        return replace(setting, **known)

    def epsilon_at(x: float, finest: float) -> float:
        return make(with_(x)).headline(finest)

    if setting.epsilon is None:
        raise SettingError("There is nothing to solve for without a target epsilon.")
    exact = make(with_(1)).exact if name != "rate" else False
    if name == "noise":
        return with_(calibrate(epsilon_at, setting.epsilon, what="noise", falling=True, exact=exact))
    if name == "rate":
        rate = calibrate(epsilon_at, setting.epsilon, what="rate", falling=False, start=0.01, least=1e-9, most=1.0)
        if setting.records and setting.records * rate >= 1:
            rate = math.floor(setting.records * rate * (1 + 1e-9)) / setting.records
        return with_(rate)
    steps = calibrate(
        epsilon_at, setting.epsilon, what="number of steps", falling=False, start=100, least=1, whole=True, exact=exact
    )
    return with_(steps)


def _shared(setting: Setting) -> dict[str, Any]:
    return {"delta": setting.delta, "records": setting.records}


def _dp(setting: Setting) -> Notion:
    return DifferentialPrivacy(
        phases=(_plan(setting, setting.neighbours or "add-remove"),),
        group=setting.group,
        **_shared(setting),
    )


def _selective(setting: Setting) -> Notion:
    plan = _plan(setting, setting.neighbours or "replace")
    return SelectivePrivacy(
        plan=plan,
        segments=setting.segments,
        state_noise=_state_noise(setting, plan) if setting.public_passes else None,
        states=max(1, setting.states),
        public_passes=setting.public_passes,
        **_shared(setting),
    )


def _selective_paper(setting: Setting) -> Notion:
    plan = _plan(setting, setting.neighbours or "replace")
    return SelectivePaper(
        plan=plan,
        segments=setting.segments,
        state_noise=_state_noise(setting, plan),
        states=max(1, setting.states),
        **_shared(setting),
    )


def _state_noise(setting: Setting, plan: Plan) -> float | None:
    if setting.state_noise == "none" or setting.states == 0:
        return None
    return plan.noise if setting.state_noise == "same" else setting.state_noise


def _jft(setting: Setting) -> Notion:
    second = _plan(setting, setting.neighbours or "replace")
    first = None
    if setting.phase1_noise != "none" and not setting.screened:
        noise = second.noise if setting.phase1_noise == "same" else setting.phase1_noise
        rate, steps = setting.phase1_rate or second.rate, setting.phase1_steps or second.steps
        first = replace(second, noise=float(noise), rate=rate, steps=steps)
    return JustFineTuneTwice(
        phase1=first,
        phase2=second,
        screened=setting.screened,
        missed=setting.missed,
        sample=setting.checked,
        **_shared(setting),
    )


def _crt(setting: Setting) -> Notion:
    bare = setting.noise is None and setting.rate is None and setting.steps is None
    return Confidentiality(
        plan=None if bare else _plan(setting, setting.neighbours or "replace"),
        claimed=setting.epsilon if bare else None,
        miss=setting.miss,
        missed=setting.missed,
        sample=setting.checked,
        conservative_miss=setting.conservative_miss,
        group=setting.group,
        **_shared(setting),
    )


def _metric(form: Literal["mdp", "smdp"]) -> Callable[[Setting], Notion]:
    def make(setting: Setting) -> Notion:
        if setting.neighbours not in (None, "replace"):
            raise RefusedError("Metric privacy compares words that are exchanged; use neighbours 'replace'.")
        if (setting.epsilon is None) == (setting.noise is None):
            raise SettingError(f"{form} needs either --epsilon, per unit of distance, or --noise, which is 1/epsilon.")
        per_distance = setting.epsilon if setting.epsilon is not None else 1 / _positive("--noise", setting.noise)
        return MetricPrivacy(
            form=form,
            per_distance=_positive("--epsilon", per_distance),
            distances=_distances(setting),
            draws=setting.draws,
            dimension=setting.dimension,
            unknown_words=setting.unknown_words,
        )

    return make


def _distances(setting: Setting) -> tuple[float, ...]:
    distances = setting.distances or (1.0,)
    words = setting.words if setting.words is not None else len(distances)
    if words < 1 or (len(distances) > 1 and words != len(distances)):
        raise SettingError(f"{len(distances)} distances were given for {words} words; give one, or one for each word.")
    return distances if len(distances) == words else distances * words


def _plan(setting: Setting, neighbours: str) -> Plan:
    if setting.rate is None or setting.steps is None or setting.noise is None:
        raise SettingError("A plan needs --rate, --steps and --noise.")
    return Plan(
        rate=setting.rate,
        steps=setting.steps,
        noise=setting.noise,
        neighbours=neighbours,
        sampling=setting.sampling or "poisson",
        clip=setting.clip,
        unit=setting.unit,
        population=setting.records,
        max_batch=setting.max_batch,
    )


def _options(names: list[str], verb: str = "is") -> str:
    shown = ", ".join(f"--{name}" for name in names)
    if not verb:
        return shown
    return f"{shown} {'are' if len(names) > 1 else verb}"


def _positive(what: str, value: float | None) -> float:
    if value is None or not 0 < value < math.inf:
        raise SettingError(f"{what} must be a positive number, not {value}.")
    return value


MAKERS: dict[str, Callable[[Setting], Notion]] = {
    "dp-sgd": _dp,
    "selective": _selective,
    "selective-paper": _selective_paper,
    "jft": _jft,
    "crt": _crt,
    "smdp": _metric("smdp"),
    "mdp": _metric("mdp"),
}
NO_EPSILON = ("none", "redacted", "anonymized", "adversarial", "triplet")

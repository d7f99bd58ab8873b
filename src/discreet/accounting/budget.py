"""The planner behind `discreet budget`: epsilon for a noise, noise for an epsilon, steps or rate for both.

    >>> answer = budget("dp-sgd", Setting(rate=0.01, steps=1000, noise=1.0, delta=1e-5))
    >>> round(answer.notion.epsilon, 3)
    1.828
    >>> round(budget("dp-sgd", Setting(rate=0.01, steps=1000, epsilon=3.0, delta=1e-5)).notion.noise, 2)
    0.81

One of noise, steps (or epochs) and rate (or batch) may be left open when `epsilon` is given: it is then solved for, so that
epsilon is reached to one in a thousand and never exceeded. No data is touched and nothing is trained.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import ValidationError

from discreet.accounting.calibrate import calibrate
from discreet.accounting.confidential import Confidentiality
from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.jft import JustFineTuneTwice
from discreet.accounting.metric import MetricPrivacy
from discreet.accounting.notion import Notion
from discreet.accounting.selective import SelectivePaper, SelectivePrivacy
from discreet.engine.plan import Plan
from discreet.errors import RefusedError, SettingError, UnknownNameError
from discreet.registry import nearest

NoiseOrNone = float | Literal["none", "same"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is known of a training before it is run; None is open."""

    epsilon: float | None = None
    delta: float | None = None
    noise: float | None = None
    rate: float | None = None
    steps: int | None = None
    epochs: int | None = None
    batch: int | None = None
    records: int | None = None
    neighbours: str | None = None
    sampling: str | None = None
    """None: shuffled where only epochs are known or the published algorithm is meant, Poisson otherwise."""
    max_batch: int | None = None
    unit: str = "record"
    clip: float = 1.0
    group: int = 1
    segments: int = 1
    state_noise: NoiseOrNone = "same"
    states: int = 2
    phase1_noise: NoiseOrNone = "none"
    phase1_rate: float | None = None
    phase1_steps: int | None = None
    screened: bool = False
    miss: float | None = None
    missed: int | None = None
    checked: int | None = None
    conservative_miss: float = 0.0
    distances: tuple[float, ...] = ()
    words: int | None = None
    draws: int = 1
    dimension: int | None = None
    unknown_words: Literal["fixed-vector", "pieces", "mask", "unchanged"] = "fixed-vector"


@dataclass(frozen=True)
class Answer:
    """The notion with everything filled in, and which setting was solved for."""

    notion: Notion
    solved: str | None

    def to_json(self) -> dict[str, Any]:
        guarantee = self.notion.guarantee()
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
    if len(missing) != 1:
        found = _options(missing) if missing else "nothing is"
        raise SettingError(f"With --epsilon exactly one of {_options(needed, '')} is left open; here {found} open.")
    return Answer(make(_solved(make, setting, missing[0])), missing[0])


def completed(mechanism: str, setting: Setting) -> Setting:
    """The setting with batch, epochs and delta turned into rate, steps and a number, as far as they are known."""
    if mechanism in ("mdp", "smdp"):
        return setting
    if setting.delta is None:
        if setting.records is None:
            raise SettingError("Give --delta, or --records for the rule delta = 1/(10 N).")
        setting = replace(setting, delta=1 / (10 * setting.records))
    if setting.batch is not None:
        if setting.rate is not None or setting.records is None:
            raise SettingError("Give --rate, or --batch together with --records; not both.")
        setting = replace(setting, rate=setting.batch / setting.records)
    in_epochs = setting.rate is None and (setting.epochs is not None or mechanism == "selective-paper")
    if setting.sampling is None:
        shuffled = mechanism == "selective-paper" and (in_epochs or setting.epochs is not None)
        setting = replace(setting, sampling="shuffled" if shuffled else "poisson")
    if in_epochs and setting.sampling == "shuffled" and setting.steps is None:
        # Without amplification only the number of passes counts, not how they are cut into batches.
        return replace(setting, rate=1.0, steps=setting.epochs, epochs=None)
    if setting.epochs is None:
        return setting
    if setting.steps is not None or setting.rate is None:
        raise SettingError("Give --steps, or --epochs together with --rate; not both.")
    return replace(setting, steps=math.ceil(setting.epochs / setting.rate - 1e-9), epochs=None)


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
        return replace(setting, **{name: int(x) if whole else float(x)})

    def epsilon_at(x: float, finest: float) -> float:
        return make(with_(x)).headline(finest)

    if setting.epsilon is None:
        raise SettingError("There is nothing to solve for without a target epsilon.")
    if name == "noise":
        return with_(calibrate(epsilon_at, setting.epsilon, what="noise", falling=True))
    if name == "rate":
        rate = calibrate(epsilon_at, setting.epsilon, what="rate", falling=False, start=0.01, least=1e-9, most=1.0)
        if setting.records and setting.records * rate >= 1:
            rate = math.floor(setting.records * rate * (1 + 1e-9)) / setting.records
        return with_(rate)
    return with_(calibrate(epsilon_at, setting.epsilon, what=name, falling=False, start=100, least=1, whole=True))


def _dp(setting: Setting) -> Notion:
    return DifferentialPrivacy(
        phases=(_plan(setting, setting.neighbours or "add-remove"),),
        group=setting.group,
        delta=setting.delta,
        records=setting.records,
    )


def _selective(setting: Setting) -> Notion:
    plan = _plan(setting, setting.neighbours or "replace")
    return SelectivePrivacy(plan=plan, segments=setting.segments, delta=setting.delta, records=setting.records)


def _selective_paper(setting: Setting) -> Notion:
    plan = _plan(setting, setting.neighbours or "replace")
    state_noise = plan.noise if setting.state_noise == "same" else setting.state_noise
    return SelectivePaper(
        plan=plan,
        segments=setting.segments,
        state_noise=None if state_noise == "none" or setting.states == 0 else state_noise,
        states=max(1, setting.states),
        delta=setting.delta,
        records=setting.records,
    )


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
        delta=setting.delta,
        records=setting.records,
    )


def _crt(setting: Setting) -> Notion:
    return Confidentiality(
        plan=_plan(setting, setting.neighbours or "replace"),
        miss=setting.miss,
        missed=setting.missed,
        sample=setting.checked,
        conservative_miss=setting.conservative_miss,
        group=setting.group,
        delta=setting.delta,
        records=setting.records,
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

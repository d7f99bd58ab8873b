"""What is known of a training before it is run: the planner's input, as the options of `discreet budget` give it."""

import math
from dataclasses import dataclass, replace
from typing import Literal

from discreet.errors import SettingError

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
    public_passes: int = 0
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
    in_epochs = setting.rate is None and setting.steps is None
    if setting.sampling is None:
        shuffled = mechanism == "selective-paper" and (in_epochs or setting.epochs is not None)
        setting = replace(setting, sampling="shuffled" if shuffled else "poisson")
    if in_epochs and setting.sampling == "shuffled":
        # Without amplification only the number of passes counts, not how they are cut into batches.
        return replace(setting, rate=1.0, steps=setting.epochs, epochs=None)
    if setting.epochs is None:
        return setting
    if setting.steps is not None or setting.rate is None:
        raise SettingError("Give --steps, or --epochs together with --rate; not both.")
    return replace(setting, steps=math.ceil(setting.epochs / setting.rate - 1e-9), epochs=None)

"""Lower bounds on epsilon from attacks: what a model is shown to have leaked, with 95 % confidence.

    >>> round(one_run(canaries=1000, guesses=1000, right=600, delta=1e-5), 4)
    0.2972

A lower bound above the proved epsilon is a bug in the code or in the proof. A low one proves nothing. Thresholds must
be fixed before looking; an attacker who tries several must divide the allowed error between them (Bonferroni).
"""

import math

import numpy as np
from scipy.special import bdtr, bdtrc, ndtri

from discreet.accounting.gaussian import epsilon_of
from discreet.accounting.intervals import lower_limit, upper_limit
from discreet.errors import SettingError


def one_run(canaries: int, guesses: int, right: int, delta: float, error: float = 0.05) -> float:
    """One training run with coin-flipped canaries (Steinke, Nasr and Jagielski 2023).

    Of `canaries` secrets each was put in or left out (or one of two put in) by a fair coin; the attacker guessed
    `guesses` of the coins, `right` of them correctly. Returned is the largest epsilon at which that would be a
    surprise.
    """
    if not 0 <= right <= guesses <= canaries:
        raise SettingError(f"{right} right of {guesses} guesses on {canaries} canaries is not possible.")
    if guesses == 0 or one_run_surprise(canaries, guesses, right, delta, 0.0) >= error:
        return 0.0
    low, high = 0.0, 1.0
    while one_run_surprise(canaries, guesses, right, delta, high) < error:
        low, high = high, 2 * high
        if high > 1000:
            return high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        surprising = one_run_surprise(canaries, guesses, right, delta, middle) < error
        low, high = (middle, high) if surprising else (low, middle)
    return low


def one_run_surprise(canaries: int, guesses: int, right: int, delta: float, epsilon: float) -> float:
    """The p-value of so many right guesses against an (epsilon, delta) mechanism."""
    chance = 1 / (1 + math.exp(-epsilon))
    at_least = 1.0 if right == 0 else float(bdtrc(right - 1, guesses, chance))
    if delta == 0:
        return at_least
    if right == 0:
        return at_least
    fewer = np.append(0.0, bdtr(np.arange(right), guesses, chance))  # P[Bin < 0], P[Bin < 1], ..., P[Bin < right]
    back = np.arange(1, right + 1)
    worst = float(np.max((fewer[right] - fewer[right - back]) / back))
    return min(1.0, at_least + 2 * canaries * delta * worst)


def two_worlds(
    false_alarms: int, runs_without: int, misses: int, runs_with: int, delta: float, confidence: float = 0.95
) -> float:
    """Many training runs in two worlds, each error rate taken at its Clopper-Pearson upper limit."""
    alarm, miss = _error_limits(false_alarms, runs_without, misses, runs_with, confidence)
    bounds = [0.0]
    for one, other in ((alarm, miss), (miss, alarm)):
        if one + delta < 1 and other > 0:
            bounds.append(math.log((1 - delta - one) / other))
    return max(bounds)


def two_worlds_mu(false_alarms: int, runs_without: int, misses: int, runs_with: int, confidence: float = 0.95) -> float:
    """The same runs as a lower bound on the mean distance of a Gaussian trade-off.

    Exact for formula A, which is Gaussian; under subsampling only an approximation, to be called one.
    """
    alarm, miss = _error_limits(false_alarms, runs_without, misses, runs_with, confidence)
    return max(0.0, float(ndtri(1 - alarm) - ndtri(miss)))


def two_worlds_gaussian(
    false_alarms: int, runs_without: int, misses: int, runs_with: int, delta: float, confidence: float = 0.95
) -> float:
    """Epsilon at delta of the Gaussian trade-off bounded by `two_worlds_mu`; infinity at delta 0."""
    return epsilon_of(two_worlds_mu(false_alarms, runs_without, misses, runs_with, confidence), delta)


def exposure_chance(epsilon: float, delta: float, exposure: float) -> float:
    """How likely an exposure of at least so many bits is, at most, under (epsilon, delta)."""
    return min(1.0, math.exp(epsilon - exposure * math.log(2)) + delta)


def exposure_mean(epsilon: float) -> float:
    """The mean exposure that epsilon (with delta 0) allows; without any leak it is 1.44 bits."""
    return (epsilon + 1) / math.log(2)


def exposure_epsilon(exposed: int, runs: int, exposure: float, delta: float, confidence: float = 0.95) -> float:
    """Epsilon from independent runs of which `exposed` reached an exposure of at least `exposure` bits."""
    often = lower_limit(exposed, runs, confidence) - delta
    return max(0.0, exposure * math.log(2) + math.log(often)) if often > 0 else 0.0


def _error_limits(
    false_alarms: int, runs_without: int, misses: int, runs_with: int, confidence: float
) -> tuple[float, float]:
    side = (1 + confidence) / 2  # both limits hold together with the asked confidence
    return upper_limit(false_alarms, runs_without, side), upper_limit(misses, runs_with, side)

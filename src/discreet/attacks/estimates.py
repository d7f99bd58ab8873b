"""Exposure without enumerating: from a sample of the randomness space, and from a distribution fitted to it.

    sampled(own, sample).exposure           # bits, at most log2(len(sample) + 1), with an interval
    tail = fit_tail(sample)
    tail.exposure(own)                      # extrapolates beyond the sample; `tail.p` says whether to believe it

Carlini et al. (2019) model the log-perplexities of a space by a skew-normal distribution, whose lower tail at the
canary is its rank. The distribution is fitted to one half of the sample and held against the other by the
Kolmogorov-Smirnov test: a p-value below .01 means that the space does not look like that and the figure is a guess.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp
from scipy.stats import kstest

from discreet.accounting.intervals import clopper_pearson

Floats = NDArray[np.float64]
DOUBTFUL = 0.01
"""A goodness of fit below this says that the fitted distribution is not the right one."""


class Sampled(NamedTuple):
    """Exposure by counting, with its 95 % interval; None where the interval has no end."""

    exposure: float
    low: float
    high: float | None


class SkewNormal(NamedTuple):
    """A normal distribution leaning to one side."""

    location: float
    scale: float
    shape: float

    def log_density(self, x: Floats) -> Floats:
        z = (x - self.location) / self.scale
        tilted = log_ndtr(self.shape * z)
        return np.asarray(math.log(2 / self.scale) - z * z / 2 - math.log(2 * math.pi) / 2 + tilted)

    def log_below(self, x: float) -> float:
        """log P[X <= x], exact also far out where the probability is no float any more."""
        width = 12 * self.scale
        top = min(x, self.location + width)
        grid = np.linspace(top - 2 * width, top, 20_001)
        heights = self.log_density(grid)
        heights[-1] -= math.log(2)  # the trapezoid at the end
        return min(0.0, float(logsumexp(heights)) + math.log(grid[1] - grid[0]))

    def below(self, x: Floats) -> Floats:
        grid = np.linspace(self.location - 12 * self.scale, self.location + 12 * self.scale, 20_001)
        mass = np.cumsum(np.exp(self.log_density(grid))) * (grid[1] - grid[0])
        return np.asarray(np.interp(x, grid, np.minimum(mass, 1.0)))


def exposure_of_rank(rank: float, size: int) -> float:
    """log2 of the space's size less log2 of the rank: the bits that guessing the secret is made easier by."""
    return math.log2(size) - math.log2(rank)


def rank_among(own: float, others: Floats) -> int:
    """The rank of a score among others. Equal ones go before it, or a model that tells nothing apart would seem to."""
    return 1 + int((others >= own).sum())


def sampled(own: float, sample: Floats) -> Sampled:
    """Counts the members of a sample that score higher than the canary."""
    above = rank_among(own, sample) - 1
    low, high = clopper_pearson(above, len(sample))
    exposure = -math.log2((above + 1) / (len(sample) + 1))
    return Sampled(exposure, max(0.0, -math.log2(high)), None if low == 0 else -math.log2(low))


class Tail(NamedTuple):
    """A fitted distribution of log-perplexities, and how well it fits."""

    distribution: SkewNormal
    statistic: float
    p: float

    @property
    def doubtful(self) -> bool:
        return self.p < DOUBTFUL

    def exposure(self, own: float) -> float:
        return -self.distribution.log_below(-own) / math.log(2)


def fit_tail(sample: Floats, seed: int = 0) -> Tail:
    """Fits one half of a sample of scores and tests the fit on the other."""
    mixed = -np.random.default_rng(seed).permutation(sample)  # log-perplexities: low ones are likely texts
    half = len(mixed) // 2
    distribution = fit_skew_normal(mixed[:half])
    test = kstest(mixed[half:], distribution.below)
    return Tail(distribution, float(test.statistic), float(test.pvalue))


def fit_skew_normal(sample: Floats) -> SkewNormal:
    """The likeliest skew-normal distribution, looked for from the one with the sample's moments."""
    mean, deviation = float(sample.mean()), float(sample.std())
    if deviation == 0:
        return SkewNormal(mean, 1e-12, 0.0)
    skew = float(np.clip(((sample - mean) ** 3).mean() / deviation**3, -0.99, 0.99))
    ratio = abs(skew) ** (2 / 3)
    lean = math.copysign(math.sqrt(math.pi / 2 * ratio / (ratio + ((4 - math.pi) / 2) ** (2 / 3))), skew)
    lean = float(np.clip(lean, -0.99, 0.99))
    scale = deviation / math.sqrt(1 - 2 * lean**2 / math.pi)
    start = [mean - scale * lean * math.sqrt(2 / math.pi), math.log(scale), lean / math.sqrt(1 - lean**2)]

    def misfit(values: Sequence[float]) -> float:
        location, log_scale, shape = values
        return -float(SkewNormal(location, math.exp(log_scale), shape).log_density(sample).mean())

    best = minimize(misfit, start, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-7, "maxiter": 600}).x
    return SkewNormal(float(best[0]), math.exp(float(best[1])), float(best[2]))

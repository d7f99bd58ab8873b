"""From norms to factors: how much of each record's gradient enters the sum, and what a record can change it by.

    Clip(1.0)                                  # min(1, C / norm): the gradient over all parameters, cut to norm C
    Normalise(1.0)                             # C / (norm + 0.01): every record weighs about the same (Bu et al. 2022)
    ClipGroups({"embedding": 0.5, "": 1.0})    # groups of parameters cut on their own, by the beginning of their names

Each knows its `sensitivity`: the largest norm a record's share of the sum can have. Factors aim at C (1 - 1e-6), so
that rounding in norms and sums cannot carry a record beyond C.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from discreet.errors import SettingError

SLACK = 1e-6


class Strategy(Protocol):
    """How norms become factors."""

    @property
    def sensitivity(self) -> float:
        """The largest norm of one record's share of the sum."""

    def factors(self, squares: Tensor, names: Sequence[str]) -> Tensor:
        """Factors [parameters, records] from squared norms [parameters, records]."""


@dataclass(frozen=True, slots=True)
class Clip:
    """One norm over all parameters, cut to `clip`."""

    clip: float

    def __post_init__(self) -> None:
        _check(self.clip)

    @property
    def sensitivity(self) -> float:
        return self.clip

    def factors(self, squares: Tensor, names: Sequence[str]) -> Tensor:
        return _cut(squares.sum(0), self.clip).expand(squares.shape)


@dataclass(frozen=True, slots=True)
class Normalise:
    """One norm over all parameters, brought to about `clip` whatever it was: automatic clipping."""

    clip: float
    stability: float = 0.01

    def __post_init__(self) -> None:
        _check(self.clip)

    @property
    def sensitivity(self) -> float:
        return self.clip

    def factors(self, squares: Tensor, names: Sequence[str]) -> Tensor:
        return (self.clip * (1 - SLACK) / (squares.sum(0).sqrt() + self.stability)).expand(squares.shape)


@dataclass(frozen=True, slots=True)
class ClipGroups:
    """Each group of parameters cut to its own norm; a parameter belongs to the longest beginning of its name."""

    groups: Mapping[str, float]

    def __post_init__(self) -> None:
        for clip in self.groups.values():
            _check(clip)

    @property
    def sensitivity(self) -> float:
        return math.sqrt(math.fsum(clip * clip for clip in self.groups.values()))

    def factors(self, squares: Tensor, names: Sequence[str]) -> Tensor:
        factors = torch.empty_like(squares)
        homes = [self._group(name) for name in names]
        for group, clip in self.groups.items():
            own = torch.tensor([home == group for home in homes], device=squares.device)
            factors[own] = _cut(squares[own].sum(0), clip)
        return factors

    def _group(self, name: str) -> str:
        fitting = [group for group in self.groups if not group or name == group or name.startswith(f"{group}.")]
        if not fitting:
            raise SettingError(f"The parameter '{name}' is in no clipping group; add its group, or '' for all others.")
        return max(fitting, key=len)


def _cut(squares: Tensor, clip: float) -> Tensor:
    return (clip * (1 - SLACK) / squares.sqrt()).clamp(max=1.0)  # a norm of zero gives infinity, then one


def _check(clip: float) -> None:
    if not 0 < clip < math.inf:
        raise SettingError(f"A clip norm must be a positive number, not {clip}.")

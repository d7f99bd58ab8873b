"""The parts of a private step that a group of processes has one of: ledger, choice of units, noise.

Each does its work on process 0 and gives all processes the result, so that `PrivateStep` reads the same for one process
and for many. Get them from a group (`discreet.engine.distributed`); every process must call them in the same order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from discreet.engine.ledger import PHASE, Ledger
from discreet.engine.noise import NoiseSource
from discreet.engine.plan import Plan
from discreet.engine.sampling import Choice, IntArray

if TYPE_CHECKING:
    from discreet.engine.distributed import JoinedGroup


class SharedLedger:
    """A ledger that process 0 writes and all obey: no process passes `spend` before the line is on disk."""

    def __init__(self, group: "JoinedGroup", path: Path) -> None:
        self.group, self.path = group, Path(path)
        self._ledger: Ledger | None = None
        group.decide("opening the ledger", self._open)

    def begin(self, plan: Plan, *, draw: str | None, phase: str = PHASE) -> None:
        self._ask(f"beginning phase '{phase}'", lambda ledger: ledger.begin(plan, draw=draw, phase=phase))

    def spend(self, plan: Plan, step: int, *, phase: str = PHASE) -> None:
        self._ask(f"paying for step {step}", lambda ledger: ledger.spend(plan, step, phase=phase))

    def spent(self, plan: Plan, *, phase: str = PHASE) -> int:
        return int(self._ask("reading the ledger", lambda ledger: ledger.spent(plan, phase=phase)))

    def remaining(self, plan: Plan, *, phase: str = PHASE) -> int:
        return int(self._ask("reading the ledger", lambda ledger: ledger.remaining(plan, phase=phase)))

    def resume_step(self, plan: Plan, checkpoint: int, *, phase: str = PHASE) -> int:
        return int(self._ask("resuming", lambda ledger: ledger.resume_step(plan, checkpoint, phase=phase)))

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()

    def __enter__(self) -> "SharedLedger":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> None:
        self._ledger = Ledger(self.path)

    def _ask(self, what: str, action: Callable[[Ledger], Any]) -> Any:
        def act() -> Any:
            assert self._ledger is not None  # process 0 opened it, and only process 0 acts
            return action(self._ledger)

        return self.group.decide(what, act)


@dataclass(frozen=True)
class SharedChoice:
    """Process 0's choice of units, of which each process gets every size-th."""

    choice: Choice
    group: "JoinedGroup"

    def units(self, step: int) -> IntArray:
        drawn = self.group.decide(f"drawing step {step}", lambda: self.choice.units(step).tolist())
        own = np.array(drawn[self.group.rank :: self.group.size], dtype=np.int64)
        self.group.give_share(step, len(own))
        return own


class SharedNoise:
    """Noise that process 0 adds, once; the noisy buffers are then everyone's."""

    def __init__(self, noise: NoiseSource, group: "JoinedGroup") -> None:
        self._noise, self._group = noise, group

    def add_(self, buffers: Sequence[Tensor], std: float, *, divide: float = 1.0) -> None:
        self._group.decide("adding the noise", lambda: self._noise.add_(buffers, std, divide=divide))
        self._group.hand_out(buffers)

    def describe(self) -> dict[str, Any]:
        return self._noise.describe()

    def state(self) -> dict[str, Any]:
        """Process 0's; the others' generators stand still."""
        return self._noise.state()

    def restore(self, state: dict[str, Any]) -> None:
        self._noise.restore(state)

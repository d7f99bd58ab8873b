"""What has been spent, on disk before anything is released: `ledger.jsonl` of a run.

    with Ledger(run / "ledger.jsonl") as ledger:
        ledger.begin(plan, draw=randomness.draw)
        for step in range(ledger.resume_step(plan, checkpoint_step), plan.steps):
            sums = noisy_sums(step)
            ledger.spend(plan, step)      # on disk when this returns; if it raises, forget the sums
            optimizer.step()

A *release* is one noisy sum that may have changed the weights. `spend` writes and fsyncs one line before that, so a
kill, a power cut or a full disk can lose an update but never its price: the ledger over-counts, it never under-counts.

**Steps are spent in order, each once.** After a kill the checkpoint may be at step k while the ledger says that the
steps up to k+2 are spent. What happens then depends on the draw (`Randomness.draw`):

- Secure randomness, or another seed: whatever is done now is a new release. The run goes on at step k+3 from the
  weights of step k (`resume_step`); the updates between are lost, and their price is not refunded. So a plan of T steps
  never makes more than T releases and the accountant's number for T holds; the run only learns less. Drawing the steps
  k to k+2 again would be three more releases, and with shuffled epochs would use units twice an epoch: refused.
- The same seed: step k again is the same batch, the same weights, the same noise and hence the same release. It is
  repeated, costs nothing and writes nothing, and the run ends bit for bit as if it had never been killed. (Restore
  weights *and* noise from the checkpoint, or it is not the same release.)

A line that was cut off, because the process died while writing it, belongs to a release that did not happen. It counts
all the same, as the next step of its phase, or of every phase that has begun if it is too short to tell. Opening the
ledger ends such a line with a line break, so that later lines are whole; the remains stay, and count, for ever.

Each phase of a run (jft has two) has its own plan. Its first line holds all fields of the plan, so the ledger alone
suffices to say what a killed run has spent: `read_ledger`. A phase that goes on with another plan is refused, and so is
a second process. In a distributed run one process writes, and the others wait for it before they update.
"""

import fcntl
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from discreet.engine.plan import Plan
from discreet.errors import DiscreetError, RefusedError, RunError
from discreet.files import canonical_json, fsync_folder

PHASE = "train"


class Spending(NamedTuple):
    """What a phase has spent."""

    plan: Plan
    releases: int
    """At least as many as noisy sums were applied, at most one more for every time the process was killed."""


@dataclass
class _Phase:
    plan: Plan
    fingerprint: str
    draw: str | None
    draws: list[str | None] = field(default_factory=list)
    """For each spent step what it was drawn with; None cannot be drawn again."""


class Ledger:
    """The write-ahead record of a run's releases; one process holds it at a time."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._file: int | None = _open(self.path)
        try:
            self._lock()
            content = _read(self.path)
            self._phases = _parse(content, self.path)
            if content and not content.endswith(b"\n"):
                self._write(b"\n")
            fsync_folder(self.path.parent)
        except BaseException:
            self.close()
            raise

    def begin(self, plan: Plan, *, draw: str | None, phase: str = PHASE) -> None:
        """Opens a phase, or goes on with it; `draw` is `Randomness.draw` of what batches and noise will come from."""
        known = self._phases.get(phase)
        if known is None:
            self._write(_line(phase, {"begin": plan.to_json(), "plan": plan.fingerprint(), "draw": draw}))
            self._phases[phase] = _Phase(plan, plan.fingerprint(), draw)
        else:
            self._check_plan(known, plan, phase)
            known.draw = draw

    def spend(self, plan: Plan, step: int, *, phase: str = PHASE) -> None:
        """Records a release; when this returns it is on disk, when it raises nothing may be applied."""
        known = self._phase(plan, phase)
        if known.draw is not None and 0 <= step < len(known.draws) and known.draws[step] == known.draw:
            return  # the very same release
        if step != len(known.draws):
            raise RefusedError(
                f"{self.path}: step {step} of phase '{phase}' cannot be spent, {len(known.draws)} steps are spent "
                "already and steps go in order; go on at resume_step()."
            )
        if step >= plan.steps:
            raise RefusedError(
                f"{self.path}: all {plan.steps} steps of the plan for phase '{phase}' are spent; "
                "more need a new plan, and that a new run."
            )
        self._write(_line(phase, {"plan": known.fingerprint, "step": step, "draw": known.draw}))
        known.draws.append(known.draw)

    def spent(self, plan: Plan, *, phase: str = PHASE) -> int:
        """How many releases have been paid for: what the accountant must cover."""
        return len(self._phase(plan, phase).draws)

    def remaining(self, plan: Plan, *, phase: str = PHASE) -> int:
        """How many releases the plan still allows."""
        return max(0, plan.steps - self.spent(plan, phase=phase))

    def resume_step(self, plan: Plan, checkpoint: int, *, phase: str = PHASE) -> int:
        """Which step comes after a checkpoint of `checkpoint` steps: that one if it can be repeated, else the first
        that is not spent."""
        known = self._phase(plan, phase)
        if checkpoint > len(known.draws):
            raise RunError(
                f"{self.path}: the checkpoint has {checkpoint} steps of phase '{phase}' and the ledger "
                f"{len(known.draws)}; they are not of the same run, or the ledger was changed. Start the run afresh."
            )
        repeatable = known.draw is not None and all(draw == known.draw for draw in known.draws[checkpoint:])
        return checkpoint if repeatable else len(known.draws)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _phase(self, plan: Plan, phase: str) -> _Phase:
        known = self._phases.get(phase)
        if known is None:
            raise RunError(f"{self.path}: phase '{phase}' has not begun; call begin() before anything is released.")
        self._check_plan(known, plan, phase)
        return known

    def _check_plan(self, known: _Phase, plan: Plan, phase: str) -> None:
        if plan == known.plan:
            return
        old, new = known.plan.to_json(), plan.to_json()
        changed = ", ".join(name for name in new if new[name] != old[name])
        raise RefusedError(
            f"{self.path}: phase '{phase}' was begun with another plan (changed: {changed}); "
            "resume with that plan or start a new run."
        )

    def _write(self, line: bytes) -> None:
        if self._file is None:
            raise RunError(f"{self.path}: the ledger is closed; open it again before anything is released.")
        try:
            rest = line
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as error:
            # What is on disk now is unknown, and a second fsync may succeed without writing: only reading tells.
            self.close()
            raise RunError(
                f"{self.path}: the step could not be recorded ({error.strerror}), so it must not be applied; "
                "make room on the disk and resume the run."
            ) from error

    def _lock(self) -> None:
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"{self.path}: another process is writing this ledger; wait for it to end.") from None


def read_ledger(path: Path) -> dict[str, Spending]:
    """What each phase has spent, also while the run is going on or after it was killed."""
    phases = _parse(_read(Path(path)), Path(path))
    return {name: Spending(phase.plan, len(phase.draws)) for name, phase in phases.items()}


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError as error:
        raise RunError(f"{path}: the ledger cannot be written ({error.strerror}); nothing was released.") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunError(f"{path}: the ledger cannot be read ({error.strerror}).") from error


def _line(phase: str, value: dict[str, Any]) -> bytes:
    """One line; `phase` comes first, so that a line cut short still tells whose it was."""
    return f'{{"phase":{json.dumps(phase)},{canonical_json(value)[1:]}\n'.encode()


def _parse(content: bytes, path: Path) -> dict[str, _Phase]:
    phases: dict[str, _Phase] = {}
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        try:
            value = json.loads(line)
        except ValueError:
            _count_remains(phases, line)
            continue
        try:
            _count(phases, value)
        except (LookupError, TypeError, ValueError, DiscreetError) as error:
            # A line cut short is never whole JSON, so this one was written by something else.
            raise RunError(f"{path}, line {number}: this is not a line of a ledger; it was changed.") from error
    return phases


def _count(phases: dict[str, _Phase], value: dict[str, Any]) -> None:
    """Takes in a whole line; a step further on than expected counts the missing ones too."""
    name, draw = value["phase"], value["draw"]
    if "begin" in value:
        if name in phases:
            raise ValueError("a phase begins once")
        phases[name] = _Phase(Plan.from_json(value["begin"]), value["plan"], draw)
        return
    phase = phases[name]
    if value["plan"] != phase.fingerprint:
        raise ValueError("another plan")
    phase.draws += [None] * (value["step"] - len(phase.draws)) + [draw]
    phase.draw = draw


_REMAINS = re.compile(rb'\{"phase":("(?:[^"\\]|\\.)*"),')


def _count_remains(phases: dict[str, _Phase], line: bytes) -> None:
    """Counts a line cut short as the next step of its phase, or of all phases if it does not tell.

    The remains of a phase's first line count for nothing: the phase is not known then, and nothing was released in it.
    """
    match = _REMAINS.match(line)
    for name in [json.loads(match[1])] if match else phases:
        if name in phases:
            phases[name].draws.append(phases[name].draw)

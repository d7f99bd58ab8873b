"""How many units to compute at a time: as many as fit into a memory limit, found by trying.

    backward = ClippedBackward(model, loss, plan.clip)
    size = physical_batch(lambda n: backward.add(batch_of(n), backward.zeros()), limit_bytes=4 << 30)

A logical step may be computed in physical batches of any size with the same result, so the size is a matter of memory
and speed only. Sizes are tried in steps of two. Memory grows in a straight line with the size, so after two trials the
next one is predicted, and only tried where the prediction stays within the limit: the limit is approached, not hit.

The limit is on what the process takes *beyond what it holds when asked*, as the largest resident set during a trial,
read from Linux's `/proc`; without a limit it is half of what the machine, or the container, has available now. Trials
must be of the longest records there are (made-up ones will do): shorter ones say nothing about them. Where memory
cannot be measured (no `/proc`, or a kernel that does not reset the peak) the answer is `MODEST`, with a warning. Memory
of a graphics card is not measured; there only its out-of-memory error counts.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from discreet.engine.allocator import return_buffers
from discreet.errors import SettingError

MODEST = 8
"""The physical batch where memory cannot be measured."""

GAIN = 16
"""A larger size is tried only if it is larger by at least one part in so many."""


class UnmeasuredMemory(UserWarning):
    """The physical batch is a guess."""


class Meter(Protocol):
    """Measures memory, in bytes."""

    def available(self) -> int:
        """What the machine could still give this process."""

    def resident(self) -> int:
        """What the process holds now."""

    def reset(self) -> None:
        """Begins to look for the peak anew."""

    def peak(self) -> int:
        """The most the process has held since."""


class LinuxMeter:
    """Reads `/proc` and the container's limit; raises OSError where there is none."""

    def __init__(self, process: Path = Path("/proc/self"), container: Path = Path("/sys/fs/cgroup")) -> None:
        self._process, self._container = process, container

    def available(self) -> int:
        machine = _kibibytes(self._process.parent / "meminfo", "MemAvailable")
        try:
            most = int((self._container / "memory.max").read_text())  # "max" where there is no limit
            used = int((self._container / "memory.current").read_text())
        except (OSError, ValueError):
            return machine
        return max(0, min(machine, most - used))

    def resident(self) -> int:
        return_buffers()  # what is kept for later would hide what a batch needs
        return _kibibytes(self._process / "status", "VmRSS")

    def reset(self) -> None:
        return_buffers()
        (self._process / "clear_refs").write_text("5")

    def peak(self) -> int:
        return _kibibytes(self._process / "status", "VmHWM")


def physical_batch(
    try_batch: Callable[[int], object],
    *,
    limit_bytes: int | None = None,
    most: int = 1024,
    meter: Meter | None = None,
) -> int:
    """The largest number of units, up to `most`, that `try_batch` can compute at a time within the limit."""
    if most < 1 or (limit_bytes is not None and limit_bytes < 1):
        raise SettingError("A physical batch needs a limit of at least one byte, and at least one unit at most.")
    meter = meter or LinuxMeter()
    try:
        before = meter.resident()
        limit = meter.available() // 2 if limit_bytes is None else limit_bytes
        meter.reset()
    except OSError:
        warnings.warn(
            f"Memory cannot be measured on this system, so {min(MODEST, most)} units are computed at a time; set the "
            "physical batch yourself if that is too many or too few.",
            UnmeasuredMemory,
            stacklevel=2,
        )
        return min(MODEST, most)

    fitting: list[tuple[int, int]] = []
    """Sizes that fit, ascending, with their peaks."""
    too_large: int | None = None
    while True:
        largest = fitting[-1][0] if fitting else 0
        size = min(most, _next_size(fitting, too_large, limit))
        if size < largest + max(1, largest // GAIN):
            break
        peak = _peak(try_batch, size, meter)
        if peak is None or peak - before > limit:
            too_large = size
        else:
            fitting.append((size, peak - before))
    if not fitting:
        raise SettingError(
            f"Not even one unit can be computed within {limit / 2**20:.0f} MiB; raise the limit or cut records shorter."
        )
    return fitting[-1][0]


def _next_size(fitting: list[tuple[int, int]], too_large: int | None, limit: int) -> int:
    """Twice the last size, unless that is known or predicted not to fit; then the largest that is predicted to fit."""
    if not fitting:
        return 1 if too_large is None else 0
    largest, peak = fitting[-1]
    size = 2 * largest if too_large is None else (largest + too_large) // 2
    if len(fitting) > 1:
        smaller, its_peak = fitting[-2]
        if peak > its_peak:
            size = min(size, largest + (limit - peak) * (largest - smaller) // (peak - its_peak))
    return size


def _peak(try_batch: Callable[[int], object], size: int, meter: Meter) -> int | None:
    """The peak of a trial; None if memory ran out."""
    meter.reset()
    try:
        try_batch(size)
    except MemoryError:
        return None
    except RuntimeError as error:
        if not _out_of_memory(error):
            raise
        return None
    return meter.peak()


def _out_of_memory(error: RuntimeError) -> bool:
    """Whether torch means that memory ran out: on a card it has a class of its own, on the processor only words."""
    words = str(error).lower()
    return any(sign in words for sign in ("out of memory", "can't allocate memory", "cannot allocate memory"))


def _kibibytes(path: Path, name: str) -> int:
    """A value of a file of lines such as `VmRSS:  1234 kB`, in bytes."""
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) * 1024
    raise OSError(f"{path} has no {name}")

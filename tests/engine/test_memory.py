"""The physical batch that fits: predicted, not run into, and the same for the same measurements."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from discreet.engine.clipping.clipped import ClippedBackward
from discreet.engine.memory import MODEST, LinuxMeter, UnmeasuredMemory, physical_batch
from discreet.errors import SettingError

MIB = 1 << 20


class Machine:
    """A made-up process whose memory grows in a straight line."""

    def __init__(self, each, base=0, *, free=1000 * MIB, fails_at=None, error=MemoryError):
        self.each, self.base, self.free = each, base, free
        self.fails_at, self.error = fails_at, error
        self.tried: list[int] = []
        self.highest = self.held = 77 * MIB

    def run(self, size):
        self.tried.append(size)
        if self.fails_at is not None and size >= self.fails_at:
            raise self.error
        self.highest = self.held + self.base + self.each * size

    def available(self):
        return self.free

    def resident(self):
        return self.held

    def reset(self):
        self.highest = self.held

    def peak(self):
        return self.highest


def found(machine, **options):
    return physical_batch(machine.run, meter=machine, **options)


@given(
    each=st.integers(1, 50 * MIB),
    base=st.integers(0, 300 * MIB),
    limit=st.integers(1, 2000 * MIB),
    most=st.integers(1, 2000),
)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_the_size_fits_is_nearly_the_largest_and_the_limit_is_never_passed_after_two_trials(each, base, limit, most):
    machine = Machine(each, base)
    best = min(most, (limit - base) // each)
    if best < 1:
        with pytest.raises(SettingError, match="Not even one unit"):
            found(machine, limit_bytes=limit, most=most)
        return
    size = found(machine, limit_bytes=limit, most=most)
    assert 1 <= size <= best
    assert size >= best - best // 16 - 1
    assert all(base + each * tried <= limit for tried in machine.tried[2:])
    assert len(machine.tried) <= 13


def test_half_of_the_available_memory_is_the_limit_if_none_is_given():
    assert found(Machine(10 * MIB, free=640 * MIB)) == 32


@pytest.mark.parametrize("kept", [True, False])
def test_a_first_trial_that_loads_things_does_not_mislead(kept):
    class Loading(Machine):
        def run(self, size):
            super().run(size)
            self.highest += 100 * MIB if kept or size == 1 else 0

    assert found(Loading(1 * MIB), limit_bytes=200 * MIB) in (range(94, 101) if kept else range(188, 201))


def test_memory_that_does_not_grow_gives_the_most():
    machine = Machine(0)
    assert found(machine, limit_bytes=MIB, most=1000) == 1000
    assert machine.tried[-2:] == [512, 1000]


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes."),
        torch.OutOfMemoryError("CUDA out of memory."),
    ],
    ids=["python", "processor", "card"],
)
def test_running_out_of_memory_means_smaller(error):
    machine = Machine(0, fails_at=100, error=error)
    assert 94 <= found(machine, limit_bytes=MIB) < 100
    with pytest.raises(SettingError, match="Not even one unit"):
        found(Machine(0, fails_at=1, error=error))


def test_any_other_error_is_the_callers():
    with pytest.raises(RuntimeError, match="shapes"):
        found(Machine(0, fails_at=4, error=RuntimeError("shapes do not match")))


def test_where_memory_cannot_be_measured_the_size_is_modest_and_said_to_be(tmp_path):
    tried: list[int] = []
    with pytest.warns(UnmeasuredMemory, match="8 units"):
        assert physical_batch(tried.append, meter=LinuxMeter(tmp_path / "self")) == MODEST
    with pytest.warns(UnmeasuredMemory):
        assert physical_batch(tried.append, most=3, meter=LinuxMeter(tmp_path / "self")) == 3
    assert tried == []


@pytest.mark.parametrize("options", [{"most": 0}, {"limit_bytes": 0}])
def test_limits_that_allow_nothing_are_refused(options):
    with pytest.raises(SettingError, match="at least one"):
        found(Machine(1), **options)


def test_a_containers_limit_counts(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    4000 kB\n")
    meter = LinuxMeter(tmp_path / "self", tmp_path)
    assert meter.available() == 4000 * 1024
    (tmp_path / "memory.current").write_text("1000\n")
    for most, expected in (("max", 4000 * 1024), ("5000", 4000), ("500", 0)):
        (tmp_path / "memory.max").write_text(f"{most}\n")
        assert meter.available() == expected


FRESH_PROCESS = """
import torch
from discreet.engine.memory import physical_batch
print(physical_batch(lambda size: torch.ones(size, 2 << 20), limit_bytes=100 << 20))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_real_memory_is_measured_within_the_limit():
    """Blocks of 8 MiB a unit under 100 MiB: 12 fit; the allocator and other threads may take some of it.

    In a process of its own: blocks that earlier tests have freed would be used again without growing the process.
    """
    if not _peak_can_be_reset():
        pytest.skip("this kernel does not reset the peak")
    done = subprocess.run([sys.executable, "-c", FRESH_PROCESS], capture_output=True, text=True, check=True)
    assert 6 <= int(done.stdout) <= 12


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_private_pass_can_be_tried():
    if not _peak_can_be_reset():
        pytest.skip("this kernel does not reset the peak")
    backward = ClippedBackward(nn.Linear(64, 64), lambda m, b: m(b["x"]).square().sum((1, 2)), 1.0)

    def attempt(size):
        backward.add({"x": torch.randn(size, 1024, 64)}, backward.zeros())

    assert 1 <= physical_batch(attempt, limit_bytes=64 * MIB, most=128) < 128


def _peak_can_be_reset():
    meter = LinuxMeter()
    try:
        torch.ones(8 * MIB)
        meter.reset()
        return meter.peak() < meter.resident() + 4 * MIB
    except OSError:
        return False

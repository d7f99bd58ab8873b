"""The ledger: never less than what was released, whatever happens to the process or the disk."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engine.ledger import Ledger, read_ledger
from discreet.engine.plan import Plan
from discreet.engine.random_bits import Randomness
from discreet.errors import RefusedError, RunError

SECURE = Randomness().draw
SEEDED = Randomness("fast", seed=5).draw


def plan(**fields: Any) -> Plan:
    own: dict[str, Any] = {"rate": 0.1, "steps": 5, "noise": 1.0, "neighbours": "replace", "population": 50}
    return Plan(**own | fields)


PLAN = plan()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "ledger.jsonl"


def spend(path: Path, steps: range, draw: str | None = SECURE, phase: str = "train") -> None:
    with Ledger(path) as ledger:
        ledger.begin(PLAN, draw=draw, phase=phase)
        for step in steps:
            ledger.spend(PLAN, step, phase=phase)


class TestCounting:
    def test_what_is_spent_is_read_back(self, path):
        spend(path, range(3))
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            assert (ledger.spent(PLAN), ledger.remaining(PLAN)) == (3, 2)

    def test_a_line_names_plan_and_step(self, path):
        spend(path, range(1))
        begin, line = map(json.loads, path.read_text().splitlines())
        assert Plan.from_json(begin["begin"]) == PLAN
        assert line == {"phase": "train", "plan": PLAN.fingerprint(), "step": 0, "draw": None}

    def test_the_ledger_alone_says_what_a_killed_run_has_spent(self, path):
        spend(path, range(3))
        spend(path, range(2), phase="second")
        assert read_ledger(path) == {"train": (PLAN, 3), "second": (PLAN, 2)}

    def test_a_line_is_on_disk_before_spend_returns(self, path, monkeypatch):
        synced: list[int] = []
        real = os.fsync

        def watched(handle):
            real(handle)
            synced.append(path.stat().st_size)

        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            monkeypatch.setattr(os, "fsync", watched)
            ledger.spend(PLAN, 0)
            assert synced == [path.stat().st_size]

    def test_phases_are_counted_apart_even_with_the_same_plan(self, path):
        spend(path, range(5), phase="first")
        spend(path, range(5), phase="second")
        assert [spending.releases for spending in read_ledger(path).values()] == [5, 5]


class TestRefusals:
    def test_a_changed_plan_names_what_changed(self, path):
        spend(path, range(2))
        with Ledger(path) as ledger:
            with pytest.raises(RefusedError, match="changed: steps, noise"):
                ledger.begin(plan(steps=6, noise=2.0), draw=SECURE)
            ledger.begin(PLAN, draw=SECURE)
            with pytest.raises(RefusedError, match="another plan"):
                ledger.spend(plan(clip=2.0), 2)
            with pytest.raises(RefusedError, match="another plan"):
                ledger.spent(plan(clip=2.0))

    def test_more_steps_than_the_plan_has(self, path):
        spend(path, range(5))
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            with pytest.raises(RefusedError, match="all 5 steps"):
                ledger.spend(PLAN, 5)
            assert ledger.remaining(PLAN) == 0

    def test_steps_out_of_order(self, path):
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            for step in (1, -1):
                with pytest.raises(RefusedError, match="in order"):
                    ledger.spend(PLAN, step)
            assert ledger.spent(PLAN) == 0

    def test_a_phase_that_has_not_begun(self, path):
        with Ledger(path) as ledger, pytest.raises(RunError, match="begin"):
            ledger.spend(PLAN, 0)

    def test_a_second_writer(self, path):
        with Ledger(path), pytest.raises(RunError, match="another process"):
            Ledger(path)
        Ledger(path).close()

    def test_a_closed_ledger(self, path):
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
        with pytest.raises(RunError, match="closed"):
            ledger.spend(PLAN, 0)

    def test_a_missing_ledger_and_a_place_that_cannot_be_written(self, tmp_path):
        with pytest.raises(RunError, match="cannot be read"):
            read_ledger(tmp_path / "none.jsonl")
        (tmp_path / "file").touch()
        with pytest.raises(RunError, match="cannot be written"):
            Ledger(tmp_path / "file" / "ledger.jsonl")

    @pytest.mark.parametrize(
        "line", ['{"phase":"other","plan":"x","step":0,"draw":null}', '{"phase":"train"}', "[1]", "7"]
    )
    def test_whole_lines_that_no_ledger_writes(self, path, line):
        spend(path, range(2))
        with path.open("a") as out:
            out.write(line + "\n")
        with pytest.raises(RunError, match="line 4"):
            read_ledger(path)


class TestResume:
    def test_fresh_noise_goes_on_after_the_last_step_spent(self, path):
        spend(path, range(4))
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            assert ledger.resume_step(PLAN, checkpoint=1) == 4
            with pytest.raises(RefusedError, match="in order"):
                ledger.spend(PLAN, 1)
            ledger.spend(PLAN, 4)
            assert ledger.remaining(PLAN) == 0

    def test_fresh_noise_is_fresh_in_the_same_process_too(self, path):
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            ledger.spend(PLAN, 0)
            with pytest.raises(RefusedError):
                ledger.spend(PLAN, 0)

    def test_the_same_seed_repeats_steps_at_no_cost(self, path):
        spend(path, range(4), draw=SEEDED)
        before = path.read_bytes()
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SEEDED)
            assert ledger.resume_step(PLAN, checkpoint=1) == 1
            for step in (1, 2, 3):
                ledger.spend(PLAN, step)
            assert path.read_bytes() == before
            ledger.spend(PLAN, 4)
            assert ledger.spent(PLAN) == 5

    @pytest.mark.parametrize("other", [SECURE, Randomness("fast", seed=6).draw])
    def test_another_seed_is_another_release(self, path, other):
        spend(path, range(4), draw=SEEDED)
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=other)
            assert ledger.resume_step(PLAN, checkpoint=1) == 4
            with pytest.raises(RefusedError, match="in order"):
                ledger.spend(PLAN, 1)

    def test_a_seed_cannot_repeat_steps_that_were_drawn_with_fresh_noise(self, path):
        spend(path, range(2), draw=SEEDED)
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            ledger.spend(PLAN, 2)
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SEEDED)
            assert ledger.resume_step(PLAN, checkpoint=1) == 3

    def test_a_checkpoint_that_is_ahead_of_the_ledger_is_refused(self, path):
        spend(path, range(2))
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            with pytest.raises(RunError, match="same run"):
                ledger.resume_step(PLAN, checkpoint=3)


class TestCutLines:
    @settings(derandomize=True, deadline=None, max_examples=60)
    @given(st.data())
    def test_a_ledger_cut_anywhere_counts_every_step_that_began(self, tmp_path_factory, data):
        path = tmp_path_factory.mktemp("cut") / "ledger.jsonl"
        spend(path, range(4))
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        began = max(0, whole[:cut].count(b"\n") - 1 + (cut > 0 and whole[cut - 1 : cut] != b"\n"))
        expected = began if b"\n" in whole[:cut] else 0
        assert sum(spending.releases for spending in read_ledger(path).values()) == expected
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            assert ledger.spent(PLAN) == expected
            for step in range(expected, PLAN.steps):
                ledger.spend(PLAN, step)
        assert read_ledger(path) == {"train": (PLAN, PLAN.steps)}

    @pytest.mark.parametrize("remains", [b'{"pha', b'{"phase":"tr', b"\x00\x00\x00", b"\xff"])
    def test_remains_that_do_not_tell_count_for_every_phase(self, path, remains):
        spend(path, range(1), phase="first")
        spend(path, range(2), phase="second")
        with path.open("ab") as out:
            out.write(remains)
        assert [spending.releases for spending in read_ledger(path).values()] == [2, 3]

    def test_remains_that_tell_count_for_their_phase(self, path):
        spend(path, range(1), phase="first")
        spend(path, range(2), phase="second")
        with path.open("ab") as out:
            out.write(b'{"phase":"second","dr')
        for _ in range(2):  # opening it again does not count again
            Ledger(path).close()
            assert [spending.releases for spending in read_ledger(path).values()] == [1, 3]

    def test_the_remains_of_a_phases_first_line_count_for_nothing(self, path):
        spend(path, range(1), phase="first")
        with path.open("ab") as out:
            out.write(b'{"phase":"second","begin":{"cl')
        assert [spending.releases for spending in read_ledger(path).values()] == [1]
        spend(path, range(1), phase="second")
        assert [spending.releases for spending in read_ledger(path).values()] == [1, 1]

    def test_a_seeded_run_repeats_the_step_whose_line_was_cut(self, path):
        spend(path, range(3), draw=SEEDED)
        path.write_bytes(path.read_bytes()[:-9])
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SEEDED)
            assert ledger.spent(PLAN) == 3
            assert ledger.resume_step(PLAN, checkpoint=1) == 1
            for step in (1, 2, 3):
                ledger.spend(PLAN, step)
        assert read_ledger(path)["train"].releases == 4

    def test_a_lost_line_counts_through_the_number_of_the_next(self, path):
        spend(path, range(4))
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:2] + lines[3:]))
        assert read_ledger(path)["train"].releases == 4


class TestDisk:
    def full(self, *_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @pytest.mark.parametrize("call", ["write", "fsync"])
    def test_a_full_disk_stops_the_update(self, path, monkeypatch, call):
        applied = []
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            with pytest.raises(RunError, match="No space left"):  # noqa: PT012
                for step in range(3):
                    if step == 1:
                        monkeypatch.setattr(os, call, self.full)
                    ledger.spend(PLAN, step)
                    applied.append(step)
            monkeypatch.undo()
            with pytest.raises(RunError, match="closed"):
                ledger.spend(PLAN, 1)
        assert applied == [0]
        assert read_ledger(path)["train"].releases >= len(applied)

    def test_a_write_that_stops_half_way_is_counted_and_the_update_stopped(self, path, monkeypatch):
        real = os.write

        def half(handle, data):
            if len(data) < 20:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(handle, data[: len(data) // 2])

        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            monkeypatch.setattr(os, "write", half)
            with pytest.raises(RunError, match="No space left"):
                ledger.spend(PLAN, 0)
            monkeypatch.undo()
        with Ledger(path) as ledger:
            ledger.begin(PLAN, draw=SECURE)
            assert ledger.spent(PLAN) == 1

    def test_short_writes_are_completed(self, path, monkeypatch):
        real = os.write
        monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:7]))
        spend(path, range(3))
        assert read_ledger(path)["train"].releases == 3


TRAINING = """
import sys
from pathlib import Path
from discreet.engine.ledger import Ledger
from discreet.engine.plan import Plan

folder, steps = Path(sys.argv[1]), int(sys.argv[2])
plan = Plan(rate=0.1, steps=steps, noise=1.0, neighbours="replace")
with Ledger(folder / "ledger.jsonl") as ledger, (folder / "applied").open("ab", buffering=0) as applied:
    ledger.begin(plan, draw=None)
    print("ready", flush=True)
    for step in range(ledger.resume_step(plan, 0), plan.steps):
        ledger.spend(plan, step)
        applied.write(b".")
"""


class TestKill:
    def test_killed_runs_never_apply_more_than_was_spent(self, tmp_path):
        """A run that is killed at random moments and resumed until its plan is used up."""
        rng = random.Random(3)
        steps, kills, code = 400, 0, -signal.SIGKILL
        command = [sys.executable, "-c", TRAINING, str(tmp_path), str(steps)]
        while code != 0:
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == b"ready\n"
                if kills < 5:
                    time.sleep(rng.uniform(0, 0.1))
                    process.kill()
                    kills += 1
                code = process.wait()
            applied = (tmp_path / "applied").stat().st_size
            spent = read_ledger(tmp_path / "ledger.jsonl")["train"].releases
            assert applied <= spent <= applied + kills
        assert spent == steps

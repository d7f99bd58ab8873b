"""Two processes make the release that one process makes, or none at all.

Starting processes takes seconds, so one pair, started by torchrun on the loopback interface, goes through all scenarios
in which nobody dies (`SCENARIOS`) and writes down what each process saw; the tests read that. Pairs of which one is
killed are started as torchrun starts them but without it, because it would stop the other process itself.
"""

import errno
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from discreet.engine import distributed
from discreet.engine.distributed import ALONE, joined
from discreet.engine.ledger import Ledger, read_ledger
from discreet.engine.make_private import make_private
from discreet.engine.private import PrivateStep, fit_privately
from discreet.engine.random_bits import Randomness
from discreet.engine.sampling import sampler_of
from discreet.engine.shards import like_parameter, unwrapped, whole
from discreet.errors import DiscreetError, RefusedError
from tests.engine.test_private import (
    ANSWERS,
    FAST,
    POINTS,
    SETTINGS,
    Listening,
    Notes,
    Points,
    flat,
    fresh_model,
    plan,
    run,
    unit_loss,
)

ROOT = Path(__file__).parents[2]
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}


def fit(group, folder, *, source=None, chosen=None, randomness=FAST, settings=SETTINGS, notes=None, model=None):
    """What `test_private.run` does, by a group."""
    chosen = chosen or plan()
    model, notes = model or fresh_model(), notes or Notes()
    with group.ledger(folder / "ledger.jsonl") as ledger:
        fit_privately(
            model,
            source or Points(),
            sampler_of(chosen, randomness),
            unit_loss,
            settings,
            chosen,
            randomness,
            ledger=ledger,
            folder=folder / "checkpoint",
            observer=notes,
            group=group,
        )
    return model, notes


def steps(group, folder, model, *, count, loss=unit_loss, source=None, chosen=None, sampler=None, each=None, rate=0.1):
    """A hand-written loop over `PrivateStep`."""
    chosen = chosen or plan(steps=count)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=rate)
    with group.ledger(folder / "ledger.jsonl") as ledger:
        step = PrivateStep(model, optimizer, loss, chosen, FAST, ledger, group=group)
        sampler = sampler or group.sampler(sampler_of(chosen, FAST))
        for number in range(count):
            report = step(number, (source or Points()).batches(sampler.draw(number)))
            if each is not None:
                each(report)
    return model


def stopped(action, model=None):
    """What an action that must fail says, and whether the weights are as before."""
    model = model or fresh_model()
    before = flat(model)
    try:
        action(model)
    except DiscreetError as error:
        return {"error": type(error).__name__, "says": str(error), "unchanged": torch.equal(flat(model), before)}
    except ZeroDivisionError as error:
        return {"error": type(error).__name__, "unchanged": torch.equal(flat(model), before)}
    return {"error": "", "unchanged": torch.equal(flat(model), before)}


def seeded(group, folder):
    model, notes = fit(group, folder)
    return {"weights": flat(model).tolist(), "reports": [list(report) for report in notes.reports]}


def resumed(group, folder):
    """Goes on with the run whose process 1 was killed."""
    model, notes = fit(group, folder.parent / "killed")
    return {"weights": flat(model).tolist(), "steps": [report.step for report in notes.reports]}


def secure(group, folder):
    model, _ = fit(group, folder, randomness=Randomness())
    return {"weights": flat(model).tolist()}


def noise_only(group, folder):
    """The standard deviation of what is added to a sum of zero."""
    chosen, model = plan(noise=3.0, steps=60, rate=0.5), fresh_model()
    optimizer = Listening(model.parameters(), lr=0.0)
    with group.ledger(folder / "ledger.jsonl") as ledger:
        step = PrivateStep(model, optimizer, lambda m, b: unit_loss(m, b) * 0, chosen, FAST, ledger, group=group)
        sampler = group.sampler(sampler_of(chosen, FAST))
        for number in range(chosen.steps):
            step(number, Points().batches(sampler.draw(number)))
    noise = torch.stack(optimizer.heard).double() * chosen.expected_batch
    return {"variance": float(noise.var()), "count": noise.numel(), "first": noise[0].tolist()}


def small_batches(group, folder):
    """Batches of about one unit: some processes have none."""
    chosen, units = plan(rate=0.02, steps=12), []
    model = steps(group, folder, fresh_model(), count=12, chosen=chosen, each=lambda report: units.append(report.units))
    return {"weights": flat(model).tolist(), "units": units}


def other_weights(group, folder):
    def act(model):
        if group.rank:
            with torch.no_grad():
                model[0].bias += 1
        steps(group, folder, model, count=1)

    return stopped(act)


def other_plan(group, folder):
    return stopped(lambda model: steps(group, folder, model, count=1, chosen=plan(noise=1.0 + group.rank, steps=1)))


def failing_share(group, folder):
    """One process cannot clip its share of step 1."""

    class Broken(Points):
        asked = 0

        def batches(self, draw):
            self.asked += 1
            if self.asked == 2 and group.rank == 1:
                raise ZeroDivisionError("quotes a record")
            yield from super().batches(draw)

    applied: list[Any] = []
    told = stopped(lambda model: steps(group, folder, model, count=3, source=Broken(), each=applied.append))
    return {**told, "applied": len(applied)}


def full_disk(group, folder):
    """Process 0 cannot record the step."""

    def act(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with group.ledger(folder / "ledger.jsonl") as ledger:
            step = PrivateStep(model, optimizer, unit_loss, plan(), FAST, ledger, group=group)
            real = os.fsync

            def full(*_):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            os.fsync = full
            try:
                step(0, Points().batches(group.sampler(sampler_of(plan(), FAST)).draw(0)))
            finally:
                os.fsync = real

    return stopped(act)


def whole_draw(group, folder):
    """Every process trains on the whole batch: each unit would count twice."""
    return stopped(lambda model: steps(group, folder, model, count=1, sampler=sampler_of(plan(steps=1), FAST)))


def own_ledger(group, folder):
    def act(model):
        with Ledger(folder / f"{group.rank}.jsonl") as ledger:
            PrivateStep(
                model, torch.optim.SGD(model.parameters(), lr=0.1), unit_loss, plan(), FAST, ledger, group=group
            )

    return stopped(act)


def ledger_without_group(group, folder):
    def act(model):
        with group.ledger(folder / "ledger.jsonl") as ledger:
            PrivateStep(model, torch.optim.SGD(model.parameters(), lr=0.1), unit_loss, plan(), FAST, ledger)

    return stopped(act)


def ddp(group, folder):
    model = nn.parallel.DistributedDataParallel(fresh_model())
    assert unwrapped(model, group.size) is model.module
    return {"weights": flat(steps(group, folder, model, count=6)).tolist()}


def ddp_without_group(group, folder):
    wrapped = nn.parallel.DistributedDataParallel(fresh_model())
    return stopped(lambda _: steps(ALONE, folder / str(group.rank), wrapped, count=1))


def sharded_model(group):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (group.size,))
    model = fresh_model()
    fully_shard(model[0], mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def gathered(model):
    return torch.cat([whole(p.detach()).flatten() for p in model.parameters()]).tolist()


def fsdp(group, folder):
    model = steps(group, folder, sharded_model(group), count=6)
    kinds = sorted({type(p).__name__ for p in model.parameters()})
    return {"weights": gathered(model), "kinds": kinds}


class Stopping(Points):
    """Raises in every process when it is asked for step 5."""

    asked = 0

    def batches(self, draw):
        self.asked += 1
        if self.asked == 6:
            raise ZeroDivisionError
        yield from super().batches(draw)


def fsdp_resumed(group, folder):
    """A sharded training with a checkpoint after every step, interrupted and taken up by other sharded models."""

    def act(_):
        fit(group, folder, source=Stopping(), model=sharded_model(group))

    first = stopped(act)
    model, notes = fit(group, folder, model=sharded_model(group))
    return {
        "weights": gathered(model),
        "error": first["error"],
        "steps": [report.step for report in notes.reports],
        "optimizer": sorted(load_file(next((folder / "checkpoint").glob("*.safetensors")))),
    }


def loops_of_their_own(group, folder):
    """`make_private` in both processes, saved, loaded and gone on with."""
    chosen = plan()
    rows: Any = [{"x": x, "y": y} for x, y in zip(POINTS, ANSWERS, strict=True)]

    def begun():
        model = fresh_model()
        optimizer = torch.optim.Adam(model.parameters(), lr=SETTINGS.learning_rate)
        ledger = group.ledger(folder / "ledger.jsonl")
        own = make_private(
            model, optimizer, rows, chosen, loss=unit_loss, ledger=ledger, randomness=FAST, group=group, physical=7
        )
        return model, own, ledger

    model, private, ledger = begun()
    for batch in private.batches():
        private.step(batch)
        if batch.step == 4:
            private.save(folder / "checkpoint")
        if batch.step == 6:
            break
    ledger.close()
    model, private, ledger = begun()
    start = private.load(folder / "checkpoint")
    shares = []
    for batch in private.batches():
        shares.append(len(batch))
        private.step(batch)
    spent = private.spent
    ledger.close()
    refused = stopped(lambda _: make_private(
        model, torch.optim.SGD(model.parameters(), lr=0.1), rows[:9], plan(population=9),
        loss=unit_loss, ledger=folder / "other.jsonl", group=group, num_workers=1,
    ))  # fmt: skip
    return {"weights": flat(model).tolist(), "start": start, "spent": spent, "shares": shares, "refused": refused}


def shards(group, folder):
    """A whole tensor of an awkward size takes the sharding of its parameter."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    mesh = init_device_mesh("cpu", (group.size,))
    numbers = torch.arange(35.0).reshape(5, 7)
    told = {}
    for name, placement in (("rows", Shard(0)), ("columns", Shard(1)), ("copies", Replicate())):
        parameter = distribute_tensor(torch.zeros(5, 7, dtype=torch.bfloat16), mesh, [placement])
        part: Any = like_parameter(numbers, parameter)
        told[name] = [part.dtype == torch.bfloat16, list(part.to_local().shape), part.full_tensor().tolist()]
    layer = nn.Linear(5, 7)
    layer.weight = nn.Parameter(distribute_tensor(layer.weight.detach(), mesh, [Shard(0)]))
    lone = nn.Sequential(layer)
    return {**told, "tensor parallel": stopped(lambda _: unwrapped(lone, group.size))}


def hanging(group, folder):
    """Last: process 1 does not answer in time, and the group is not used after."""
    impatient = joined(timeout_seconds=1.0)
    if group.rank == 1:
        time.sleep(3.0)
        return {}
    first = stopped(lambda model: impatient.decide("waiting", lambda: 1))
    return {**first, "again": stopped(lambda model: impatient.hand_out([torch.zeros(1)]))["says"]}


SCENARIOS = [
    seeded, resumed, secure, noise_only, small_batches, other_weights, other_plan, failing_share, full_disk, whole_draw,
    own_ledger, ledger_without_group, ddp, ddp_without_group, fsdp, fsdp_resumed,
    loops_of_their_own, shards, hanging,
]  # fmt: skip


class Dying(Points):
    """One process kills itself in the middle of a step."""

    def __init__(self, group, rank, step):
        super().__init__()
        self.mortal, self.left = group.rank == rank, step

    def batches(self, draw):
        if self.mortal and self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        yield from super().batches(draw)


def main(what, folder):
    """One process of a pair."""
    torch.set_num_threads(1)
    with joined(timeout_seconds=60.0) as group:
        if what == "scenarios":
            told = {}
            for scenario in SCENARIOS:
                own = folder / scenario.__name__
                own.mkdir(exist_ok=True)
                told[scenario.__name__] = scenario(group, own)
            (folder / f"{group.rank}.json").write_text(json.dumps(told))
        else:
            told = stopped(lambda _: fit(group, folder, source=Dying(group, int(what), 5)))
            (folder / f"{group.rank}.json").write_text(json.dumps(told))


def kill(rank, folder):
    """A run by two processes of which one is killed in step 5; what the other says."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    children = []
    for own in "01":
        place = {"RANK": own, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        command = [sys.executable, "-m", "tests.engine.test_distributed", str(rank), str(folder)]
        children.append(subprocess.Popen(command, cwd=ROOT, env={**os.environ, **LOOPBACK, **place}))
    try:
        codes = [child.wait(timeout=120) for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert codes[rank] == -signal.SIGKILL
    assert codes[1 - rank] == 0
    return json.loads((folder / f"{1 - rank}.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pair")


@pytest.fixture(scope="module")
def survivor(folder):
    """What process 0 says after process 1 was killed, and how many steps were spent then."""
    (folder / "killed").mkdir()
    said = kill(1, folder / "killed")
    return {**said, "spent": read_ledger(folder / "killed" / "ledger.jsonl")["train"].releases}


@pytest.fixture(scope="module")
def told(folder, survivor):
    """What two processes saw in each scenario: {name: [process 0's, process 1's]}."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    command = [*torchrun, "-m", "tests.engine.test_distributed", "scenarios", str(folder)]
    environment = {**os.environ, **LOOPBACK}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    seen = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]
    return {name: [own[name] for own in seen] for name in seen[0]}


def close(values, model):
    torch.testing.assert_close(torch.tensor(values), flat(model), rtol=1e-5, atol=1e-5)


def test_two_processes_train_as_one_does_and_spend_the_same(folder, told, tmp_path):
    first, second = told["seeded"]
    alone, notes = run(tmp_path)
    close(first["weights"], alone)
    assert first["weights"] == second["weights"]
    ours = (folder / "seeded" / "ledger.jsonl").read_bytes()
    assert ours == (tmp_path / "ledger.jsonl").read_bytes()
    assert [report[2] for report in first["reports"]] == [report.units for report in notes.reports]
    assert [report[3] for report in first["reports"]] == pytest.approx([report.loss for report in notes.reports], 1e-4)
    assert second["reports"] == []


def test_secure_noise_and_batches_are_the_same_on_both_processes(folder, told):
    first, second = told["secure"]
    assert first == second
    assert all(math.isfinite(value) for value in first["weights"])
    assert read_ledger(folder / "secure" / "ledger.jsonl")["train"].releases == 12


def test_the_noise_is_added_once_not_once_per_process(told):
    """60 steps x 41 coordinates; false alarm below 1e-6 (five standard errors of the variance)."""
    first, second = told["noise_only"]
    expected = plan(noise=3.0, rate=0.5).noise_std ** 2
    assert abs(first["variance"] / expected - 1) < 5 * math.sqrt(2 / first["count"])
    assert first == second


def test_a_process_without_units_takes_part(told, tmp_path):
    first, second = told["small_batches"]
    assert {0, 1} <= set(first["units"])
    assert first == second
    close(first["weights"], steps(ALONE, tmp_path, fresh_model(), count=12, chosen=plan(rate=0.02, steps=12)))


@pytest.mark.parametrize(("name", "differing"), [("other_weights", "model"), ("other_plan", "plan")])
def test_processes_that_begin_differently_are_refused(folder, told, name, differing):
    for own in told[name]:
        assert own["error"] == "SettingError"
        assert f"another {differing}" in own["says"]
    assert read_ledger(folder / name / "ledger.jsonl")["train"].releases == 0


def test_an_error_in_one_process_stops_all_before_the_step_is_paid_for(folder, told):
    first, second = told["failing_share"]
    assert second["error"] == "ZeroDivisionError"
    assert first["error"] == "RunError"
    assert "Process 1 of 2 stopped at the clipping of step 1" in first["says"]
    assert "quotes a record" not in first["says"]
    assert first["applied"] == second["applied"] == 1
    assert read_ledger(folder / "failing_share" / "ledger.jsonl")["train"].releases == 1


def test_a_full_disk_stops_all_before_any_weights_change(told):
    for own in told["full_disk"]:
        assert own["error"] == "RunError"
        assert "must not be applied" in own["says"]
        assert own["unchanged"]


def test_units_that_would_count_once_per_process_are_refused(folder, told):
    says = " ".join(own["says"] for own in told["whole_draw"])
    assert "units would count 2 times" in says
    assert all(own["error"] and own["unchanged"] for own in told["whole_draw"])
    assert read_ledger(folder / "whole_draw" / "ledger.jsonl")["train"].releases == 0


@pytest.mark.parametrize("name", ["own_ledger", "ledger_without_group", "ddp_without_group"])
def test_a_group_its_ledger_and_its_wrapped_model_belong_together(told, name):
    assert [own["error"] for own in told[name]] == ["SettingError", "SettingError"]


@pytest.mark.parametrize("name", ["ddp", "fsdp"])
def test_wrapped_models_train_like_the_plain_one(told, name, tmp_path):
    first, second = told[name]
    assert first == second
    close(first["weights"], steps(ALONE, tmp_path, fresh_model(), count=6))


def test_an_fsdp_model_stays_sharded(told):
    assert told["fsdp"][0]["kinds"] == ["DTensor"]


def test_a_sharded_training_goes_on_from_its_checkpoint_and_ends_like_a_plain_one(told, tmp_path):
    first, second = told["fsdp_resumed"]
    assert first["error"] == "ZeroDivisionError"
    assert first["steps"] == list(range(5, 12))
    assert first["weights"] == second["weights"]
    assert any(name.startswith("optimizer.") for name in first["optimizer"])
    close(first["weights"], run(tmp_path)[0])


def test_loops_of_their_own_share_the_batches_and_end_alike(told, tmp_path):
    first, second = told["loops_of_their_own"]
    assert first["weights"] == second["weights"]
    assert (first["start"], first["spent"]) == (5, 12)
    assert sum(first["shares"]) > 0 < sum(second["shares"])
    assert first["shares"] != second["shares"] or max(first["shares"]) > 1
    assert "num_workers=0" in first["refused"]["says"]
    alone = loops_of_their_own(ALONE, tmp_path)
    torch.testing.assert_close(torch.tensor(first["weights"]), torch.tensor(alone["weights"]), rtol=1e-5, atol=1e-5)
    assert [a + b for a, b in zip(first["shares"], second["shares"], strict=True)] == alone["shares"]


def test_a_whole_sum_takes_the_sharding_of_its_parameter(told):
    whole = torch.arange(35.0).reshape(5, 7).tolist()
    shapes = {"rows": ([3, 7], [2, 7]), "columns": ([5, 4], [5, 3]), "copies": ([5, 7], [5, 7])}
    for rank, own in enumerate(told["shards"]):
        for name, shape in shapes.items():
            assert own[name] == [True, shape[rank], whole]
        assert own["tensor parallel"]["error"] == "RefusedError"
        assert "Tensor parallel" in own["tensor parallel"]["says"]


def test_a_process_that_hangs_is_given_up(told):
    first = told["hanging"][0]
    assert first["error"] == "RunError"
    assert "died or does not answer" in first["says"] == first["again"]


def test_a_killed_process_stops_process_0_with_the_budget_recorded(survivor):
    assert survivor["error"] == "RunError"
    assert "died or does not answer" in survivor["says"]
    assert survivor["spent"] == 5


def test_two_processes_go_on_with_a_run_whose_process_was_killed(folder, told, tmp_path):
    first, second = told["resumed"]
    assert first["steps"] == list(range(5, 12))
    assert first["weights"] == second["weights"]
    close(first["weights"], run(tmp_path)[0])
    assert read_ledger(folder / "killed" / "ledger.jsonl")["train"].releases == 12


def test_process_0_killed_stops_the_others_and_one_process_can_go_on(tmp_path):
    said = kill(0, tmp_path)
    assert "died or does not answer" in said["says"]
    assert read_ledger(tmp_path / "ledger.jsonl")["train"].releases == 5
    close(flat(run(tmp_path)[0]).tolist(), run(tmp_path / "whole")[0])
    assert read_ledger(tmp_path / "ledger.jsonl")["train"].releases == 12


def test_a_process_on_its_own_needs_no_group(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with joined() as group:
        assert group is ALONE
        assert group.decide("anything", lambda: 3) == 3
        assert group.own_seed(7) == 7


def test_models_of_the_first_fsdp_are_refused_by_name(monkeypatch):
    import torch.distributed.fsdp

    class Wrapped(nn.Sequential):
        pass

    monkeypatch.setattr(torch.distributed.fsdp, "FullyShardedDataParallel", Wrapped)
    with pytest.raises(RefusedError, match="fully_shard"):
        unwrapped(nn.Sequential(Wrapped(nn.Linear(2, 2))), 1)


def test_beginnings_tell_weights_and_optimizers_apart():
    model = fresh_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    before = distributed.beginnings(model, optimizer)
    assert before == distributed.beginnings(fresh_model(), torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5))
    model[0].bias.requires_grad_(False)
    assert distributed.beginnings(model, optimizer)["model"] != before["model"]
    model[0].bias.requires_grad_(True)
    optimizer.param_groups[0]["lr"] = 0.2
    assert distributed.beginnings(model, optimizer)["optimizer"] != before["optimizer"]
    unit_loss(model, {"x": torch.ones(1, 6), "y": torch.ones(1, 1)}).sum().backward()
    optimizer.step()
    after = distributed.beginnings(model, optimizer)
    assert after["model"] != before["model"]
    optimizer.state[model[0].bias]["momentum_buffer"] += 1
    assert distributed.beginnings(model, optimizer)["optimizer"] != after["optimizer"]


def test_the_script_of_the_documentation_runs_on_one_process(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
    script = page.split("```text\n# train.py\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    exec(compile(script, "train.py", "exec"), {"__name__": "train"})
    assert read_ledger(tmp_path / "run" / "ledger.jsonl")["train"].releases == 20
    assert (tmp_path / "run" / "checkpoint" / "state.json").is_file()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

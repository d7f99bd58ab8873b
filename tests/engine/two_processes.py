"""What each of two processes does for `test_distributed`: scenarios in which nobody dies, and one in which one does.

python -m tests.engine.two_processes scenarios FOLDER      # started by torchrun: all SCENARIOS, one after the other
python -m tests.engine.two_processes 1 FOLDER              # process 1 kills itself in step 5
"""

import errno
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from discreet.engine.distributed import ALONE, joined
from discreet.engine.ledger import Ledger
from discreet.engine.make_private import make_private
from discreet.engine.private import PrivateStep, fit_privately
from discreet.engine.random_bits import Randomness
from discreet.engine.sampling import sampler_of
from discreet.engine.shards import like_parameter, unwrapped, whole
from discreet.errors import DiscreetError
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
    unit_loss,
)


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


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

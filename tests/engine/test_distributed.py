"""Two processes make the release that one process makes, or none at all.

Starting processes takes seconds, so one pair, started by torchrun on the loopback interface, goes through all scenarios
in which nobody dies (`two_processes.SCENARIOS`) and writes down what each process saw; the tests read that. Pairs of
which one is killed are started as torchrun starts them but without it, because it would stop the other process itself.
"""

import json
import math
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from discreet.engine import distributed
from discreet.engine.distributed import ALONE, joined
from discreet.engine.ledger import read_ledger
from discreet.engine.shards import unwrapped
from discreet.errors import RefusedError
from tests.engine.test_private import (
    flat,
    fresh_model,
    plan,
    run,
    unit_loss,
)
from tests.engine.two_processes import loops_of_their_own, steps

ROOT = Path(__file__).parents[2]
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}


def kill(rank, folder):
    """A run by two processes of which one is killed in step 5; what the other says."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    children = []
    for own in "01":
        place = {"RANK": own, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        command = [sys.executable, "-m", "tests.engine.two_processes", str(rank), str(folder)]
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
    command = [*torchrun, "-m", "tests.engine.two_processes", "scenarios", str(folder)]
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

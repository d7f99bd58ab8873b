"""The private step: clipped, noised once, normalised by the plan, paid for before it is applied."""

import errno
import json
import math
import os
import signal
import subprocess
import sys

import pytest
import torch
from torch import nn

from discreet.engine.clipping.costs import Costs
from discreet.engine.clipping.strategies import Clip, Normalise
from discreet.engine.ledger import Ledger, read_ledger
from discreet.engine.plan import Plan, clip_of
from discreet.engine.private import PrivateStep, fit_privately, strategy_of
from discreet.engine.random_bits import Randomness
from discreet.engine.sampling import sampler_of
from discreet.engine.settings import TrainingSettings
from discreet.errors import RefusedError, RunError, SettingError

POINTS = torch.randn(40, 6, generator=torch.Generator().manual_seed(1))
ANSWERS = torch.randn(40, 1, generator=torch.Generator().manual_seed(2))
FAST = Randomness("fast", seed=11)


def plan(**changes):
    return Plan(
        **{"rate": 0.2, "steps": 12, "noise": 0.8, "neighbours": "replace", "population": 40, "clip": 0.5, **changes}
    )


def fresh_model(dropout=0.0):
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Dropout(dropout), nn.Linear(5, 1))


def unit_loss(model, batch):
    return ((model(batch["x"]) - batch["y"]) ** 2).flatten(1).sum(1)


class Points:
    """The drawn points, in physical batches of a given size."""

    def __init__(self, physical=100):
        self.physical = physical

    def batches(self, draw):
        for start in range(0, len(draw.records), self.physical):
            own = torch.from_numpy(draw.records[start : start + self.physical])
            yield {"x": POINTS[own], "y": ANSWERS[own]}


class Notes:
    def __init__(self, die_after=-1):
        self.reports, self.losses, self.die_after = [], [], die_after

    def private_step(self, report):
        self.reports.append(report)
        if report.step == self.die_after:
            raise KeyboardInterrupt

    def private_epoch(self, end):
        self.losses.append((end.step, end.valid_loss))


SETTINGS = TrainingSettings(optimizer="adamw", learning_rate=0.05, checkpoint_seconds=0, schedule="constant")


def run(
    folder, *, chosen=None, randomness=FAST, physical=100, notes=None, settings=SETTINGS, dropout=0.0, validate=None
):
    chosen = chosen or plan()
    notes = notes or Notes()
    model = fresh_model(dropout)
    folder.mkdir(exist_ok=True)
    with Ledger(folder / "ledger.jsonl") as ledger:
        fit_privately(
            model,
            Points(physical),
            sampler_of(chosen, randomness),
            unit_loss,
            settings,
            chosen,
            randomness,
            ledger=ledger,
            folder=folder / "checkpoint",
            observer=notes,
            validate=validate,
        )
    return model, notes


class Listening(torch.optim.SGD):
    """Keeps the gradients it is given, and what `ask` answers when it is about to change the weights."""

    def __init__(self, parameters, lr, ask=None):
        super().__init__(parameters, lr=lr)
        self.heard: list[torch.Tensor] = []
        self.ask, self.answers = ask, list[int]()

    def step(self, closure=None):
        self.heard.append(torch.cat([p.grad.flatten() for group in self.param_groups for p in group["params"]]))
        if self.ask is not None:
            self.answers.append(self.ask())
        return super().step(closure)


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def clipped_sum_by_hand(model, records, clip):
    total = torch.zeros_like(flat(model))
    for record in records:
        loss = unit_loss(model, {"x": POINTS[record : record + 1], "y": ANSWERS[record : record + 1]}).sum()
        gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))])
        total += gradient * min(1.0, clip * (1 - 1e-6) / float(gradient.norm()))
    return total


def test_a_step_is_the_clipped_sum_over_the_expected_batch_when_there_is_almost_no_noise(tmp_path):
    chosen = plan(noise=1e-9, steps=1)
    settings = TrainingSettings(optimizer="sgd", learning_rate=1.0, schedule="constant", precision="float32")
    before = fresh_model()
    model, notes = run(tmp_path, chosen=chosen, settings=settings)
    drawn = sampler_of(chosen, FAST).draw(0).records
    assert notes.reports[0].units == len(drawn) > 0
    expected = clipped_sum_by_hand(before, drawn, 0.5) / (0.2 * 40)
    torch.testing.assert_close(flat(before) - flat(model), expected, rtol=1e-4, atol=1e-6)


def test_the_noise_has_the_standard_deviation_of_the_plan_and_is_added_once_whatever_the_physical_batches(tmp_path):
    """Variance over 150 steps x 41 coordinates; false alarm below 1e-6 (five standard errors of the variance)."""
    chosen = plan(noise=3.0, steps=150, rate=0.5)
    for physical in (6, 100):
        model = fresh_model()
        optimizer = Listening(model.parameters(), lr=0.0)
        with Ledger(tmp_path / f"{physical}.jsonl") as ledger:
            step = PrivateStep(model, optimizer, lambda m, b: unit_loss(m, b) * 0, chosen, FAST, ledger)
            sampler = sampler_of(chosen, FAST)
            for number in range(chosen.steps):
                step(number, Points(physical).batches(sampler.draw(number)))
        noise = torch.stack(optimizer.heard).double() * chosen.expected_batch
        expected = chosen.noise_std**2
        assert abs(float(noise.var()) / expected - 1) < 5 * math.sqrt(2 / noise.numel())
        neighbours = (noise[1:] * noise[:-1]).mean() / expected
        assert abs(float(neighbours)) < 5 / math.sqrt(noise.numel())


def test_an_empty_batch_is_noised_like_any_other(tmp_path):
    chosen = plan(rate=1e-9, steps=1)
    before = flat(fresh_model())
    model, notes = run(tmp_path, chosen=chosen, settings=TrainingSettings(optimizer="sgd", learning_rate=1e-9))
    assert notes.reports[0].units == 0
    assert not torch.equal(flat(model), before)
    assert read_ledger(tmp_path / "ledger.jsonl")["train"].releases == 1


@pytest.mark.parametrize("physical", [1, 3, 7])
def test_accumulating_physical_batches_equals_the_large_batch(tmp_path, physical):
    large, _ = run(tmp_path / "large")
    small, _ = run(tmp_path / "small", physical=physical)
    torch.testing.assert_close(flat(small), flat(large), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("die_after", [0, 5, 10])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_killed_seeded_run_goes_on_to_the_same_weights_and_spends_no_more(tmp_path, die_after, optimizer):
    settings = SETTINGS.model_copy(update={"optimizer": optimizer, "momentum": 0.5})
    whole, _ = run(tmp_path / "whole", settings=settings, dropout=0.3)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", settings=settings, dropout=0.3, notes=Notes(die_after))
    resumed, notes = run(tmp_path / "killed", settings=settings, dropout=0.3)
    assert torch.equal(flat(whole), flat(resumed))
    assert notes.reports[0].step == die_after  # spent and applied, but not in the checkpoint
    assert read_ledger(tmp_path / "killed" / "ledger.jsonl")["train"].releases == 12


def test_sums_of_a_seeded_step_do_not_depend_on_timings(tmp_path, monkeypatch):
    def timed(*_):
        raise AssertionError("a seeded step was timed")

    monkeypatch.setattr(Costs, "_measured", timed)
    run(tmp_path)


def test_a_killed_secure_run_goes_on_after_the_last_step_spent(tmp_path):
    secure = Randomness()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, randomness=secure, notes=Notes(die_after=4))
    _, notes = run(tmp_path, randomness=secure)
    assert [report.step for report in notes.reports] == list(range(5, 12))
    assert read_ledger(tmp_path / "ledger.jsonl")["train"].releases == 12


def test_the_ledger_has_the_step_before_the_weights_change(tmp_path):
    chosen = plan()
    model = fresh_model()
    optimizer = Listening(model.parameters(), lr=0.1, ask=lambda: read_ledger(tmp_path / "l.jsonl")["train"].releases)
    with Ledger(tmp_path / "l.jsonl") as ledger:
        step = PrivateStep(model, optimizer, unit_loss, chosen, FAST, ledger)
        for number in range(3):
            step(number, Points().batches(sampler_of(chosen, FAST).draw(number)))
    assert optimizer.answers == [1, 2, 3]


def test_a_full_disk_stops_the_step_before_the_weights_change(tmp_path, monkeypatch):
    chosen = plan()
    model = fresh_model()
    before = flat(model)
    with Ledger(tmp_path / "l.jsonl") as ledger:
        step = PrivateStep(model, torch.optim.SGD(model.parameters(), lr=0.1), unit_loss, chosen, FAST, ledger)

        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(RunError, match="must not be applied"):
            step(0, Points().batches(sampler_of(chosen, FAST).draw(0)))
    assert torch.equal(flat(model), before)


def test_a_unit_whose_gradient_is_not_a_number_adds_nothing_and_is_counted(tmp_path):
    def poisoned(model, batch):
        return torch.where(batch["y"].flatten() > 1.0, math.nan, 1.0) * unit_loss(model, batch)

    chosen = plan(rate=1.0, steps=1, noise=1e-9)
    model = fresh_model()
    good = [n for n in range(40) if float(ANSWERS[n]) <= 1.0]
    expected = clipped_sum_by_hand(model, good, 0.5) / 40
    before = flat(model)
    with Ledger(tmp_path / "l.jsonl") as ledger:
        step = PrivateStep(model, torch.optim.SGD(model.parameters(), lr=1.0), poisoned, chosen, FAST, ledger)
        report = step(0, Points().batches(sampler_of(chosen, FAST).draw(0)))
    assert report.skipped == 40 - len(good) > 0
    torch.testing.assert_close(before - flat(model), expected, rtol=1e-4, atol=1e-6)


def test_more_steps_than_the_plan_has_are_refused(tmp_path):
    chosen = plan(steps=1)
    model = fresh_model()
    with Ledger(tmp_path / "l.jsonl") as ledger:
        step = PrivateStep(model, torch.optim.SGD(model.parameters(), lr=0.1), unit_loss, chosen, FAST, ledger)
        step(0, [])
        before = flat(model)
        with pytest.raises(RefusedError, match="all 1 steps"):
            step(1, [])
    assert torch.equal(flat(model), before)


def test_clipping_that_lets_through_more_than_the_plan_is_refused(tmp_path):
    model = fresh_model()
    with Ledger(tmp_path / "l.jsonl") as ledger, pytest.raises(SettingError, match=r"the plan allows 0\.5"):
        PrivateStep(
            model,
            torch.optim.SGD(model.parameters(), lr=0.1),
            unit_loss,
            plan(),
            FAST,
            ledger,
            strategy=Clip(0.6),
        )


def test_the_optimizer_must_train_what_is_noised(tmp_path):
    model = fresh_model()
    half = torch.optim.SGD(model[0].parameters(), lr=0.1)
    with Ledger(tmp_path / "l.jsonl") as ledger, pytest.raises(SettingError, match="same parameters"):
        PrivateStep(model, half, unit_loss, plan(), FAST, ledger)


def test_groups_and_normalising_follow_the_plan():
    groups = {"0": 0.3, "3": 0.4}
    assert strategy_of(plan(groups=tuple(groups.items()), clip=clip_of(groups))).sensitivity == pytest.approx(0.5)
    assert strategy_of(plan(), normalise=True) == Normalise(0.5)


def test_validation_is_heard_once_an_epoch_and_chooses_nothing(tmp_path):
    losses = iter([1.0, 2.0, 3.0])  # the first epoch is the best
    model, notes = run(tmp_path / "a", validate=lambda _: next(losses))
    assert notes.losses == [(5, 1.0), (10, 2.0), (12, 3.0)]  # the last epoch is cut short by the plan
    assert torch.equal(flat(model), flat(run(tmp_path / "b")[0]))


KILLED = """
import sys
from pathlib import Path
from tests.engine.test_private import Randomness, run
run(Path(sys.argv[1]), randomness=Randomness())
"""


def test_kill_9_at_any_moment_never_loses_a_release(tmp_path):
    """Whatever the moment of the kill, the ledger holds at least as many steps as the checkpoint was trained for."""
    for delay in (0.3, 1.0):
        folder = tmp_path / f"{delay:.2f}"
        child = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], stderr=subprocess.DEVNULL)
        _wait_for_ledger(folder, child)
        try:
            child.wait(timeout=float(delay) / 10)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
        spent = read_ledger(folder / "ledger.jsonl")["train"].releases
        state = folder / "checkpoint" / "state.json"
        if state.is_file():
            assert json.loads(state.read_text())["progress"]["step"] <= spent
        model, notes = run(folder, randomness=Randomness())
        assert read_ledger(folder / "ledger.jsonl")["train"].releases == 12
        assert [report.step for report in notes.reports] == list(range(spent, 12))
        assert torch.isfinite(flat(model)).all()


def _wait_for_ledger(folder, child):
    while child.poll() is None and not (folder / "ledger.jsonl").is_file():
        pass
    while child.poll() is None and b"begin" not in (folder / "ledger.jsonl").read_bytes():
        pass

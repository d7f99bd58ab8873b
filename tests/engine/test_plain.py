"""The plain training loop: it learns, stops, schedules, and a killed run ends with the same weights."""

import math
from dataclasses import dataclass, field

import pytest
import torch
from torch import nn

from discreet.engine.plain import EpochEnd, Step, fit
from discreet.engine.schedule import factor
from discreet.engine.settings import TrainingSettings
from discreet.errors import DiscreetError

POINTS = torch.randn(64, 4, generator=torch.Generator().manual_seed(0))
ANSWERS = POINTS @ torch.tensor([[1.0], [-2.0], [0.5], [3.0]])


class Points:
    """Sixteen batches of four points, in an order that depends on the epoch."""

    def plan(self, epoch):
        order = torch.randperm(64, generator=torch.Generator().manual_seed(epoch))
        return list(order.split(4))

    def load(self, item):
        return {"x": POINTS[item], "y": ANSWERS[item]}


def squared(model, batch):
    return ((model(batch["x"]) - batch["y"]) ** 2).sum(), len(batch["x"])


def fresh_model():
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 1))


@dataclass
class Notes:
    """Remembers what it hears, and can kill the training at a step."""

    die_after: int = 10**9
    steps: list[Step] = field(default_factory=list)
    epochs: list[EpochEnd] = field(default_factory=list)

    def step(self, step):
        self.steps.append(step)
        if step.step == self.die_after:
            raise KeyboardInterrupt

    def epoch(self, epoch):
        self.epochs.append(epoch)


def validation(model):
    with torch.no_grad():
        return float(((model(POINTS) - ANSWERS) ** 2).mean())


def run(folder, settings, notes=None, model=None, validate=validation):
    notes = notes or Notes()
    model = model or fresh_model()
    fit(model, Points(), squared, settings, seed=3, folder=folder, validate=validate, observer=notes)
    return model, notes


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("die_after", [1, 7, 16, 17, 31])
def test_a_killed_run_goes_on_to_the_same_weights(tmp_path, optimizer, die_after):
    settings = TrainingSettings(
        epochs=3, optimizer=optimizer, learning_rate=0.02, momentum=0.5, checkpoint_seconds=0, warmup=0.1
    )
    whole, _ = run(tmp_path / "whole", settings)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", settings, Notes(die_after=die_after))
    resumed, notes = run(tmp_path / "killed", settings)
    assert notes.steps[0].step == die_after  # that step's checkpoint had not been written
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


def test_training_lowers_the_loss_and_reports_each_epoch(tmp_path):
    _, notes = run(tmp_path, TrainingSettings(epochs=4, learning_rate=0.05, gradient_clip=0))
    assert [e.epoch for e in notes.epochs] == [0, 1, 2, 3]
    assert notes.epochs[-1].train_loss < 0.5 * notes.epochs[0].train_loss
    assert [s.step for s in notes.steps] == list(range(1, 65))
    assert notes.epochs[0].targets == 64


def test_early_stopping_waits_its_patience_and_keeps_the_best_weights(tmp_path):
    losses = iter([3.0, 1.0, 2.0, 2.5, 0.1])
    seen = []

    def validate(model):
        seen.append([p.clone() for p in model.parameters()])
        return next(losses)

    model, notes = run(tmp_path, TrainingSettings(epochs=9, patience=2), validate=validate)
    assert len(notes.epochs) == 4
    assert [e.best for e in notes.epochs] == [True, True, False, False]
    for got, best in zip(model.parameters(), seen[1], strict=True):
        assert torch.equal(got, best)


def test_plateau_divides_the_rate_by_four_when_validation_does_not_improve(tmp_path):
    losses = iter([2.0, 2.0, 1.0, 1.5])
    _, notes = run(
        tmp_path,
        TrainingSettings(epochs=4, schedule="plateau", learning_rate=0.4),
        validate=lambda _: next(losses),
    )
    assert [e.learning_rate for e in notes.epochs] == pytest.approx([0.4, 0.4, 0.1, 0.1])


def test_a_batch_without_targets_changes_nothing(tmp_path):
    model = fresh_model()
    before = [p.clone() for p in model.parameters()]
    fit(
        model,
        Points(),
        lambda m, b: (m(b["x"]).sum() * 0, 0),
        TrainingSettings(epochs=1, weight_decay=0.1),
        seed=0,
        folder=tmp_path,
        validate=None,
        observer=Notes(),
    )
    for a, b in zip(model.parameters(), before, strict=True):
        assert torch.equal(a, b)


def test_a_loss_that_is_not_a_number_stops_with_advice(tmp_path):
    with pytest.raises(DiscreetError, match="not a number; lower training"):
        fit(
            fresh_model(),
            Points(),
            lambda m, b: (m(b["x"]).sum() * math.nan, 4),
            TrainingSettings(epochs=1),
            seed=0,
            folder=tmp_path,
            validate=None,
            observer=Notes(),
        )


def test_gradients_are_clipped_to_the_norm_asked_for(tmp_path):
    model = fresh_model()
    before = torch.cat([p.detach().flatten() for p in model.parameters()])
    settings = TrainingSettings(epochs=1, optimizer="sgd", learning_rate=1.0, schedule="constant", gradient_clip=1e-3)
    notes = Notes(die_after=1)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, settings, notes, model)
    after = torch.cat([p.detach().flatten() for p in model.parameters()])
    assert (after - before).norm() == pytest.approx(1e-3, rel=1e-3)


def test_bfloat16_trains_too(tmp_path):
    _, notes = run(tmp_path, TrainingSettings(epochs=3, learning_rate=0.05, precision="bfloat16", gradient_clip=0))
    assert notes.epochs[-1].train_loss < notes.epochs[0].train_loss


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [("constant", [1, 1, 1]), ("linear", [1, 0.5, 0.1]), ("cosine", [1, 0.5, 0.02447174])],
)
def test_schedules(schedule, expected):
    assert [factor(schedule, step, 10) for step in (0, 5, 9)] == pytest.approx(expected)


def test_warmup_rises_from_near_zero_to_the_full_rate():
    assert [factor("constant", step, 10, warmup=0.4) for step in range(5)] == pytest.approx([0.25, 0.5, 0.75, 1, 1])

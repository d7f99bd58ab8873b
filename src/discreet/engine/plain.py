"""Plain training, without privacy: the loop that mechanisms run on public or redacted text.

The loop knows no text. A *source* says which batches an epoch has and loads them; a *loss* gives one loss per target
of a batch. Every random choice is a function of the seed and the step, so a killed run that starts again from its last
checkpoint ends with the very same weights.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from discreet.engine import checkpoint
from discreet.engine.precision import autocast, resolve
from discreet.engine.schedule import PLATEAU_DIVISOR, factor
from discreet.engine.settings import TrainingSettings
from discreet.errors import DiscreetError

Batch = Mapping[str, Tensor]


class Source(Protocol):
    """Where batches come from."""

    def plan(self, epoch: int) -> Sequence[Any]:
        """What the steps of an epoch will load: the same answer each time it is asked."""

    def load(self, item: Any) -> Batch: ...


class Loss(Protocol):
    """The training objective on a batch."""

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """The sum of the losses over the batch's targets, and how many targets there are."""


class Step(NamedTuple):
    """What an observer hears after each step."""

    step: int
    steps: int
    epoch: int
    loss: float
    learning_rate: float
    targets: int


class EpochEnd(NamedTuple):
    """What an observer hears after each epoch."""

    step: int
    epoch: int
    train_loss: float
    valid_loss: float | None
    learning_rate: float
    seconds: float
    targets: int
    best: bool


class Observer(Protocol):
    def step(self, step: Step) -> None: ...

    def epoch(self, epoch: EpochEnd) -> None: ...


class Beside(NamedTuple):
    """A second model that the loss trains with optimizers of its own: checkpoints hold it together with the first."""

    module: nn.Module
    optimizers: tuple[torch.optim.Optimizer, ...] = ()


@dataclass
class Progress:
    """How far a training has come: all that a checkpoint needs besides weights and optimizer."""

    step: int = 0
    epoch: int = 0
    within: int = 0
    """Steps of the current epoch that are done."""
    loss_sum: float = 0.0
    targets: int = 0
    seconds: float = 0.0
    scale: float = 1.0
    best: float = math.inf
    since_best: int = 0
    finished: bool = False


def make_optimizer(model: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    parameters = [p for p in model.parameters() if p.requires_grad]
    if settings.optimizer == "sgd":
        return torch.optim.SGD(
            parameters, settings.learning_rate, momentum=settings.momentum, weight_decay=settings.weight_decay
        )
    return torch.optim.AdamW(
        parameters,
        settings.learning_rate,
        betas=(0.9, settings.beta2),
        weight_decay=settings.weight_decay,
        fused=True,
    )


def fit(
    model: nn.Module,
    source: Source,
    loss: Loss,
    settings: TrainingSettings,
    *,
    seed: int,
    folder: Path,
    validate: Callable[[nn.Module], float] | None,
    observer: Observer,
    beside: Beside | None = None,
    keep_best: bool = True,
) -> Progress:
    """Trains to the end, or goes on from the checkpoint in `folder`; leaves the best weights in the model.

    With a validation function the best epoch's weights are kept; without one, or without `keep_best`, the last.
    """
    optimizer = make_optimizer(model, settings)
    held, optimizers = model, [optimizer]
    if beside is not None:
        held, optimizers = nn.ModuleList([model, beside.module]), [optimizer, *beside.optimizers]
    stored = checkpoint.load_checkpoint(folder, held, *optimizers)
    progress = Progress(**stored) if stored else Progress()
    steps = sum(len(source.plan(epoch)) for epoch in range(settings.epochs))
    precision = resolve(settings.precision)
    saved = time.monotonic()

    while progress.epoch < settings.epochs and not progress.finished:
        items = source.plan(progress.epoch)
        model.train()
        began = time.monotonic()
        while progress.within < len(items):
            batch = source.load(items[progress.within])
            rate = settings.learning_rate * progress.scale
            rate *= factor(settings.schedule, progress.step, steps, settings.warmup)
            for group in optimizer.param_groups:
                group["lr"] = rate
            torch.manual_seed(step_seed(seed, progress.step))  # dropout of a step does not depend on how it was reached
            value, count = update(model, batch, loss, optimizer, settings.gradient_clip, precision)
            progress.step += 1
            progress.within += 1
            progress.loss_sum += value
            progress.targets += count
            observer.step(Step(progress.step, steps, progress.epoch, value / max(1, count), rate, count))
            now = time.monotonic()
            if now - saved >= settings.checkpoint_seconds and progress.within < len(items):
                progress.seconds += now - began
                began = saved = now
                checkpoint.save_checkpoint(folder, asdict(progress), held, *optimizers)
        progress.seconds += time.monotonic() - began
        best = folder / "best.safetensors" if keep_best else None
        _end_epoch(model, settings, progress, validate, best, observer, rate=optimizer.param_groups[0]["lr"])
        checkpoint.save_checkpoint(folder, asdict(progress), held, *optimizers)
        saved = time.monotonic()

    if keep_best and validate is not None and (folder / "best.safetensors").is_file():
        checkpoint.load_weights(folder / "best.safetensors", model)
    model.eval()
    return progress


def update(
    model: nn.Module, batch: Batch, loss: Loss, optimizer: torch.optim.Optimizer, clip: float, precision: str
) -> tuple[float, int]:
    """One optimizer step on the mean loss of the batch's targets; a batch without targets changes nothing."""
    with autocast(precision):
        total, count = loss(model, batch)
    value = float(total.detach())
    if not math.isfinite(value):
        raise DiscreetError("The loss is not a number; lower training.learning_rate.")
    if count == 0:
        return value, count
    optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(total / count)
    if clip:
        nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], clip)
    optimizer.step()
    return value, count


def _end_epoch(
    model: nn.Module,
    settings: TrainingSettings,
    progress: Progress,
    validate: Callable[[nn.Module], float] | None,
    best: Path | None,
    observer: Observer,
    rate: float,
) -> None:
    """Validates, keeps the best weights in `best`, decides on the rate and on stopping."""
    valid = None
    is_best = validate is None
    if validate is not None:
        model.eval()
        valid = validate(model)
        is_best = valid < progress.best
        if is_best:
            progress.best, progress.since_best = valid, 0
            # Before the checkpoint that knows of it: a crash in between repeats the epoch and writes the same weights.
            if best is not None:
                checkpoint.save_weights(best, model)
        else:
            progress.since_best += 1
            if settings.schedule == "plateau":
                progress.scale /= PLATEAU_DIVISOR
        progress.finished = 0 < settings.patience <= progress.since_best
    mean = progress.loss_sum / max(1, progress.targets)
    observer.epoch(
        EpochEnd(progress.step, progress.epoch, mean, valid, rate, progress.seconds, progress.targets, is_best)
    )
    progress.epoch += 1
    progress.within, progress.loss_sum, progress.targets, progress.seconds = 0, 0.0, 0, 0.0


def step_seed(seed: int, step: int) -> int:
    """What the dropout of a step is drawn from."""
    return (seed * 1_000_003 + step) % 2**63

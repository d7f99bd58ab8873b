"""One private step, and the loop that makes a plan's worth of them.

    step = PrivateStep(model, optimizer, loss, plan, randomness, ledger)
    for number in range(ledger.resume_step(plan, done), plan.steps):
        step(number, source.batches(sampler.draw(number)))

A step is: clip each unit's gradient and add up, in as many physical batches as it takes; write the step into the
ledger; add the noise, once; divide by the *expected* batch; let the optimizer have it. Nothing of the data reaches the
model by another way, so whatever the optimizer does with the gradient is post-processing.

What could go wrong, and what is done about it (each has a test):

- The batch is empty: noise is added all the same, or its absence would show who was not drawn.
- A unit's gradient is not a number: it adds nothing and is counted.
- The process dies: the ledger's line is on disk before the update is applied, so a crash can only over-count.
- The disk is full: the ledger raises and the update is not applied.
- Dividing by the drawn size would leak it: the divisor is the plan's expected batch.

Several processes can make one step together (`group`, see `discreet.engine.distributed`): each clips its share of the
units, process 0 pays and adds the noise, all apply the same update.

The losses and norms a step reports are *not* private. They go to the progress bar and nowhere else.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import nn

from discreet.engine import checkpoint
from discreet.engine.clipping.clipped import ClippedBackward
from discreet.engine.clipping.costs import Costs
from discreet.engine.clipping.fallback import Loss as UnitLoss
from discreet.engine.clipping.strategies import Clip, ClipGroups, Normalise, Strategy
from discreet.engine.distributed import ALONE, Group, beginnings
from discreet.engine.ledger import PHASE, Ledger
from discreet.engine.noise import Noise
from discreet.engine.plain import Batch, make_optimizer, step_seed
from discreet.engine.plan import Plan
from discreet.engine.precision import autocast, resolve
from discreet.engine.random_bits import Randomness
from discreet.engine.sampling import Draw, Sampler
from discreet.engine.schedule import factor
from discreet.engine.settings import TrainingSettings
from discreet.engine.shards import is_sharded, like_parameter, unsharded, unwrapped
from discreet.engine.shared import SharedLedger
from discreet.errors import SettingError


class PrivateSource(Protocol):
    """Where the physical batches of a drawn batch come from; each row along dimension 0 is one unit, whole."""

    def batches(self, draw: Draw) -> Iterable[Batch]: ...


class StepReport(NamedTuple):
    """What an observer hears after a step. Not private: for the person at the terminal only."""

    step: int
    steps: int
    units: int
    loss: float
    clipped: float
    """Share of the units whose gradient was longer than the clip norm."""
    skipped: int
    """Units left out because their gradient was not a number."""
    learning_rate: float


class PrivateEpoch(NamedTuple):
    """What an observer hears after each expected pass over the units."""

    step: int
    seconds: float
    valid_loss: float | None
    """On data that is declared public."""


class PrivateObserver(Protocol):
    def private_step(self, report: StepReport) -> None: ...

    def private_epoch(self, end: PrivateEpoch) -> None: ...


def strategy_of(plan: Plan, *, normalise: bool = False) -> Strategy:
    """How the plan clips."""
    if plan.groups:
        return ClipGroups(dict(plan.groups))
    return Normalise(plan.clip) if normalise else Clip(plan.clip)


class PrivateStep:
    """Makes noisy, clipped updates and pays for each before it is applied."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        loss: UnitLoss,
        plan: Plan,
        randomness: Randomness,
        ledger: Ledger | SharedLedger,
        *,
        phase: str = PHASE,
        strategy: Strategy | None = None,
        precision: str = "float32",
        strict: bool = False,
        public: Callable[[int], None] | None = None,
        group: Group = ALONE,
    ) -> None:
        """`public(step)` may add gradients of public data to the noisy ones on the parameters, before the update."""
        group.check_ledger(ledger)
        model = unwrapped(model, group.size)
        self.plan, self.noise, self.precision = plan, group.noise(Noise(randomness)), precision
        self._model, self._optimizer, self._ledger, self._phase = model, optimizer, ledger, phase
        self._group, self._begun, self._public = group, False, public
        strategy = strategy or strategy_of(plan)
        if strategy.sensitivity > plan.clip * (1 + 1e-9):  # the noise is scaled to the plan's clip
            raise SettingError(
                f"The clipping lets a unit change the sum by {strategy.sensitivity:g}, the plan allows {plan.clip:g}."
            )
        # A seeded step that is repeated after a kill must be the same release to the last bit, so its sums may not
        # depend on which way to a norm happened to be faster; a secure step is never repeated.
        costs = Costs(measure=randomness.secure)
        self._backward = ClippedBackward(model, loss, strategy, strict=strict, costs=costs)
        self._check_optimizer()
        with unsharded(model):
            self._sums = self._backward.zeros()
        ledger.begin(plan, draw=randomness.draw, phase=phase)

    def pay(self, step: int) -> None:
        """Records a step as spent; nothing of it may be applied before this returns."""
        self._ledger.spend(self.plan, step, phase=self._phase)

    def __call__(self, step: int, batches: Iterable[Batch], *, paid: bool = False) -> StepReport:
        """One release over the physical batches of the drawn units.

        Where a step has several releases (a notion that counts them all), the caller pays once and says so.
        """
        sums = list(self._sums.values())
        if not self._begun:
            self._check_beginning()
        torch._foreach_zero_(sums)
        with unsharded(self._model):
            counts = self._group.agree(f"the clipping of step {step}", lambda: self._clip(step, batches))
        units, clipped, skipped, losses = (sum(column) for column in zip(*counts, strict=True))
        self._group.add_up(sums)
        if not paid:
            self.pay(step)
        self.noise.add_(sums, self.plan.noise_std, divide=self.plan.expected_batch)
        self._apply(step)
        rate = float(self._optimizer.param_groups[0]["lr"])
        return StepReport(step, self.plan.steps, units, losses / max(1, units), clipped / max(1, units), skipped, rate)

    def _clip(self, step: int, batches: Iterable[Batch]) -> tuple[int, int, int, float]:
        """Adds this process's clipped gradients to the sums; counts units, clipped and skipped ones, and the loss."""
        units = clipped = skipped = 0
        losses = 0.0
        for batch in batches:
            with autocast(self.precision):
                outcome = self._backward.add(batch, self._sums)
            units += len(outcome.norms)
            clipped += int((outcome.norms > self.plan.clip).sum())
            skipped += outcome.skipped
            losses += float(outcome.losses.double().sum())
        self._group.check_share(step, units)
        return units, clipped, skipped, losses

    def _apply(self, step: int) -> None:
        """The noisy sum over the expected batch becomes the gradient of an ordinary optimizer."""
        for name, parameter in self._model.named_parameters():
            if parameter.requires_grad:
                parameter.grad = like_parameter(self._sums[name], parameter)
        if self._public is not None:
            self._public(step)
        self._optimizer.step()
        for parameter in self._model.parameters():
            parameter.grad = None

    def _check_beginning(self) -> None:
        """Processes that begin alike and apply the same updates stay alike."""
        if self._group.size > 1:
            self._group.same({"plan": self.plan.fingerprint(), **beginnings(self._model, self._optimizer)})
        self._begun = True

    def _check_optimizer(self) -> None:
        """A parameter that only one of model and optimizer trains is a mistake."""
        trained = {p for p in self._model.parameters() if p.requires_grad}
        known = {p for group in self._optimizer.param_groups for p in group["params"]}
        if trained != known:
            raise SettingError(
                "The optimizer and the model do not train the same parameters; make the optimizer from "
                "[p for p in model.parameters() if p.requires_grad]."
            )


@dataclass
class PrivateProgress:
    """How far a private phase has come: all that a checkpoint needs besides weights and optimizer."""

    step: int = 0
    skipped: int = 0
    noise: dict[str, Any] = field(default_factory=dict)
    public_epochs: int = 0
    """Public epochs that are done."""
    public_updates: int = 0
    """Updates of the current public epoch that are done."""
    seconds: float = 0.0
    """Of the current epoch, public updates included."""


class PublicEpochs(Protocol):
    """Updates on public data, an epoch of them before each private epoch."""

    optimizer: torch.optim.Optimizer

    def updates(self, epoch: int, done: int) -> Iterator[None]:
        """Makes the updates of an epoch that come after the first `done`, one whenever the next is asked for."""


Turn = Callable[[PrivateStep, torch.optim.Optimizer, int, Draw], StepReport]
"""What is done with the batch drawn for a step: one release, unless a mechanism makes something else of it."""


def fit_privately(
    model: nn.Module,
    source: PrivateSource,
    sampler: Sampler,
    loss: UnitLoss,
    settings: TrainingSettings,
    plan: Plan,
    randomness: Randomness,
    *,
    ledger: Ledger | SharedLedger,
    folder: Path,
    observer: PrivateObserver,
    phase: str = PHASE,
    strategy: Strategy | None = None,
    validate: Callable[[nn.Module], float] | None = None,
    public: Callable[[int], None] | None = None,
    public_epochs: Callable[[nn.Module], PublicEpochs] | None = None,
    turn: Turn | None = None,
    group: Group = ALONE,
) -> PrivateProgress:
    """Runs a plan to its end, or goes on from the checkpoint in `folder` as the ledger allows.

    The weights are those after the last step: choosing among steps by a validation loss would be a choice made on data.
    `validate` is for watching, on data that is declared public. In a group, process 0 alone reports and writes, and
    validates unless the model is sharded.
    """
    model, sampler = unwrapped(model, group.size), group.sampler(sampler)
    optimizer = make_optimizer(model, settings)
    between = public_epochs(model) if public_epochs else None
    step = PrivateStep(
        model,
        optimizer,
        loss,
        plan,
        randomness,
        ledger,
        phase=phase,
        strategy=strategy,
        precision=resolve(settings.precision),
        public=public,
        group=group,
    )
    optimizers = [optimizer, between.optimizer] if between else [optimizer]
    stored = checkpoint.load_checkpoint(folder, model, *optimizers)
    progress = PrivateProgress(**stored) if stored else PrivateProgress()
    if stored:
        step.noise.restore(progress.noise)
    progress.step = ledger.resume_step(plan, progress.step, phase=phase)
    saver = _Saver(folder, model, optimizers, step, settings.checkpoint_seconds, group)
    while progress.step < plan.steps:
        number = progress.step
        model.train()
        while between and progress.public_epochs <= number // plan.steps_per_epoch:
            for _ in between.updates(progress.public_epochs, progress.public_updates):
                progress.public_updates += 1
                saver.save_if_due(progress)
            progress.public_epochs, progress.public_updates = progress.public_epochs + 1, 0
        rate = settings.learning_rate * factor(settings.schedule, number, plan.steps, settings.warmup)
        for trained in optimizer.param_groups:
            trained["lr"] = rate
        torch.manual_seed(group.own_seed(step_seed(randomness.seed, number)))
        draw = sampler.draw(number)
        report = turn(step, optimizer, number, draw) if turn else step(number, source.batches(draw))
        progress.step += 1
        progress.skipped += report.skipped
        if group.first:
            observer.private_step(report)
        saver.add_time(progress)
        if progress.step % plan.steps_per_epoch == 0 or progress.step == plan.steps:
            valid_loss = None
            if validate is not None and (group.first or saver.sharded):  # a sharded model needs all to compute
                model.eval()
                valid_loss = validate(model)
            if group.first:
                observer.private_epoch(PrivateEpoch(progress.step, progress.seconds, valid_loss))
            progress.seconds = 0.0
            saver.forget_time()
        saver.save_if_due(progress, now=progress.step == plan.steps)
    group.decide("the last checkpoint", lambda: None)  # nobody goes on to read what is not yet written
    model.eval()
    return progress


class _Saver:
    """Writes checkpoints of a private phase, not more often than settings say."""

    def __init__(
        self,
        folder: Path,
        model: nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
        step: PrivateStep,
        seconds: float,
        group: Group,
    ) -> None:
        self._folder, self._model, self._optimizers, self._step = folder, model, optimizers, step
        self._seconds, self._group, self._saved = seconds, group, time.monotonic()
        self._since = self._saved
        self.sharded = is_sharded(model)

    def add_time(self, progress: PrivateProgress) -> None:
        """Counts the time since it was last counted."""
        now = time.monotonic()
        progress.seconds, self._since = progress.seconds + now - self._since, now

    def forget_time(self) -> None:
        """Does not count the time since it was last counted."""
        self._since = time.monotonic()

    def save_if_due(self, progress: PrivateProgress, *, now: bool = False) -> None:
        due = now or time.monotonic() - self._saved >= self._seconds
        if self.sharded:
            due = self._group.decide("the checkpoint", lambda: due)
        if not due or not (self._group.first or self.sharded):
            return
        self.add_time(progress)
        taken = checkpoint.snapshot(self._model, *self._optimizers)
        progress.noise = self._step.noise.state()
        if self._group.first:
            checkpoint.write_snapshot(self._folder, taken, asdict(progress))
        self._saved = time.monotonic()

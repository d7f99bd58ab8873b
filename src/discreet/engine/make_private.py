"""Private training in a loop of your own: an ordinary model, optimizer and dataset, and a plan.

    private = make_private(model, optimizer, dataset, plan, loss=loss, ledger="run/ledger.jsonl")
    for batch in private.batches():        # drawn as the plan says; may be empty
        private.step(batch)                # clipped, noised, paid for, applied
    print(private.spent, private.remaining)

`loss(model, batch)` returns one loss for each record of a batch, a dict of tensors with records along dimension 0. The
model is not wrapped: evaluate it, save it and schedule its learning rate as always.

**One draw, one step.** Batches are numbered and handed out one at a time. A batch that is stepped twice, left out, or
not drawn here is refused, because choosing among drawn batches is not the sampling the accountant counted. A `break` is
fine: the next `batches()` begins with the batch that was waiting.

**Going on after a kill.** `private.load(folder)` first, `private.save(folder)` now and then. With checkpoints of your
own call `private.resume(steps)` with the number of steps in the weights you put back. What comes next is decided by
the ledger (`discreet.engine.ledger`): with a seed the steps since the checkpoint are repeated, else they are lost.

**Several processes.** `group=discreet.engine.distributed.joined()` under `torchrun`: each process loads and clips its
share of every batch, and all apply the same update.

Sharp edges. A `DataLoader` gives its dataset, collate function, workers and, as the number of records computed at a
time (`physical`), its batch size; how batches are drawn is the plan's business, so a sampler of its own is refused. An
item of the dataset is one unit of the plan: for plans over authors, all of one author. Losses and norms in the report
of a step are not private.
"""

import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import data as torch_data

from discreet.callable_module import make_callable
from discreet.engine import checkpoint
from discreet.engine.clipping.fallback import Loss
from discreet.engine.clipping.strategies import Strategy
from discreet.engine.distributed import ALONE, Group
from discreet.engine.items import Collate, Items, items_of
from discreet.engine.ledger import PHASE, Ledger
from discreet.engine.plain import step_seed
from discreet.engine.plan import Plan
from discreet.engine.private import PrivateStep, StepReport
from discreet.engine.random_bits import Randomness
from discreet.engine.sampling import Sampler, sampler_of
from discreet.engine.shards import unwrapped
from discreet.engine.shared import SharedLedger
from discreet.errors import InputError, RefusedError, SettingError


def make_private(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    data: "torch_data.Dataset[Any] | torch_data.DataLoader[Any]",
    plan: Plan,
    *,
    loss: Loss,
    ledger: str | Path | Ledger | SharedLedger,
    randomness: Randomness | None = None,
    physical: int | None = None,
    collate_fn: Collate | None = None,
    num_workers: int | None = None,
    phase: str = PHASE,
    strategy: Strategy | None = None,
    precision: str = "float32",
    strict: bool = False,
    group: Group = ALONE,
) -> "PrivateTraining":
    """The private training of a model on a dataset as the plan says; nothing is drawn or spent yet."""
    randomness = randomness or Randomness()
    model = unwrapped(model, group.size)
    items = items_of(data, physical, collate_fn, num_workers)
    if group.size > 1 and items.workers:
        raise SettingError("Processes that share a training draw step by step, not ahead; set num_workers=0.")
    _ = plan.expected_batch  # a plan without a population is an error now, not at the first step
    count = len(items.dataset)  # type: ignore[arg-type]
    by_author = {"authors": [[unit] for unit in range(count)]} if plan.unit == "author" else {}
    sampler = group.sampler(sampler_of(plan, randomness, population=count, **by_author))
    _refuse_closures(optimizer)
    refuse_gradient_hooks(model)
    opened = group.ledger(Path(ledger)) if isinstance(ledger, (str, Path)) else ledger
    try:
        step = PrivateStep(
            model,
            optimizer,
            loss,
            plan,
            randomness,
            opened,
            phase=phase,
            strategy=strategy,
            precision=precision,
            strict=strict,
            group=group,
        )
        private = PrivateTraining(model, optimizer, step, sampler, items, opened, randomness, phase, group)
    except BaseException:
        if opened is not ledger:
            opened.close()
        raise
    if opened is not ledger:
        weakref.finalize(private, opened.close)  # a ledger that stays open would lock the next training out
    return private


@dataclass(frozen=True, eq=False)
class DrawnBatch:
    """The batch of one step, in physical parts; iterate to look at them. Good for one `step`."""

    step: int
    parts: Sequence[dict[str, Tensor]]

    def __len__(self) -> int:
        """How many records were drawn; not private."""
        return sum(len(next(iter(part.values()))) for part in self.parts)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        return iter(self.parts)


class PrivateTraining:
    """Hands out the batches of a plan and makes its steps; see the module's text."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        step: PrivateStep,
        sampler: Sampler,
        items: Items,
        ledger: Ledger | SharedLedger,
        randomness: Randomness,
        phase: str,
        group: Group,
    ) -> None:
        self.plan = step.plan
        self._model, self._optimizer, self._step = model, optimizer, step
        self._sampler, self._items, self._ledger = sampler, items, ledger
        self._randomness, self._phase, self._group = randomness, phase, group
        self._next = 0
        self._waiting: DrawnBatch | None = None
        self._placed = self.spent == 0
        """Whether it is known which step the weights are at."""

    @property
    def spent(self) -> int:
        """How many steps have been paid for, by this process and those before it."""
        return self._ledger.spent(self.plan, phase=self._phase)

    @property
    def remaining(self) -> int:
        """How many steps the plan still allows."""
        return self.plan.steps - self.spent

    @property
    def next_step(self) -> int:
        """The number of the next step."""
        return self._next

    def batches(self) -> Iterator[DrawnBatch]:
        """The batches of the steps to come, each to be stepped before the next is asked for."""
        self._check_placed()
        if self._waiting is not None:
            yield self._waiting
            self._check_stepped()
        numbers = range(self._next, self.plan.steps)
        for number, parts in zip(numbers, self._loaded(numbers), strict=False):
            self._check_stepped()
            if number != self._next:
                raise RefusedError("Another loop over batches() has gone on in the meantime; keep one loop.")
            self._waiting = DrawnBatch(number, parts)
            yield self._waiting
            self._check_stepped()

    def step(self, batch: DrawnBatch) -> StepReport:
        """One private update from a drawn batch; what it reports is not private."""
        if not isinstance(batch, DrawnBatch):
            raise InputError("step() takes the batches that batches() hands out, not other tensors.")
        self._check_placed()
        if batch is not self._waiting:
            raise RefusedError(
                f"The batch of step {batch.step} is not the one that is due; step each batch of this private training "
                "once, in the order batches() hands them out."
            )
        # Seeded noise is a function of the step's number, however this process came to it.
        self._step.noise.restore(self._step.noise.state() | {"step": batch.step})
        device = next(self._model.parameters()).device
        parts = ({name: tensor.to(device) for name, tensor in part.items()} for part in batch)
        with self._marked_if_spent(batch.step), self._dropout_of(batch.step):
            report = self._step(batch.step, parts)
        self._waiting = None
        self._next += 1
        return report

    def resume(self, steps: int) -> int:
        """Goes on from weights that hold `steps` steps; returns the number of the next, which the ledger decides."""
        self._next = self._ledger.resume_step(self.plan, steps, phase=self._phase)
        self._placed = True
        if self._waiting is not None and self._waiting.step != self._next:
            self._waiting = None  # a batch that is still due is not drawn again
        return self._next

    def save(self, folder: str | Path) -> None:
        """Writes weights, optimizer and step: safetensors and JSON, whole or not at all. In a group all call it."""
        self._check_placed()
        taken = checkpoint.snapshot(self._model, self._optimizer)
        self._group.decide(
            "the checkpoint", lambda: checkpoint.write_snapshot(Path(folder), taken, {"step": self._next})
        )

    def load(self, folder: str | Path) -> int:
        """Goes on from what `save` wrote, or from the weights at hand where it wrote nothing yet."""
        stored = checkpoint.load_checkpoint(Path(folder), self._model, self._optimizer)
        return self.resume(stored["step"] if stored else 0)

    def _loaded(self, numbers: range) -> Iterator[list[dict[str, Tensor]]]:
        """The parts of each step; workers load ahead."""
        indices = (
            part for number in numbers for part in self._items.parts(self._sampler.draw(number).records.tolist())
        )
        parts: list[dict[str, Tensor]] = []
        for part in self._items.loader(indices):
            if part is not None:
                parts.append(part)
            else:
                yield parts
                parts = []

    def _check_placed(self) -> None:
        if not self._placed:
            raise RefusedError(
                f"{self._ledger.path}: {self.spent} steps are spent and these weights are not known to follow them; "
                "put a checkpoint back and call load(folder) or resume(its steps), or take a new ledger for a new run."
            )

    def _check_stepped(self) -> None:
        if self._waiting is not None:
            raise RefusedError(
                f"The batch of step {self._waiting.step} was drawn but not stepped; leaving out a batch changes the "
                "sampling that the guarantee counts on. Call step() on every batch."
            )

    @contextmanager
    def _marked_if_spent(self, number: int) -> Iterator[None]:
        """A step that fails after it was paid for may be half applied: no other follows until weights are put back."""
        try:
            yield
        except BaseException:
            if self._group.size > 1 or self.spent > number:  # a group that broke cannot be asked
                self._placed, self._waiting = False, None
            raise

    def _dropout_of(self, number: int) -> AbstractContextManager[None]:
        """With a seed a repeated step must have the same dropout, or it is another release."""
        if self._randomness.secure:
            return nullcontext()
        return _seeded(self._group.own_seed(step_seed(self._randomness.seed, number)))


def _refuse_closures(optimizer: torch.optim.Optimizer) -> None:
    if isinstance(optimizer, torch.optim.LBFGS):
        raise SettingError("LBFGS evaluates the loss many times a step, each a release of its own; take SGD or AdamW.")


def refuse_gradient_hooks(model: nn.Module) -> None:
    """A hook on a parameter sees gradients before they are clipped and noised, and some optimizers apply them there."""
    for name, parameter in model.named_parameters():
        if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
            raise RefusedError(
                f"The parameter {name} has a gradient hook, which would see the gradients of single records; remove it "
                "(layer-wise optimizers set such hooks: take another optimizer)."
            )


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


make_callable(__name__, __name__)  # `discreet.engine.make_private` is this file as soon as it is loaded

"""transformers' `Trainer`, private: the same arguments, callbacks, evaluation and checkpoints, and a plan.

    trainer = PrivateTrainer(model, args, plan=plan, ledger="run/ledger.jsonl", train_dataset=dataset,
                             data_collator=collator)
    trainer.train()                                   # exactly plan.steps steps
    trainer.train(resume_from_checkpoint=True)        # after a kill

Batches are drawn as the plan says (`discreet.engine.make_private`), `per_device_train_batch_size` is only how many
records are computed at a time. A step leaves its clipped, noised and paid-for gradient on the parameters and the
Trainer goes on as ever: `max_grad_norm`, optimizer, schedule and callbacks see nothing else, so what they do is
post-processing. The loss is `record_losses.loss_of(model)`, with label smoothing if asked for, or `loss=`.

Sharp edges. The training loss is not private: it is left out of logs, of `trainer_state.json` and of the result, and
`watch=` is called with the report of each step for the person at the terminal. So are the counts of tokens and
operations, which tell the size of a drawn batch. Evaluation is as public as its dataset: metrics are released as they
are, and the best of several checkpoints is chosen by them. A resumed run goes on where the ledger says; with secure
randomness that may be some steps after the checkpoint, whose updates are lost.
"""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import TrainOutput

from discreet.engine.clipping.fallback import Loss
from discreet.engine.ledger import Ledger
from discreet.engine.make_private import DrawnBatch, PrivateTraining, make_private, refuse_gradient_hooks
from discreet.engine.plan import Plan
from discreet.engine.private import StepReport
from discreet.engine.random_bits import Randomness
from discreet.engine.record_losses import loss_of
from discreet.errors import RefusedError, SettingError

NOT_PRIVATE = ("loss", "train_loss", "total_flos")
"""What a Trainer reports of the training data itself."""


class PrivateTrainer(Trainer):  # type: ignore[misc]
    """A Trainer whose every step is a release of the plan."""

    def __init__(
        self,
        model: nn.Module | None = None,
        args: TrainingArguments | None = None,
        *,
        plan: Plan,
        ledger: str | Path,
        randomness: Randomness | None = None,
        loss: Loss | None = None,
        watch: Callable[[StepReport], None] | None = None,
        strict: bool = False,
        **keywords: Any,
    ) -> None:
        """All other keywords are those of `transformers.Trainer`."""
        args = args if args is not None else TrainingArguments(output_dir="tmp_trainer")
        _refuse(args, plan, keywords)
        args = copy.copy(args)
        args.max_steps = plan.steps
        super().__init__(model, args, **keywords)
        self.plan, self.ledger, self.randomness = plan, Path(ledger), randomness or Randomness()
        self._loss = loss or loss_of(self.model, label_smoothing=args.label_smoothing_factor)
        self._watch, self._strict = watch, strict
        self._private: PrivateTraining | None = None
        self._drawn: Iterator[DrawnBatch] = iter(())
        self.add_callback(_Start(self))

    def train(self, resume_from_checkpoint: str | bool | None = None, **keywords: Any) -> TrainOutput:
        """Trains to the end of the plan; with `resume_from_checkpoint` from where the ledger says."""
        with Ledger(self.ledger) as ledger:
            self._private = self._make_private(ledger)
            self._refuse_strange_weights(ledger.spent(self.plan), resume_from_checkpoint)
            done = super().train(resume_from_checkpoint=resume_from_checkpoint, **keywords)
        return TrainOutput(done.global_step, float("nan"), _public(done.metrics))

    def _make_private(self, ledger: Ledger) -> PrivateTraining:
        self._kept = KeptGradients([p for p in self.model.parameters() if p.requires_grad])
        loader = super().get_train_dataloader()  # for its dataset, without unused columns, and its collator
        return make_private(
            self.model,
            self._kept,
            loader.dataset,
            self.plan,
            loss=self._loss,
            ledger=ledger,
            randomness=self.randomness,
            physical=self.args.train_batch_size,
            collate_fn=loader.collate_fn,
            num_workers=self.args.dataloader_num_workers,
            strict=self._strict,
        )

    def _refuse_strange_weights(self, spent: int, resume: str | bool | None) -> None:
        if spent and not resume:
            raise RefusedError(
                f"{self.ledger}: {spent} steps are spent; go on with resume_from_checkpoint=True, or start another "
                "run with a ledger of its own."
            )

    def begin(self, step: int) -> int:
        """Called when weights and optimizer of step `step` are in place; returns the step that comes next."""
        assert self._private is not None
        refuse_gradient_hooks(self.model)
        start = self._private.resume(step)
        self._drawn = self._private.batches()
        return start

    def get_train_dataloader(self) -> "DataLoader[Any]":
        """The steps of an epoch by number: what the Trainer counts by. The batches come from `get_batch_samples`."""
        return DataLoader(range(self.plan.steps_per_epoch))  # type: ignore[arg-type]

    def get_batch_samples(
        self, epoch_iterator: Iterator[Any], num_batches: int, device: torch.device
    ) -> tuple[list[Any], None]:
        """The drawn batch of the next step."""
        due = next(epoch_iterator, None)
        batch = next(self._drawn, None) if due is not None else None
        return ([] if batch is None else [batch]), None

    def training_step(self, model: nn.Module, inputs: DrawnBatch, num_items_in_batch: Any = None) -> Tensor:
        """Leaves the noisy gradient of a drawn batch on the parameters, paid for; the loss is not told."""
        assert self._private is not None
        model.train()
        if callable(getattr(self.optimizer, "train", None)):  # schedule-free optimizers
            self.optimizer.train()
        report = self._private.step(inputs)
        self._kept.put_back()
        if self._watch is not None:
            self._watch(report._replace(learning_rate=self.optimizer.param_groups[0]["lr"]))
        return torch.zeros((), device=self.args.device)

    def floating_point_ops(self, inputs: Any) -> int:
        """Not told: it would be the size of the drawn batch."""
        return 0

    def get_total_train_batch_size(self, args: TrainingArguments) -> int:
        return round(self.plan.expected_batch)

    def num_examples(self, dataloader: "DataLoader[Any]") -> int:
        return self.plan.population or 0

    def log(self, logs: dict[str, float], *rest: Any, **keywords: Any) -> None:
        super().log(_public(logs), *rest, **keywords)


class KeptGradients(torch.optim.Optimizer):
    """Stands where a private step expects its optimizer, and keeps the gradient for the one of the Trainer."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        super().__init__(parameters, {"lr": 0.0})
        self._kept: list[tuple[nn.Parameter, Tensor]] = []

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self._kept = [(p, p.grad) for group in self.param_groups for p in group["params"]]

    def put_back(self) -> None:
        for parameter, gradient in self._kept:
            parameter.grad = gradient
        self._kept = []


class _Start(TrainerCallback):  # type: ignore[misc]
    """Tells the private training which step the Trainer has put back, and the Trainer which step comes next."""

    def __init__(self, trainer: PrivateTrainer) -> None:
        self._trainer = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        lost = self._trainer.begin(state.global_step) - state.global_step
        state.global_step += lost
        schedule = self._trainer.lr_scheduler
        if isinstance(schedule, torch.optim.lr_scheduler.LambdaLR):  # others ask for a metric
            for _step in range(lost):
                schedule.step()


def _public(logs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in logs.items() if name not in NOT_PRIVATE}


def _refuse(args: TrainingArguments, plan: Plan, keywords: dict[str, Any]) -> None:
    """What would break the guarantee, by name."""
    reasons = {
        "gradient_accumulation_steps": (
            args.gradient_accumulation_steps != 1,
            "a drawn batch is one step; set it to 1 and per_device_train_batch_size to what fits into memory",
        ),
        "train_sampling_strategy": (
            str(getattr(args.train_sampling_strategy, "value", args.train_sampling_strategy)) != "random",
            "batches are drawn as the plan says; leave it at 'random'",
        ),
        "auto_find_batch_size": (
            bool(args.auto_find_batch_size),
            "it starts training again when memory runs out, and steps would be paid for twice",
        ),
        "max_steps": (
            args.max_steps not in (-1, plan.steps),
            f"the plan has {plan.steps} steps; leave it out",
        ),
        "fp16": (
            bool(args.fp16),
            "its scaler leaves out steps that are paid for; take bf16",
        ),
        "torch_compile": (
            bool(args.torch_compile),
            "the layers of a compiled model cannot be watched",
        ),
        "include_num_input_tokens_seen": (
            args.include_num_input_tokens_seen != "no",
            "the size of a drawn batch is not private",
        ),
        "compute_loss_func": (
            keywords.get("compute_loss_func") is not None,
            "it gives one loss for a batch; pass loss=, which gives one for each record",
        ),
        "model_init": (
            keywords.get("model_init") is not None,
            "a ledger is for one training of one model; pass model=",
        ),
        "eval_dataset": (
            keywords.get("eval_dataset") is not None and keywords["eval_dataset"] is keywords.get("train_dataset"),
            "metrics on the training data are not private; evaluate on other data",
        ),
        "world_size": (
            args.world_size > 1 or args.n_gpu > 1,
            "PrivateTrainer runs on one device; see discreet.engine.distributed for several",
        ),
    }
    for name, (refused, why) in reasons.items():
        if refused:
            raise SettingError(f"PrivateTrainer does not take {name} as it is set: {why}.")

"""Attacks on a training's checkpoints, one after the other: when does a model learn its secrets?

    attack_epochs("runs/a")                                  # all weights that `training.keep_epochs` kept
    attack_checkpoint("runs/a", model, step=120, epoch=3)    # weights of one's own

Each checkpoint adds a row to `RUN/attacks-over-time.jsonl` (`discreet.attacks.timeline`), whose curve `discreet report`
draws. Exposure needs canaries, membership the corpus; both are looked for where a run keeps them, or given.
"""

from pathlib import Path

from torch import nn

from discreet.attacks.attack import open_target
from discreet.attacks.contract import Told, silent
from discreet.attacks.exposure import ExposureOptions, exposures_of
from discreet.attacks.membership import MembershipAttack, MembershipOptions
from discreet.attacks.timeline import Point, add_point
from discreet.errors import InputError
from discreet.mechanisms.epochs import kept_epochs
from discreet.mechanisms.run import Run
from discreet.models.language import load_model
from discreet.sanitize.canaries.manifest import Manifest
from discreet.text.corpus import Corpus

SIGNAL = "loss"
"""The membership signal that is followed: the cheapest one."""


def attack_checkpoint(
    run: Run | str | Path,
    model: nn.Module,
    *,
    step: int,
    epoch: float | None = None,
    canaries: Manifest | str | Path | None = None,
    data: Corpus | str | Path | None = None,
    records: int = 200,
    samples: int | None = None,
    seed: int = 0,
    told: Told = silent,
) -> Point:
    """Attacks a model as it is at a step of a run and adds the row; with `samples`, exposure is estimated from so many.

    The run need not be finished. The model is left in the mode (training or not) it was in.
    """
    path = run.path if isinstance(run, Run) else Path(run)
    was_training = model.training
    target = open_target(path, canaries=canaries, data=data, seed=seed, model=model)
    if target.manifest is None and target.corpus is None:
        raise InputError(f"{path}: a checkpoint can be attacked with canaries or with the corpus; give one of them.")
    exposure = auc = None
    if target.manifest is not None:
        options = ExposureOptions() if samples is None else ExposureOptions(samples=samples, enumerate=False)
        exposure = exposures_of(target, options, told).mean
    if target.corpus is not None:
        asked = MembershipOptions(records=records, signals=(SIGNAL,), resamples=10, groups=2)
        auc = MembershipAttack().run(target, asked, told).records[SIGNAL].auc
    model.train(was_training)
    point = Point(step, epoch, exposure, auc)
    add_point(path, point)
    return point


def attack_epochs(
    run: Run | str | Path,
    *,
    canaries: Manifest | str | Path | None = None,
    data: Corpus | str | Path | None = None,
    records: int = 200,
    samples: int | None = None,
    seed: int = 0,
    told: Told = silent,
) -> list[Point]:
    """Attacks the weights of every kept epoch of a run, in the order of the training."""
    path = run.path if isinstance(run, Run) else Path(run)
    kept = kept_epochs(path)
    if not kept:
        raise InputError(f"{path}: this run has kept no epochs; train it with --keep-epochs.")
    points: list[Point] = []
    for number, epoch in enumerate(kept, 1):
        told("epochs", number - 1, len(kept))
        model = load_model(epoch.folder)
        points.append(
            attack_checkpoint(
                path,
                model,
                step=epoch.step,
                epoch=number,
                canaries=canaries,
                data=data,
                records=records,
                samples=samples,
                seed=seed,
            )
        )
    told("epochs", len(kept), len(kept))
    return points

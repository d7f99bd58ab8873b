"""Is the engine right for this model? One batch, done by the engine and by a loop over single records, compared.

    examination = examine(model)               # a causal model or a classifier of transformers, on random tokens
    examination = examine(model, batch, loss)  # any model, on a batch and a loss of your own
    print(examination.error, examination.ok)

`clipped_by_loop` is per-record clipping as slowly and obviously as it can be written, with nothing of the engine in it.
The clip norm is the median of the loop's norms, so that some records are clipped and some are not. Dropout is off for
the comparison, because each record has its own masks and the loop would draw others; what a model in training mode is
refused for (batch normalisation) is refused here too. The model is left as it was found.

A rule of `run again for each record` is right, but slow. So is a model for which `slow` says why every record gets a
backward pass of its own.
"""

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from discreet.engine.clipping.clipped import ClippedBackward
from discreet.engine.clipping.contract import LAYERS
from discreet.engine.clipping.costs import Costs
from discreet.engine.clipping.coverage import refuse_mixing
from discreet.engine.clipping.fallback import Loss
from discreet.engine.clipping.pieces import Lookup, Piece, Product
from discreet.engine.clipping.tape import Tape
from discreet.engine.clipping.trust import Knowledge, SlowClipping, Trust
from discreet.engine.record_losses import causal_loss, class_loss, loss_of
from discreet.errors import RunError, SettingError

TOLERANCE = 1e-4
AGAIN = "run again for each record"
TASKS = ("causal-lm", "classification")


@dataclass(frozen=True)
class Layer:
    """A layer with trainable parameters, the rule its gradients are found by and the way to their norms."""

    name: str
    kind: str
    rule: str
    norms: str
    """`instantiate` the gradients, by `Gram` matrices, by equal `ids`; empty where nothing was reported."""


@dataclass(frozen=True)
class Examination:
    """What was found."""

    model: str
    parameters: int
    trainable: int
    layers: tuple[Layer, ...]
    tied: tuple[tuple[str, ...], ...]
    """Names of one and the same trainable parameter."""
    slow: str | None
    """Why every record gets a backward pass of its own; None where all are done together."""
    norm_error: float
    """The largest relative error of a record's norm."""
    sum_error: float
    """The error of the clipped sum over all parameters, relative to the sum."""

    @property
    def error(self) -> float:
        worst = max(self.norm_error, self.sum_error)
        return worst if not math.isnan(self.norm_error + self.sum_error) else math.nan

    @property
    def ok(self) -> bool:
        return self.error <= TOLERANCE

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "error": self.error, "ok": self.ok}


def examine(
    model: nn.Module,
    batch: Mapping[str, Tensor] | None = None,
    loss: Loss | None = None,
    *,
    name: str = "",
    records: int = 4,
    length: int = 16,
    seed: int = 0,
) -> Examination:
    """Compares engine and loop on one batch; without a batch on random tokens, without a loss on the model's own."""
    loss = loss or loss_of(model)
    given = dict(batch) if batch is not None else random_batch(model, loss, records, length, seed)
    refuse_mixing(model)
    with _evaluating(model), warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowClipping)  # told in the examination instead
        _, norms = clipped_by_loop(model, given, loss, 1.0)
        clip = float(norms.median())
        if not 0 < clip < math.inf:
            raise SettingError(
                f"The median gradient norm of the batch is {clip:g}; give a batch with something to learn."
            )
        want, _ = clipped_by_loop(model, given, loss, clip)
        costs = Costs()
        backward = ClippedBackward(model, loss, clip, costs=costs)
        sums = backward.zeros()
        outcome = backward.add(given, sums)
        known = Trust(model, loss, costs, strict=False).knowledge(given)
        layers = tuple(_layers(known, model, given, loss, costs))
    return Examination(
        name or type(model).__name__,
        sum(p.numel() for p in model.parameters()),
        sum(p.numel() for p in model.parameters() if p.requires_grad),
        layers,
        tuple(_tied(model)),
        known.slow,
        float(((outcome.norms.double() - norms).abs() / norms.clamp_min(1e-30)).max()),
        relative_error(sums, want),
    )


def clipped_by_loop(
    model: nn.Module, batch: Mapping[str, Tensor], loss: Loss, clip: float
) -> tuple[dict[str, Tensor], Tensor]:
    """What per-record clipping means: for each record its gradient, cut to norm `clip`, added up."""
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    sums = {name: torch.zeros_like(p) for name, p in trained.items()}
    norms = []
    for record in range(len(next(iter(batch.values())))):
        one = {name: tensor[record : record + 1] for name, tensor in batch.items()}
        found = torch.autograd.grad(loss(model, one).sum(), list(trained.values()), allow_unused=True)
        gradients = {name: grad for name, grad in zip(trained, found, strict=True) if grad is not None}
        norm = math.sqrt(sum(float(grad.double().square().sum()) for grad in gradients.values()))
        norms.append(norm)
        for name, grad in gradients.items():
            sums[name] += grad * min(1.0, clip / max(norm, 1e-30))
    return sums, torch.tensor(norms, dtype=torch.float64)


def relative_error(got: Mapping[str, Tensor], want: Mapping[str, Tensor]) -> float:
    """|got - want| / |want| over all parameters together."""
    apart = sum(float((got[name] - want[name]).double().square().sum()) for name in want)
    return math.sqrt(apart / sum(float(total.double().square().sum()) for total in want.values()))


def random_batch(model: Any, loss: Loss, records: int, length: int, seed: int) -> dict[str, Tensor]:
    """Random tokens, few enough different ones that they repeat within a record, and labels for them."""
    config = model.config
    if records < 2:
        raise SettingError(f"A comparison needs at least 2 records, not {records}.")
    length = min(length, getattr(config, "max_position_embeddings", None) or length)
    random = torch.Generator().manual_seed(seed)
    words = torch.randint(config.vocab_size, (2 * length,), generator=random)
    ids = words[torch.randint(len(words), (records, length), generator=random)]
    if getattr(loss, "func", loss) is not class_loss:
        return {"input_ids": ids, "labels": ids.clone()}
    # A classifier reads the last token that is not padding.
    ids = torch.where(ids == config.pad_token_id, (config.pad_token_id + 1) % config.vocab_size, ids)
    return {"input_ids": ids, "labels": torch.randint(config.num_labels, (records,), generator=random)}


def load(model: str, *, task: str = "causal-lm", vocabulary: int = 1000) -> tuple[nn.Module, Loss]:
    """The model of a folder (or of a run), or a fresh one of a registered name, with the loss of its task."""
    from discreet.models.language import MODELS, load_model, new_model
    from discreet.models.quiet import quiet_transformers
    from discreet.registry import nearest

    if task not in TASKS:
        raise SettingError(f"There is no task '{task}'; {nearest(task, TASKS)}")
    folder = Path(model)
    if not folder.is_dir():
        if model not in MODELS:
            raise RunError(f"There is neither a folder nor a model '{model}'; {nearest(model, MODELS.names())}")
        return new_model(model, vocabulary, {}, seed=0), causal_loss
    if not (folder / "config.json").is_file() and (folder / "model" / "config.json").is_file():
        folder = folder / "model"
    try:
        if task == "causal-lm":
            return load_model(folder).float(), causal_loss
        from transformers import AutoModelForSequenceClassification

        with quiet_transformers():
            classifier = AutoModelForSequenceClassification.from_pretrained(folder)
        if classifier.config.pad_token_id is None:
            classifier.config.pad_token_id = 0
        return classifier.float(), class_loss
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"{folder}: no model for {task} can be loaded from here ({_first_line(error)}).") from error


def _layers(
    known: Knowledge, model: nn.Module, batch: Mapping[str, Tensor], loss: Loss, costs: Costs
) -> Iterator[Layer]:
    coverage = known.coverage
    rules = {LAYERS[name]: name for name in LAYERS.names()}
    ways = {} if known.slow else _ways(known, model, batch, loss, costs)
    for module, rule in coverage.rules.items():
        own = [ways[p] for p in module.parameters(recurse=False) if p in ways]
        norms = ", ".join(dict.fromkeys(way for ways_of_one in own for way in ways_of_one if way))
        yield Layer(coverage.names[module], type(module).__name__, rules.get(type(rule), AGAIN), norms)


def _ways(
    known: Knowledge, model: nn.Module, batch: Mapping[str, Tensor], loss: Loss, costs: Costs
) -> dict[Tensor, list[str]]:
    """For each parameter how the norms of its pieces are found."""
    tape = Tape(known.coverage.trained, batch, known.layouts, costs)
    with torch.enable_grad(), known.coverage.watched_by(tape):
        loss(model, dict(batch)).sum().backward()  # type: ignore[no-untyped-call]
    return {parameter: [_way(piece, costs) for piece in pieces] for parameter, pieces in tape.pieces.items()}


def _way(piece: Piece, costs: Costs) -> str:
    if isinstance(piece, Product):
        piece.squares(costs)
        return "Gram" if piece.whole is None else "instantiate"
    return "ids" if isinstance(piece, Lookup) else ""


def _tied(model: nn.Module) -> Iterator[tuple[str, ...]]:
    names: dict[Tensor, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if parameter.requires_grad:
            names.setdefault(parameter, []).append(name)
    yield from (tuple(same) for same in names.values() if len(same) > 1)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode

"""One loss for each record of a batch: what a private step clips, for models of transformers.

    loss = loss_of(model)                      # by the model's class
    losses = loss(model, batch)                # [records]

A batch is what a data collator makes: the model's inputs and `labels`. The loss of a record is the one the model itself
gives for a batch of that record alone (the mean over its own targets), so records of all lengths weigh the same. Where
a model averages over all tokens of a batch instead, a record's gradient would depend on its neighbours.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from discreet.engine.clipping.fallback import Loss
from discreet.engine.output_layer import IGNORED
from discreet.errors import InputError, SettingError

CAUSAL = ("ForCausalLM", "LMHeadModel", "LanguageModel")
CLASSES = ("ForSequenceClassification",)


def loss_of(model: nn.Module, *, label_smoothing: float = 0.0) -> Loss:
    """The loss for records of a causal language model or a sequence classifier, known by the name of its class."""
    kind = type(model).__name__
    if kind.endswith(CAUSAL):
        return partial(causal_loss, label_smoothing=label_smoothing)
    if kind.endswith(CLASSES):
        return partial(class_loss, label_smoothing=label_smoothing)
    raise SettingError(f"There is no ready-made loss for a {kind}; pass loss=, which returns one loss for each record.")


def causal_loss(model: Any, batch: Mapping[str, Tensor], *, label_smoothing: float = 0.0) -> Tensor:
    """Next-token cross-entropy, the mean over each record's own targets; labels of -100 are no targets."""
    inputs, labels = _parted(batch)
    logits = model(**inputs).logits[:, :-1].float()
    targets = labels[:, 1:]
    losses = F.cross_entropy(
        logits.transpose(1, 2), targets, ignore_index=IGNORED, reduction="none", label_smoothing=label_smoothing
    )
    return losses.sum(1) / (targets != IGNORED).sum(1).clamp(min=1)


def class_loss(model: Any, batch: Mapping[str, Tensor], *, label_smoothing: float = 0.0) -> Tensor:
    """Cross-entropy of one class for each record."""
    inputs, labels = _parted(batch)
    if labels.dim() != 1 or labels.is_floating_point():
        raise InputError("The labels are not one whole number for each record; pass a loss= of your own for them.")
    return F.cross_entropy(model(**inputs).logits.float(), labels, reduction="none", label_smoothing=label_smoothing)


def _parted(batch: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], Tensor]:
    if "labels" not in batch:
        raise InputError("The batch has no 'labels'; let the data collator make them, or pass a loss= of your own.")
    return {name: tensor for name, tensor in batch.items() if name != "labels"}, batch["labels"]

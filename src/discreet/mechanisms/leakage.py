"""What a regularized model's hidden states still tell: measured after training, and all that `privacy.json` can say.

Two measurements on texts of the validation split (of the train split where there is none), both weak on purpose, since
they need no training: whether two texts of the same author lie nearer to each other than two of different authors, and
how often the discriminator that the model was trained against is right. An attacker who trains a fresh one knows more;
that is what `discreet attack` is for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet.accounting.guarantee import Guarantee, Measured
from discreet.accounting.none import NoGuarantee
from discreet.mechanisms.language import SCORING_TOKENS, tensors
from discreet.mechanisms.regularized import RegularizerOptions, text_states
from discreet.mechanisms.training import Training
from discreet.models.adapters import inner
from discreet.models.language import hidden_states
from discreet.models.pretrained import context_of
from discreet.text.batching import make_batch, plan_batches
from discreet.text.tokenize import Encoded

MOST = 1000
"""Records that are looked at: half a million pairs."""


def no_guarantee(
    training: Training,
    examples: Encoded,
    options: RegularizerOptions,
    first_choice: Callable[[Tensor], Tensor] | None = None,
) -> Guarantee:
    """The guarantee of a regularized training: none, with what was measured."""
    split = "valid" if "valid" in training.corpus else "train"
    seen = training.encoded(split) if split == "valid" or options.redact else examples
    codes = {name: number for number, name in enumerate(examples.author_names)}
    own = np.array([codes.get(name, -1) for name in seen.author_names] + [-1], np.int64)[seen.authors]
    known = np.flatnonzero(own >= 0)
    chosen = np.random.default_rng(training.recipe.seed).permutation(known)[:MOST]
    measured: list[Measured] = []
    if len(chosen) > 1:
        longest = min(training.recipe.training.max_tokens, context_of(inner(training.model)) or 10**9)
        states = states_of(training.model, seen.chosen(chosen), options.state, longest)
        measured = [*_pairs(states, own[chosen], options.protect, split)]
        if first_choice is not None:
            measured += [_named(first_choice(states), own[chosen], options.protect, split, len(examples.author_names))]
    basis = NoGuarantee(mechanism=options.name, attribute=options.protect, measured=tuple(measured))
    return basis.guarantee()


@torch.no_grad()
def states_of(model: nn.Module, encoded: Encoded, state: str, longest: int | None = None) -> Tensor:
    """The state that stands for each record, [records, width]; of a record that is too long, that of its beginning."""
    model.eval()
    found: dict[int, Tensor] = {}
    most = max(SCORING_TOKENS, longest or 0, int(np.diff(encoded.starts).max(initial=1)))
    for rows in plan_batches(encoded, batch_tokens=most, max_tokens=longest, shuffle=False):
        rows = rows[rows[:, 1] == 0]
        if len(rows):
            batch = tensors(make_batch(encoded, rows))
            states = text_states(hidden_states(model, batch["input_ids"]), batch["lengths"], state)
            found |= zip(rows[:, 0].tolist(), states, strict=True)
    return torch.stack([found[record] for record in range(len(encoded))])


def _pairs(states: Tensor, labels: NDArray[np.int64], name: str, split: str) -> list[Measured]:
    """How often a pair of the same value is nearer than one of different values (the area under the ROC curve)."""
    units = nn.functional.normalize(states.double(), dim=1)
    first, second = np.triu_indices(len(labels), 1)
    nearness = (units @ units.t()).numpy()[first, second]
    same = labels[first] == labels[second]
    if not same.any() or same.all():
        return []
    what = f"pairs of {split} records with the same '{name}' are nearer to each other than pairs with different ones"
    value = float(area(nearness[same], nearness[~same]))
    return [Measured(what=what, value=value, chance=0.5, records=len(labels))]


def area(higher: NDArray[Any], lower: NDArray[Any]) -> float:
    """The chance that one of `higher` is above one of `lower`; ties count half."""
    ordered = np.sort(lower)
    below = np.searchsorted(ordered, higher, "left") + np.searchsorted(ordered, higher, "right")
    return float(below.mean() / 2 / len(lower))


def _named(guessed: Tensor, labels: NDArray[np.int64], name: str, split: str, values: int) -> Measured:
    right = float((guessed.numpy() == labels).mean())
    what = f"the discriminator it was trained against names the '{name}' of {split} records"
    return Measured(what=what, value=right, chance=1 / values, records=len(labels))

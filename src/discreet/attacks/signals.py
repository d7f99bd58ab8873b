"""What a model's answers say about having seen a text: one number for each text, higher for texts it was trained on.

| signal | what it compares |
|---|---|
| loss | nothing: the mean log-probability of a token |
| zlib | the log-probability of the text with its size when compressed (Carlini et al. 2021) |
| lowercase | the loss with the loss of the same text in lower case (Carlini et al. 2021) |
| reference | the loss with that of another model which has not seen the text |
| min-k | nothing: the mean over the least likely fifth of the tokens (Shi et al. 2024) |
| min-k++ | the same, each token measured in standard deviations of its own distribution (Zhang et al. 2025) |
| neighbourhood | the loss with that of texts in which some tokens are replaced (Mattern et al. 2023) |

A text is a whole record, or one secret in it: then only the secret's tokens count, read after all that stands before
them. Loss, zlib, min-k and min-k++ come from one pass over the records.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from discreet.attacks.texts import Item, Texts
from discreet.mechanisms.language import SCORING_TOKENS, tensors
from discreet.models.adapters import inner
from discreet.models.language import hidden_states, output_layer
from discreet.models.pretrained import context_of
from discreet.text.batching import make_batch, plan_batches
from discreet.text.tokenize import Encoded

Floats = NDArray[np.float64]
Heard = Callable[[int], None]
"""Told how many texts were read more."""
LEAST_LIKELY = 0.2
REPLACED = 0.15
"""Share of a text's tokens that a neighbour has others for."""
ROWS_AT_ONCE = 512
SIGNALS = ("loss", "zlib", "lowercase", "reference", "min-k", "min-k++", "neighbourhood")


@dataclass(frozen=True, eq=False)
class Answers:
    """A model's answer at every token of some records; 0 at begin tokens, which nobody predicts."""

    chance: Floats
    """log p of the token."""
    mean: Floats
    """The mean log-probability of a token drawn from the model's own distribution there."""
    deviation: Floats
    instead: NDArray[np.int32]
    """[tokens, alternatives]: tokens drawn from that distribution, the one that stands there left out."""


@torch.inference_mode()
def answers(
    model: nn.Module, encoded: Encoded, *, alternatives: int = 0, seed: int = 0, told: Heard | None = None
) -> Answers:
    """One pass over records, each read from its beginning as far as the model can read at once."""
    size = len(encoded.ids)
    chance, mean, deviation = (torch.zeros(size, dtype=torch.float64) for _ in range(3))
    instead = torch.zeros(size, alternatives, dtype=torch.int32)
    random = torch.Generator().manual_seed(seed)
    for own, target, logits in _predicted(model, encoded, told):
        logs = logits.log_softmax(1)
        shares = logs.exp()
        chance[own] = logs.gather(1, target).squeeze(1).double()
        if alternatives:
            instead[own] = _drawn(shares.scatter(1, target, 0.0), alternatives, random)
        shares.mul_(logs)
        mean[own] = shares.sum(1).double()
        square = shares.mul_(logs).sum(1).double()
        deviation[own] = (square - mean[own].square()).clamp_min(1e-12).sqrt()
    return Answers(chance.numpy(), mean.numpy(), deviation.numpy(), instead.numpy())


@torch.inference_mode()
def chances(model: nn.Module, encoded: Encoded, told: Heard | None = None) -> Floats:
    """log p of every token alone, for texts that others are compared with."""
    chance = torch.zeros(len(encoded.ids), dtype=torch.float64)
    for own, target, logits in _predicted(model, encoded, told):
        chance[own] = (logits.gather(1, target).squeeze(1) - logits.logsumexp(1)).double()
    return np.asarray(chance.numpy())


def _predicted(
    model: nn.Module, encoded: Encoded, told: Heard | None
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Places in the flat arrays, the tokens that stand there, and the model's logits for them; some at a time."""
    model.eval()
    weight, bias = output_layer(model)
    context = context_of(inner(model))
    most = max(SCORING_TOKENS, int(np.diff(encoded.starts).max(initial=1)))
    for rows in plan_batches(encoded, batch_tokens=most, max_tokens=context, shuffle=False, at_sentences=False):
        batch = tensors(make_batch(encoded, rows))
        places = torch.from_numpy(encoded.starts[rows[:, 0]] + rows[:, 1] + 1)
        at = (places[:, None] + torch.arange(batch["targets"].shape[1])).flatten()
        targets = batch["targets"].flatten()
        states = hidden_states(model, batch["input_ids"]).flatten(0, 1)
        for some in torch.split((targets >= 0).nonzero().squeeze(1), ROWS_AT_ONCE):
            logits = torch.nn.functional.linear(states[some], weight, bias).float()
            yield at[some], targets[some][:, None], logits
        if told:
            told(len(rows))


def signals(
    model: nn.Module,
    texts: Texts,
    *,
    reference: nn.Module | None = None,
    wanted: Sequence[str] = SIGNALS,
    neighbours: int = 4,
    seed: int = 0,
    told: Heard | None = None,
) -> dict[str, Floats]:
    """Each signal for each of the texts; `reference` is left out where there is no such model."""
    near = neighbours if "neighbourhood" in wanted else 0
    own = answers(model, texts.encoded, alternatives=near, seed=seed, told=told)
    losses = _means(own.chance, texts.items)
    found: dict[str, Floats] = {}
    if "loss" in wanted:
        found["loss"] = losses
    if "zlib" in wanted:
        sums = np.array([own.chance[item.tokens].sum() for item in texts.items])
        found["zlib"] = sums / np.array([len(zlib.compress(item.text.encode())) for item in texts.items])
    if "min-k" in wanted:
        found["min-k"] = _least(own.chance, texts.items)
    if "min-k++" in wanted:
        found["min-k++"] = _least((own.chance - own.mean) / np.maximum(own.deviation, 1e-6), texts.items)
    if "lowercase" in wanted:
        lower = texts.lowercase()
        losses_lower = _means(chances(model, lower.encoded, told), lower.items)
        found["lowercase"] = -losses / np.minimum(losses_lower, -1e-9)
    if "reference" in wanted and reference is not None:
        found["reference"] = losses - _means(chances(reference, texts.encoded, told), texts.items)
    if near:
        found["neighbourhood"] = losses - _neighbour_losses(model, texts, own, seed, told)
    return found


def _neighbour_losses(model: nn.Module, texts: Texts, own: Answers, seed: int, told: Heard | None) -> Floats:
    """The mean loss over neighbours: texts with other tokens in some places, mostly where others would do as well."""
    random = np.random.default_rng(seed)
    ends = set((texts.encoded.starts[1:] - 1).tolist())  # ends of records stay
    doubt = np.log(np.maximum(-np.expm1(own.chance), 1e-9))
    total = np.zeros(len(texts.items))
    for number in range(own.instead.shape[1]):
        ids = texts.encoded.ids.copy()
        lots = doubt + random.gumbel(size=len(doubt))  # the highest lots are a draw weighted by doubt
        for item in texts.items:
            places = np.array([place for place in range(item.tokens.start, item.tokens.stop) if place not in ends])
            chosen = (
                places[np.argsort(-lots[places])[: max(1, round(REPLACED * len(places)))]] if len(places) else places
            )
            ids[chosen] = own.instead[chosen, number]
        total += _means(chances(model, replace(texts.encoded, ids=ids), told), texts.items)
    found: Floats = total / own.instead.shape[1]
    return found


def _drawn(shares: torch.Tensor, number: int, random: torch.Generator) -> torch.Tensor:
    """Tokens drawn from each row of shares that need not add up to one."""
    steps = shares.cumsum(1)
    at = torch.rand(len(shares), number, generator=random) * steps[:, -1:]
    return torch.searchsorted(steps, at).clamp_max(shares.shape[1] - 1).int()


def _means(values: Floats, items: Sequence[Item]) -> Floats:
    return np.array([values[item.tokens].mean() for item in items])


def _least(values: Floats, items: Sequence[Item]) -> Floats:
    found = []
    for item in items:
        own = np.sort(values[item.tokens])
        found.append(own[: max(1, round(LEAST_LIKELY * len(own)))].mean())
    return np.array(found)

"""A probe: a small classifier trained on vectors to name what they belong to, as an attacker would train it.

    scores = probe(vectors, labels, train=some, test=others, seed=0)         # [others, labels]: log-probabilities

Two kinds are trained, a logistic regression and one hidden layer, each until it gets no better on a tenth of its own
training vectors; the one that is better on that tenth answers for the rest. Vectors are put on one scale first. It is
always fresh: a discriminator that a training has fooled says nothing about what another one would find.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Numbers = NDArray[np.int64]
BATCH = 256
RATE = 3e-3
DECAY = 1e-3
"""Weight decay: a probe has few vectors a label, and would learn those by heart."""
PATIENCE = 4
"""Epochs without improvement after which a probe is done."""
HELD_OUT = 10
"""One vector in so many decides when to stop and which kind to take."""


class Probed(NamedTuple):
    """What the better kind of probe says of the test vectors."""

    kind: str
    scores: Tensor
    """[vectors, labels]"""


def probe(
    vectors: Tensor,
    labels: Numbers,
    train: Numbers,
    test: Numbers,
    *,
    hidden: int = 128,
    epochs: int = 60,
    seed: int = 0,
) -> Probed:
    """Trains probes on the vectors `train` and scores the vectors `test`; labels are numbers from 0 without gaps."""
    order = np.random.default_rng([seed, 7]).permutation(train)
    held = max(1, len(order) // HELD_OUT)
    stop, fit = torch.from_numpy(order[:held]), torch.from_numpy(order[held:])
    wanted = torch.from_numpy(labels)
    mean, deviation = vectors[fit].mean(0), vectors[fit].std(0)
    scaled = (vectors - mean) / deviation.clamp(min=1e-6)
    size, number = vectors.shape[1], int(labels.max()) + 1
    kinds: dict[str, list[int]] = {"logistic regression": [size, number]}
    if hidden:
        kinds[f"one hidden layer of {hidden}"] = [size, hidden, number]
    best, found = math.inf, None
    for kind, widths in kinds.items():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = _network(widths)
            loss = _fit(network, scaled, wanted, fit, stop, epochs)
        if found is None or loss < best:
            with torch.inference_mode():
                best, found = loss, Probed(kind, network(scaled[torch.from_numpy(test)]).log_softmax(1))
    assert found is not None
    return found


def _network(widths: list[int]) -> nn.Module:
    layers: list[nn.Module] = []
    for number, (before, after) in enumerate(pairwise(widths)):
        layers += [nn.ReLU(), nn.Dropout(0.2)] if number else []
        layers.append(nn.Linear(before, after))
    return nn.Sequential(*layers)


def _fit(network: nn.Module, vectors: Tensor, labels: Tensor, fit: Tensor, stop: Tensor, epochs: int) -> float:
    """Trains until the held-out loss stops falling, leaves the best weights in and returns their held-out loss."""
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    loss_of = nn.CrossEntropyLoss()
    best, since = math.inf, 0
    kept = {name: value.clone() for name, value in network.state_dict().items()}
    for _ in range(epochs):
        network.train()
        for some in torch.split(fit[torch.randperm(len(fit))], BATCH):
            optimizer.zero_grad(set_to_none=True)
            loss_of(network(vectors[some]), labels[some]).backward()
            optimizer.step()
        network.eval()
        with torch.no_grad():
            now = float(loss_of(network(vectors[stop]), labels[stop]))
        if now < best:
            best, since = now, 0
            kept = {name: value.clone() for name, value in network.state_dict().items()}
        else:
            since += 1
            if since >= PATIENCE:
                break
    network.load_state_dict(kept)
    network.eval()
    return best

"""A small network that has to pass on what is said, and is shown beside it who says it: what hiding has to take out."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from discreet.attacks.probe import probe

AUTHORS, WIDTH = 12, 16
Privacy = Callable[[Tensor, Tensor], Tensor]
"""The privacy loss of some states and the authors they are of."""


def forgotten(
    privacy: Privacy | None = None, authors_of: Callable[[], Tensor] | None = None, steps: int = 500
) -> tuple[float, float]:
    """How often a fresh probe names the author from the network's state, and the network's error in what is said."""
    voices = torch.randn(AUTHORS, 8)
    encoder = nn.Sequential(nn.Linear(12, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))
    decoder = nn.Linear(WIDTH, 4)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=5e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, steps)

    def texts(labels: Tensor) -> tuple[Tensor, Tensor]:
        said = torch.randn(len(labels), 4)
        return torch.cat([said, voices[labels] + torch.randn(len(labels), 8)], 1), said

    for _ in range(steps):
        labels = torch.randint(AUTHORS, (32,)) if authors_of is None else authors_of()
        heard, said = texts(labels)
        states = encoder(heard)
        loss = (decoder(states) - said).square().mean()
        if privacy is not None:
            loss = loss + privacy(states, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    labels = torch.randint(AUTHORS, (4000,))
    with torch.no_grad():
        heard, said = texts(labels)
        states = encoder(heard)
        error = float((decoder(states) - said).square().mean())
    order = np.arange(4000)
    guessed = probe(states, labels.numpy(), order[:2000], order[2000:], epochs=20).scores.argmax(1)
    return float((guessed == labels[2000:]).float().mean()), error

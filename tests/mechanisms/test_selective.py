"""Joint steps of `selective`: the gradient of redacted text is really added to the noisy one, and really applied."""

from itertools import pairwise

import pytest
import torch

from discreet.mechanisms import selective
from discreet.mechanisms.language import language_loss
from discreet.mechanisms.train import train

RATE, WEIGHT = 0.1, 0.5
STEPS = 3


def gradients(model):
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.fixture
def watched(monkeypatch):
    """Weights and gradients around each call of the public gradient."""
    seen: list[dict[str, dict[str, torch.Tensor]]] = []
    add = selective.PublicGradient.__call__

    def call(self, step):
        model = self._training.model
        noisy = gradients(model)
        add(self, step)
        own = dict(model.named_parameters())
        batch = self._source.load(self._plan[step % len(self._plan)])
        total, count = language_loss(model, batch)
        public = dict(zip(own, torch.autograd.grad(total / count, list(own.values())), strict=True))
        weights = {name: p.detach().clone() for name, p in own.items()}
        seen.append({"weights": weights, "noisy": noisy, "joint": gradients(model), "public": public})

    monkeypatch.setattr(selective.PublicGradient, "__call__", call)
    return seen


def test_a_joint_step_applies_the_noisy_gradient_plus_the_weighted_public_one(tmp_path, notes, small, watched):
    model = {"name": "lstm", "embedding": 8, "hidden": 8, "dropout": 0.0}
    training = {"epochs": 1, "batch_size": 8, "optimizer": "sgd", "schedule": "constant", "learning_rate": RATE}
    mechanism = {"name": "selective", "noise": 1.0, "batch": 20, "epochs": 1, "randomness": "fast"}
    train(
        notes,
        "gold",
        {**mechanism, "public_weight": WEIGHT},
        output=tmp_path / "run",
        progress=False,
        **small | {"model": model, "training": training},
    )
    assert len(watched) == STEPS
    for step in watched:
        assert any(bool(values.any()) for values in step["public"].values())
        for name, joint in step["joint"].items():
            torch.testing.assert_close(joint, step["noisy"][name] + WEIGHT * step["public"][name])
    for step, following in pairwise(watched):
        for name, weights in step["weights"].items():
            torch.testing.assert_close(following["weights"][name], weights - RATE * step["joint"][name])

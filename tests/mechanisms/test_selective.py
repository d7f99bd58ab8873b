"""Joint steps of `selective`: the gradient of redacted text is really added to the noisy one, and really applied.

And what the public phase may be: surrogates in place of masks, or a run that is there already.
"""

from itertools import pairwise

import pytest
import torch
from safetensors.torch import load_file

from discreet.accounting.verify import verify
from discreet.errors import RefusedError, SettingError
from discreet.mechanisms import selective
from discreet.mechanisms.language import language_loss
from discreet.mechanisms.train import train

RATE, WEIGHT = 0.1, 0.5
STEPS, BATCHES = 3, 3


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
        order = [batch for epoch in range(STEPS * BATCHES) for batch in self._source.plan(epoch)]
        mine = [language_loss(model, self._source.load(item)) for item in order[step * BATCHES : (step + 1) * BATCHES]]
        loss = torch.stack([total / count for total, count in mine]).mean()
        public = dict(zip(own, torch.autograd.grad(loss, list(own.values())), strict=True))
        weights = {name: p.detach().clone() for name, p in own.items()}
        seen.append({"weights": weights, "noisy": noisy, "joint": gradients(model), "public": public})

    monkeypatch.setattr(selective.PublicGradient, "__call__", call)
    return seen


def test_a_joint_step_applies_the_noisy_gradient_plus_the_weighted_public_one(tmp_path, notes, small, watched):
    model = {"name": "lstm", "embedding": 8, "hidden": 8, "dropout": 0.0}
    training = {"epochs": 1, "batch_size": 8, "optimizer": "sgd", "schedule": "constant", "learning_rate": RATE}
    training["precision"] = "float32"
    mechanism = {"name": "selective", "noise": 1.0, "batch": 20, "epochs": 1, "randomness": "fast"}
    train(
        notes,
        "gold",
        {**mechanism, "public_weight": WEIGHT, "public_batches": BATCHES},
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


SELECTIVE = {"name": "selective", "epsilon": 4.0, "batch": 20, "epochs": 1, "randomness": "fast"}
SURROGATES = {"style": "surrogate"}


def test_a_run_on_redacted_text_can_stand_for_the_plain_training(tmp_path, notes, small):
    first = train(notes, "gold", "redacted", output=tmp_path / "first", progress=False, redaction=SURROGATES, **small)
    own = {key: value for key, value in small.items() if key not in ("model", "tokenizer")}
    mechanism = {**SELECTIVE, "existing": str(first.path), "learning_rate": 1e-9}
    model = str(first.model_folder)
    run = train(notes, "gold", mechanism, model, output=tmp_path / "a", progress=False, redaction=SURROGATES, **own)
    before, after = (load_file(r.model_folder / "model.safetensors") for r in (first, run))
    assert all(torch.allclose(before[name], after[name], atol=1e-5) for name in before)
    assert [check.problem for check in verify(run.path) if check.problem] == []
    with pytest.raises(RefusedError, match="another redaction"):
        train(notes, "gold", mechanism, model, output=tmp_path / "b", progress=False, **own)
    with pytest.raises(SettingError, match="set model"):
        train(notes, "gold", mechanism, output=tmp_path / "c", progress=False, redaction=SURROGATES, **small)

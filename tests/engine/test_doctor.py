"""The self-check: right where the engine is right, loud where it is not."""

import pytest
import torch
from torch import nn
from transformers import GPT2Config, GPT2ForSequenceClassification

from discreet.engine import doctor
from discreet.engine.clipping.clipped import ClippedBackward
from discreet.engine.doctor import AGAIN, clipped_by_loop, examine, random_batch, relative_error
from discreet.engine.record_losses import causal_loss, class_loss
from discreet.errors import RefusedError, SettingError
from discreet.models.language import new_model
from tests.engine import oracle
from tests.engine.small_models import WORDS, Calls, causal, floats, gpt2, ids, linear, squares


def rules(found):
    return {layer.name: layer.rule for layer in found.layers}


def test_a_language_model_is_examined_layer_by_layer():
    torch.manual_seed(0)
    model = gpt2(resid_pdrop=0.3)
    before = [p.detach().clone() for p in model.parameters()]
    found = examine(model, name="mine")
    assert found.ok
    assert found.error == max(found.norm_error, found.sum_error) < 1e-5
    assert found.model == "mine"
    assert found.parameters == found.trainable == sum(p.numel() for p in model.parameters())
    assert rules(found)["transformer.wte"] == "embedding"
    assert rules(found)["transformer.h.0.attn.c_attn"] == "conv1d"
    assert rules(found)["transformer.ln_f"] == "layer-norm"
    assert found.tied == (("transformer.wte.weight", "lm_head.weight"),)
    assert found.slow is None
    ways = {layer.name: layer.norms for layer in found.layers}
    assert set(ways["lm_head"].split(", ")) >= {"ids"}
    assert ways["transformer.h.0.attn.c_attn"] in ("instantiate", "Gram")
    assert model.training
    assert all(m.training for m in model.modules())
    assert all(torch.equal(p, b) and p.grad is None for p, b in zip(model.parameters(), before, strict=True))


def test_frozen_parameters_are_not_counted_as_trained():
    model = gpt2()
    for p in model.transformer.wte.parameters():
        p.requires_grad_(False)
    found = examine(model)
    assert found.ok
    assert found.trainable == found.parameters - WORDS * 8
    assert found.tied == ()


def test_the_lstm_and_a_classifier_are_examined_too():
    found = examine(new_model("lstm", 30, {"embedding": 6, "hidden": 6, "tied": True}, seed=1))
    assert found.ok
    assert rules(found)["lstm"] == "lstm"
    config = GPT2Config(n_layer=1, n_embd=8, n_head=2, vocab_size=20, n_positions=8, num_labels=3, pad_token_id=0)
    found = examine(GPT2ForSequenceClassification(config), loss=class_loss, length=100)
    assert found.ok
    assert rules(found)["score"] == "linear"


class Scaled(nn.Module):
    """A layer no rule knows."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(6) + 0.5)

    def forward(self, x):
        return torch.tanh(x * self.scale)


def test_a_layer_without_a_rule_is_named():
    model = Calls(lambda m, x: m.scaled(m.a(x)), a=linear(), scaled=Scaled())
    found = examine(model, floats(6), squares)
    assert found.ok
    assert rules(found) == {"a": "linear", "scaled": AGAIN}
    assert found.slow is None


def test_a_model_that_is_done_record_by_record_says_why():
    model = Calls(lambda m, x: nn.functional.linear(x, m.a.weight), a=linear())
    found = examine(model, floats(6), squares)
    assert found.ok
    assert found.slow is not None
    assert "a.weight" in found.slow


def test_a_wrong_engine_is_found_out(monkeypatch):
    right = ClippedBackward.add

    def wrong(self, batch, totals):
        outcome = right(self, batch, totals)
        next(iter(totals.values())).mul_(1.01)
        return outcome

    monkeypatch.setattr(ClippedBackward, "add", wrong)
    found = examine(gpt2())
    assert not found.ok
    assert found.sum_error > doctor.TOLERANCE >= found.norm_error


def test_an_error_that_is_not_a_number_is_not_ok():
    found = doctor.Examination("m", 1, 1, (), (), None, float("nan"), 0.0)
    assert not found.ok
    assert found.to_json()["ok"] is False
    assert not doctor.Examination("m", 1, 1, (), (), None, 0.0, float("nan")).ok


def test_what_training_refuses_is_refused():
    model = Calls(lambda m, x: m.norm(m.a(x)), a=linear(), norm=nn.BatchNorm1d(6))
    with pytest.raises(RefusedError, match="BatchNorm1d"):
        examine(model, floats(6), squares)
    assert examine(model.eval(), floats(6), squares).ok


def test_the_loop_is_the_loop_of_the_tests():
    torch.manual_seed(2)
    model, batch = gpt2(), ids(7)
    mine, norms = clipped_by_loop(model, batch, causal, 0.7)
    theirs, their_norms = oracle.clipped_by_loop(model, batch, causal, 0.7)
    torch.testing.assert_close(norms.float(), their_norms)
    assert relative_error(mine, theirs) < 1e-7
    assert relative_error({"a": torch.ones(4)}, {"a": torch.full((4,), 2.0)}) == pytest.approx(0.5)


def test_random_batches_repeat_tokens_and_fit_the_model():
    batch = random_batch(gpt2(n_positions=12, vocab_size=5000), causal_loss, 3, 100, seed=4)
    assert batch["input_ids"].shape == (3, 12)
    assert all(len(row.unique()) < 12 for row in batch["input_ids"])
    again = random_batch(gpt2(n_positions=12, vocab_size=5000), causal_loss, 3, 100, seed=4)
    assert torch.equal(batch["input_ids"], again["input_ids"])
    with pytest.raises(SettingError, match="at least 2"):
        random_batch(gpt2(), causal_loss, 1, 8, seed=0)


def test_a_batch_with_nothing_to_learn_is_an_error():
    with pytest.raises(SettingError, match="median"):
        examine(Calls(lambda m, x: m.a(x) * 0, a=linear()), floats(6), squares)

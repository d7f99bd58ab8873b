"""Models the rules do not fit: right and slow with a warning, or refused by name; never silently wrong."""

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from discreet.engine import clipped_sum
from discreet.engine.clipping.clipped import ClippedBackward
from discreet.engine.clipping.trial import _norm
from discreet.engine.clipping.trust import SlowClipping
from discreet.errors import InputError, RefusedError, SettingError
from tests.engine.oracle import Batch, agrees, clipped_by_loop, relative_error
from tests.engine.small_models import LENGTH, WIDTH, Calls, causal, causal_fused, floats, gpt2, ids, linear, squares


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


class Scale(nn.Module):
    """A layer nobody has a rule for."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(x * self.scale)


def test_a_layer_without_a_rule_is_run_again_with_a_warning() -> None:
    model = nn.Sequential(linear(), Scale(), nn.Conv1d(LENGTH, 3, 2), linear(WIDTH - 1, 2))
    with pytest.warns(SlowClipping, match=r"no layer rule for 1 \(Scale\), 2 \(Conv1d\)"):
        agrees(model, floats(LENGTH, WIDTH), squares, strict=False)
    with pytest.raises(RefusedError, match="Scale"):
        clipped_sum(model, floats(LENGTH, WIDTH), squares, 1.0, strict=True)


def test_a_weight_used_behind_its_layers_back_is_noticed() -> None:
    model: Any = Calls(lambda m, x: m.a(x) + F.linear(x, m.a.weight.t()), a=linear())
    with pytest.warns(SlowClipping, match="may be used in some other way"):
        agrees(model, floats(LENGTH, WIDTH), squares, strict=False)
    with pytest.raises(RefusedError, match=r"a\.weight"):
        clipped_sum(model, floats(LENGTH, WIDTH), squares, 1.0, strict=True)


def test_a_penalty_on_the_weights_is_noticed() -> None:
    def loss(model: Any, batch: Batch) -> Any:
        return squares(model, batch) + model.weight.square().sum()

    with pytest.warns(SlowClipping):
        agrees(linear(), floats(LENGTH, WIDTH), loss, strict=False)


def test_attention_of_torch_is_done_record_by_record() -> None:
    model = nn.TransformerEncoderLayer(WIDTH, 2, 8, batch_first=True, dropout=0.0)
    with pytest.warns(SlowClipping):
        agrees(model, floats(LENGTH, WIDTH), squares, strict=False)


def test_a_parameter_outside_of_all_layers_is_noticed() -> None:
    model: Any = Calls(lambda m, x: m.a(x) * m.factor, a=linear())
    model.factor = nn.Parameter(torch.tensor(1.5))
    with pytest.warns(SlowClipping):
        agrees(model, floats(LENGTH, WIDTH), squares, strict=False)


def test_batch_normalisation_is_refused_by_name() -> None:
    model = nn.Sequential(linear(), nn.BatchNorm1d(LENGTH))
    with pytest.raises(RefusedError, match="1 is a BatchNorm1d"):
        clipped_sum(model, floats(LENGTH, WIDTH), squares, 1.0)


def test_a_loss_that_averages_over_the_batch_is_refused() -> None:
    with pytest.raises(RefusedError, match="another record joins the batch"):
        clipped_sum(linear(), floats(LENGTH, WIDTH), lambda m, b: squares(m, b) / len(b["x"]), 1.0)


def test_a_record_that_is_not_a_number_adds_nothing_and_is_counted() -> None:
    model, batch = gpt2(), ids(7)
    batch["scale"] = torch.tensor([1.0, float("nan"), 2.0, float("inf")])

    def loss(model: Any, batch: Batch) -> Any:
        return causal_fused(model, batch) * batch["scale"]

    backward = ClippedBackward(model, loss, 0.5, strict=True)
    sums = backward.zeros()
    outcome = backward.add(batch, sums)
    assert outcome.skipped == 2
    good = {name: tensor[[0, 2]] for name, tensor in batch.items()}
    want, norms = clipped_by_loop(model, good, loss, 0.5)
    assert relative_error(sums, want) < 1e-5
    torch.testing.assert_close(outcome.norms[[0, 2]], norms, rtol=1e-5, atol=0)


def test_a_record_whose_input_is_not_a_number_spoils_no_other() -> None:
    model = nn.Sequential(linear(), nn.LayerNorm(WIDTH), linear())
    batch = floats(LENGTH, WIDTH)
    batch["x"][1, 2] = float("nan")
    backward = ClippedBackward(model, squares, 0.5, strict=True)
    for _ in range(4):
        sums = backward.zeros()
        assert backward.add(batch, sums).skipped == 1
    want, _ = clipped_by_loop(model, {"x": batch["x"][[0, 2, 3]]}, squares, 0.5)
    assert relative_error(sums, want) < 1e-5


def test_a_record_that_is_not_a_number_adds_nothing_on_the_slow_way_either() -> None:
    batch = floats(LENGTH, WIDTH)
    batch["x"][2] = float("nan")
    model: Any = Calls(lambda m, x: m.a(x) + F.linear(x, m.a.weight), a=linear())
    backward = ClippedBackward(model, squares, 0.5)
    sums = backward.zeros()
    with pytest.warns(SlowClipping):
        outcome = backward.add(batch, sums)
    assert outcome.skipped == 1
    assert all(total.isfinite().all() for total in sums.values())


def test_the_model_is_left_as_it_was_when_the_loss_fails() -> None:
    model: Any = Calls(lambda m, x: m.rnn(m.a(x))[0], a=linear(), rnn=nn.LSTM(WIDTH, WIDTH, batch_first=True))
    calls = 0

    def loss(model: Any, batch: Batch) -> Any:
        nonlocal calls
        calls += 1
        out = squares(model, batch)
        if calls == 4:  # two surveys, one trial, then the pass itself
            raise KeyboardInterrupt
        return out

    with pytest.raises(KeyboardInterrupt):
        clipped_sum(model, floats(LENGTH, WIDTH), loss, 1.0)
    assert all(p.requires_grad and p.grad is None for p in model.parameters())
    assert not any(module._forward_hooks or "forward" in vars(module) for module in model.modules())


@pytest.mark.parametrize(
    ("batch", "loss", "message"),
    [
        ({}, squares, "no tensors"),
        ({"x": torch.tensor(1.0)}, squares, "'x' of the batch"),
        ({"x": torch.zeros(2, WIDTH), "y": torch.zeros(3)}, squares, "different numbers"),
        (
            {"x": torch.zeros(2, 3, WIDTH)},
            lambda m, b: m(b["x"]).sum(2),
            r"one number for each of 2 records, not \[2, 3\]",
        ),
    ],
)
def test_what_is_not_a_batch_of_records_is_named(batch, loss, message: str) -> None:
    with pytest.raises(InputError, match=message):
        clipped_sum(linear(), batch, loss, 1.0)


def test_a_model_without_trainable_parameters_is_refused() -> None:
    with pytest.raises(SettingError, match="no trainable parameters"):
        clipped_sum(linear().requires_grad_(False), floats(LENGTH, WIDTH), squares, 1.0)


def test_a_model_that_changes_its_mind_later_is_refused() -> None:
    model: Any = Calls(lambda m, x: m.a(x) + (F.linear(x, m.a.weight) if m.late else 0), a=linear())
    model.late = False
    backward = ClippedBackward(model, squares, 0.5)
    backward.add(floats(LENGTH, WIDTH), backward.zeros())
    model.late = True
    with pytest.raises(RefusedError, match="After 1 passes"):
        backward.add(floats(LENGTH, WIDTH), backward.zeros())


def test_nothing_is_warned_about_when_rules_fit() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clipped_sum(gpt2(), ids(7), causal, 1.0)


def test_norms_of_large_gradients_are_not_rounded_away():
    """Forty million numbers of all sizes, as in a vocabulary's embedding: torch's own norm is .15 % too small."""
    random = torch.Generator().manual_seed(0)
    gradient = torch.randn(2**25, generator=random) * torch.rand(2**25, generator=random).pow_(8)
    exact = float(gradient.double().square_().sum().sqrt())
    assert _norm(gradient) == pytest.approx(exact, rel=1e-6)

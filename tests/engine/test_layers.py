"""Every kind of layer gives the sums and norms of a loop over single records."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.pytorch_utils import Conv1D

from discreet.engine.clipping.contract import LAYERS
from tests.engine.oracle import Batch, agrees
from tests.engine.small_models import (
    LENGTH,
    RECORDS,
    WIDTH,
    WORDS,
    causal,
    causal_fused,
    floats,
    gpt2,
    ids,
    llama,
    squares,
)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def randomised(module: nn.Module) -> nn.Module:
    """Fresh norm layers scale by one: make every parameter count."""
    for p in module.parameters():
        nn.init.normal_(p, std=0.7)
    return module


LAYER_CASES: dict[str, list[tuple[Callable[[], nn.Module], Callable[[], Batch]]]] = {
    "linear": [
        (lambda: nn.Linear(WIDTH, 3), lambda: floats(LENGTH, WIDTH)),
        (lambda: nn.Linear(WIDTH, 3, bias=False), lambda: floats(WIDTH)),
        (lambda: nn.Linear(WIDTH, 30), lambda: floats(2, LENGTH, WIDTH)),
    ],
    "conv1d": [(lambda: Conv1D(3, WIDTH), lambda: floats(LENGTH, WIDTH))],
    "embedding": [
        (lambda: nn.Embedding(WORDS, WIDTH), lambda: ids(LENGTH)),
        (lambda: nn.Embedding(3, WIDTH, padding_idx=1), lambda: ids(LENGTH, words=3)),
        (lambda: nn.Embedding(WORDS, WIDTH), lambda: ids()),
        (lambda: nn.Embedding(WORDS, WIDTH, sparse=True), lambda: ids(LENGTH)),
    ],
    "layer-norm": [
        (lambda: randomised(nn.LayerNorm(WIDTH)), lambda: floats(LENGTH, WIDTH)),
        (lambda: randomised(nn.LayerNorm((LENGTH, WIDTH))), lambda: floats(2, LENGTH, WIDTH)),
        (lambda: randomised(nn.LayerNorm(WIDTH, bias=False)), lambda: floats(WIDTH)),
    ],
    "rms-norm": [
        (lambda: randomised(nn.RMSNorm(WIDTH)), lambda: floats(LENGTH, WIDTH)),
        (lambda: randomised(LlamaRMSNorm(WIDTH)), lambda: floats(LENGTH, WIDTH)),
        (lambda: randomised(nn.RMSNorm(WIDTH, eps=0.1)), lambda: floats(WIDTH)),
    ],
    "lstm": [
        (lambda: FirstOf(nn.LSTM(WIDTH, 4, batch_first=True)), lambda: floats(LENGTH, WIDTH)),
        (lambda: FirstOf(nn.LSTM(WIDTH, 4, num_layers=3, bias=False), time_major=True), lambda: floats(LENGTH, WIDTH)),
        (lambda: FirstOf(nn.LSTM(WIDTH, 4, 2, batch_first=True, bidirectional=True)), lambda: floats(LENGTH, WIDTH)),
        (lambda: FirstOf(nn.LSTM(WIDTH, 4), time_major=True), lambda: floats(RECORDS, WIDTH)),
    ],
}


class FirstOf(nn.Module):
    """An LSTM's outputs, its last state added on."""

    def __init__(self, lstm: nn.LSTM, *, time_major: bool = False) -> None:
        super().__init__()
        self.lstm, self.time_major = lstm, time_major

    def forward(self, x: Tensor) -> Tensor:
        out, (h, c) = self.lstm(x.transpose(0, 1) if self.time_major else x)
        out = out.transpose(0, 1) if self.time_major else out
        shifted: Tensor = out + (h.sum(0) * c.sum(0)).sum(1)[:, None, None]
        return shifted


@pytest.mark.parametrize(
    ("make", "batch"), [case for cases in LAYER_CASES.values() for case in cases], ids=lambda value: ""
)
def test_a_layer_agrees_with_the_loop(make, batch) -> None:
    agrees(make(), batch(), squares)


def test_every_registered_layer_has_a_case() -> None:
    assert set(LAYERS.names()) == set(LAYER_CASES)


@pytest.mark.parametrize("trained", ["weight", "bias"])
@pytest.mark.parametrize("make", [lambda: nn.Linear(WIDTH, 3), lambda: Conv1D(3, WIDTH), lambda: nn.LayerNorm(WIDTH)])
def test_half_of_a_layer_may_be_frozen(make, trained) -> None:
    layer = make()
    for name, p in layer.named_parameters():
        p.requires_grad_(name == trained)
    agrees(layer, floats(LENGTH, WIDTH), squares)


@settings(derandomize=True, deadline=None, max_examples=20)
@given(
    records=st.integers(1, 5),
    length=st.integers(1, 7),
    width=st.integers(1, 6),
    hidden=st.integers(1, 5),
    layers=st.integers(1, 2),
    batch_first=st.booleans(),
    state=st.booleans(),
)
def test_lstms_of_all_shapes_agree(records, length, width, hidden, layers, batch_first, state) -> None:
    torch.manual_seed(0)
    lstm = nn.LSTM(width, hidden, layers, batch_first=batch_first)
    batch = {"x": torch.randn(records, length, width)}
    if state:
        batch |= {"h": torch.randn(records, layers, hidden), "c": torch.randn(records, layers, hidden)}

    def loss(model: Any, batch: Batch) -> Any:
        first = {name: batch[name].transpose(0, 1) for name in ("h", "c") if name in batch}
        x = batch["x"] if batch_first else batch["x"].transpose(0, 1)
        out, (h, c) = model(x, tuple(first.values())) if first else model(x)
        out = out if batch_first else out.transpose(0, 1)
        return out.square().flatten(1).sum(1) + (h[-1] * c[0]).sum(1)

    agrees(lstm, batch, loss)


@pytest.mark.parametrize("loss", [causal, causal_fused])
@pytest.mark.parametrize(
    "make", [gpt2, lambda: gpt2(tie_word_embeddings=False), llama, lambda: llama(tie_word_embeddings=True)]
)
def test_language_models_agree_tied_or_not(make, loss) -> None:
    agrees(make(), ids(7), loss)


def test_a_tied_model_with_records_of_different_lengths_agrees() -> None:
    batch = ids(9) | {"skip": torch.arange(9) >= torch.tensor([9, 4, 6, 1])[:, None]}
    agrees(gpt2(), batch, causal_fused)


def test_as_many_records_as_positions_do_not_confuse_position_ids() -> None:
    agrees(gpt2(), {"x": torch.randint(WORDS, (6, 6))}, causal)

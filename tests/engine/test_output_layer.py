"""The fused output layer is cross-entropy, also where targets are ignored, and it takes its block of memory back."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from discreet.engine import allocator, output_layer
from discreet.engine.output_layer import IGNORED, output_loss
from discreet.errors import InputError


def obvious(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
    logits = F.linear(hidden, weight, bias)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape)


def example(seed: int, records: int, length: int, width: int, vocabulary: int, ignored: float, bias: bool):
    random = torch.Generator().manual_seed(seed)
    hidden = torch.randn(records, length, width, generator=random, requires_grad=True)
    weight = torch.randn(vocabulary, width, generator=random, requires_grad=True)
    offsets = torch.randn(vocabulary, generator=random, requires_grad=True) if bias else None
    targets = torch.randint(vocabulary, (records, length), generator=random)
    targets[torch.rand(records, length, generator=random) < ignored] = IGNORED
    return hidden, weight, offsets, targets


def gradients(losses: Tensor, weights: Tensor, *tensors: Tensor | None) -> list[Tensor]:
    return list(torch.autograd.grad((losses * weights).sum(), [t for t in tensors if t is not None]))


@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 1000),
    records=st.integers(1, 3),
    length=st.integers(1, 5),
    width=st.integers(1, 4),
    vocabulary=st.integers(1, 9),
    ignored=st.sampled_from([0.0, 0.5, 1.0]),
    bias=st.booleans(),
)
def test_losses_and_gradients_are_those_of_cross_entropy(
    seed, records, length, width, vocabulary, ignored, bias
) -> None:
    hidden, weight, offsets, targets = example(seed, records, length, width, vocabulary, ignored, bias)
    losses, expected = (f(hidden, weight, offsets, targets) for f in (output_loss, obvious))
    torch.testing.assert_close(losses, expected, rtol=1e-5, atol=1e-5)
    weights = torch.rand(targets.shape, generator=torch.Generator().manual_seed(seed))
    for got, want in zip(
        gradients(losses, weights, hidden, weight, offsets),
        gradients(expected, weights, hidden, weight, offsets),
        strict=True,
    ):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_a_loss_too_large_for_the_softmax_is_still_finite() -> None:
    hidden, weight = torch.full((1, 1, 1), 200.0), torch.tensor([[1.0], [-1.0]])
    assert output_loss(hidden, weight, None, torch.tensor([[1]])).item() == pytest.approx(400.0)


WAYS = {
    "tiles": {"FEW": 0, "WIDE": 8, "TILE_ROWS": 5, "TILE_COLUMNS": 4},
    "bands": {"FEW": 100, "BAND": 4, "BANDS": 2},
    "whole": {"FEW": 0},
}
"""How the block is made: sizes that make a small example go each way."""


@pytest.fixture(params=list(WAYS.values()), ids=list(WAYS))
def every_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in request.param.items():
        monkeypatch.setattr(output_layer, name, size)


@pytest.mark.usefixtures("every_way")
@pytest.mark.parametrize("scale", [1.0, 300.0], ids=["ordinary", "beyond the largest sum"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("vocabulary", [3, 8, 9, 12, 13])
def test_a_vocabulary_in_parts_is_cross_entropy(vocabulary: int, bias: bool, scale: float) -> None:
    hidden, weight, offsets, targets = example(vocabulary, 3, 4, 6, vocabulary, 0.2, bias)
    hidden = (scale * hidden.detach()).requires_grad_()
    losses, expected = (f(hidden, weight, offsets, targets) for f in (output_loss, obvious))
    assert (float(expected.detach().max()) > 100) == (scale > 1)
    torch.testing.assert_close(losses, expected, rtol=1e-5, atol=1e-5)
    for got, want in zip(
        gradients(losses, torch.ones(targets.shape), hidden, weight, offsets),
        gradients(expected, torch.ones(targets.shape), hidden, weight, offsets),
        strict=True,
    ):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4 * scale)


@pytest.mark.usefixtures("every_way")
def test_a_row_that_is_not_a_number_does_not_reach_the_others() -> None:
    hidden, weight, offsets, targets = example(0, 3, 4, 6, 13, 0.0, True)
    spoiled = hidden.detach().clone()
    spoiled[1, 2] = torch.nan
    losses, expected = output_loss(spoiled, weight, offsets, targets), obvious(hidden, weight, offsets, targets)
    good = torch.ones(3, 4, dtype=torch.bool)
    good[1, 2] = False
    assert losses[1, 2].isnan()
    torch.testing.assert_close(losses[good], expected[good])


@pytest.mark.usefixtures("every_way")
def test_every_way_under_autocast_is_near_cross_entropy() -> None:
    hidden, weight, offsets, targets = example(0, 3, 4, 6, 13, 0.2, True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = output_loss(hidden, weight, offsets, targets)
    torch.testing.assert_close(losses, obvious(hidden, weight, offsets, targets), rtol=0.05, atol=0.05)


def test_two_forwards_before_a_backward_do_not_share_a_block() -> None:
    first, second = example(0, 2, 3, 4, 7, 0.0, True), example(1, 2, 3, 4, 7, 0.0, True)
    total = output_loss(*first).sum() + output_loss(*second).sum()
    want = torch.autograd.grad(obvious(*first).sum(), first[0])[0]
    torch.testing.assert_close(torch.autograd.grad(total, first[0])[0], want)


def test_backward_can_be_taken_twice() -> None:
    hidden, *rest = example(0, 2, 3, 4, 7, 0.3, True)
    losses = output_loss(hidden, *rest)
    for record in range(2):
        got = torch.autograd.grad(losses[record].sum(), hidden, retain_graph=True)[0]
        torch.testing.assert_close(got, torch.autograd.grad(obvious(hidden, *rest)[record].sum(), hidden)[0])


def test_the_block_is_reused_from_step_to_step() -> None:
    allocator.return_buffers()
    addresses = set()
    for _ in range(3):
        hidden, *rest = example(0, 2, 3, 4, 7, 0.0, True)
        losses = output_loss(hidden, *rest)
        work = getattr(losses.grad_fn, "work")  # noqa: B009
        addresses.add(work.block.data_ptr())
        torch.autograd.backward(losses.sum())
        del losses, work
    assert len(addresses) == 1


def test_bfloat16_autocast_keeps_the_softmax_in_full_precision() -> None:
    hidden, weight, bias, targets = example(3, 2, 6, 16, 40, 0.3, True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = output_loss(hidden.to(torch.bfloat16), weight, bias, targets)
    assert losses.dtype == torch.float32
    torch.testing.assert_close(losses, obvious(hidden, weight, bias, targets), rtol=0.05, atol=0.05)
    got = torch.autograd.grad(losses.sum(), weight)[0]
    torch.testing.assert_close(
        got, torch.autograd.grad(obvious(hidden, weight, bias, targets).sum(), weight)[0], rtol=0.05, atol=0.1
    )


def test_shapes_that_do_not_belong_together_are_named() -> None:
    with pytest.raises(InputError, match=r"targets \[2, 2\]"):
        output_loss(torch.zeros(2, 3, 4), torch.zeros(5, 4), None, torch.zeros(2, 2, dtype=torch.long))

"""The compiled recurrence is the one of torch operations, and both are torch's own LSTM."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from discreet.engine import recurrence
from discreet.engine.clipping.clipped import ClippedBackward
from tests.engine.oracle import agrees, clipped_by_loop

Made = dict[str, Tensor]
WAYS = {"compiled": recurrence._Compiled, "operations": recurrence._Operations}


def inputs(length: int, records: int, hidden: int, *, size: float = 1.0) -> Made:
    """What a recurrence is given and what comes back to it, of a certain size."""
    random = torch.Generator().manual_seed(1000 * length + 10 * records + hidden)
    shapes = {
        "projected": (length, records, 4 * hidden),
        "recurrent": (4 * hidden, hidden),
        "h0": (records, hidden),
        "c0": (records, hidden),
        "d_out": (length, records, hidden),
        "d_h": (records, hidden),
        "d_c": (records, hidden),
    }
    made = {name: torch.randn(shape, generator=random) for name, shape in shapes.items()}
    made["projected"] *= size
    made["recurrent"] /= math.sqrt(hidden)
    return made


def run(way: Any, made: Made) -> Made:
    """All results and all gradients of a recurrence."""
    given = {name: made[name].clone().requires_grad_() for name in ("projected", "recurrent", "h0", "c0")}
    notes: list[Tensor] = []
    out = way.apply(*given.values(), notes)
    grads = torch.autograd.grad(out, list(given.values()), [made["d_out"], made["d_h"], made["d_c"]])
    found = dict(zip(("out", "h", "c"), out, strict=True)) | {"before": notes[0]}
    return {name: tensor.detach() for name, tensor in (found | dict(zip(given, grads, strict=True))).items()}


def close(got: Made, want: Made, tolerance: float = 2e-6) -> None:
    """Apart by no more than rounding, measured by each result as a whole; what goes in is of size one."""
    for name, tensor in want.items():
        exact = tensor.double()
        assert float((got[name].double() - exact).norm()) <= tolerance * (float(exact.norm()) + 1), name


shapes = {"length": st.integers(1, 9), "records": st.integers(1, 9), "hidden": st.integers(1, 40)}


@settings(derandomize=True, deadline=None, max_examples=60)
@given(**shapes, size=st.sampled_from([0.01, 1.0, 10.0]))
def test_the_compiled_recurrence_is_that_of_torch_operations(length, records, hidden, size) -> None:
    made = inputs(length, records, hidden, size=size)
    exact = run(recurrence._Operations, {name: tensor.double() for name, tensor in made.items()})
    close(run(recurrence._Compiled, made), exact)
    close(run(recurrence._Operations, made), exact)


@settings(derandomize=True, deadline=None, max_examples=20)
@given(**shapes)
def test_it_is_the_recurrence_of_torch(length, records, hidden) -> None:
    made = {name: tensor.double() for name, tensor in inputs(length, records, hidden).items()}
    lstm: Any = nn.LSTM(4 * hidden, hidden, bias=False).double()
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(torch.eye(4 * hidden))
        lstm.weight_hh_l0.copy_(made["recurrent"])
    x, h0, c0 = (made[name].clone().requires_grad_() for name in ("projected", "h0", "c0"))
    out, (h, c) = lstm(x, (h0.unsqueeze(0), c0.unsqueeze(0)))
    backwards = [made["d_out"], made["d_h"].unsqueeze(0), made["d_c"].unsqueeze(0)]
    grads = torch.autograd.grad([out, h, c], [x, lstm.weight_hh_l0, h0, c0], backwards)
    want = dict(zip(("projected", "recurrent", "h0", "c0"), grads, strict=True))
    want |= {"out": out.detach(), "h": h[0].detach(), "c": c[0].detach()}
    want["before"] = torch.cat((made["h0"].unsqueeze(0), want["out"][:-1]))
    close(run(recurrence._Compiled, {name: tensor.float() for name, tensor in made.items()}), want)
    close(run(recurrence._Operations, made), want, 1e-12)


@pytest.mark.parametrize("value", [100.0, -100.0, 1e30])
def test_gates_wide_open_or_shut_are_those_of_torch_operations(value) -> None:
    made = inputs(5, 3, 7)
    made["projected"] = value * made["projected"].sign()
    close(run(recurrence._Compiled, made), run(recurrence._Operations, made))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["projected", "h0", "c0", "d_out", "d_h", "d_c"])
def test_what_is_not_a_number_spoils_the_same_records_as_in_torch_operations(where, bad) -> None:
    made = inputs(6, 4, 11)
    made[where].select(-2, 2)[..., 3] = bad
    got, want = (run(way, made) for way in WAYS.values())
    for name in got:
        if name != "recurrent":  # a sum over all records
            lost = [~torch.isfinite(found[name]).all(-1) for found in (got, want)]
            assert torch.equal(*lost), name
            good = [found[name][..., [0, 1, 3], :] for found in (got, want)]
            torch.testing.assert_close(*good, rtol=1e-5, atol=1e-6)
    if math.isnan(bad):
        assert not torch.isfinite(got["projected"][..., 2, :]).all()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_record_that_is_not_a_number_is_left_out_of_the_sum(bad, bidirectional) -> None:
    torch.manual_seed(0)
    lstm = nn.LSTM(5, 9, 2, batch_first=True, bidirectional=bidirectional)
    batch = {"x": torch.randn(4, 6, 5)}
    batch["x"][2, 3, 1] = bad

    def loss(model: Any, batch: Made) -> Any:
        return model(batch["x"])[0].square().flatten(1).sum(1)

    backward = ClippedBackward(lstm, loss, 0.5, strict=True)
    sums = backward.zeros()
    outcome = backward.add(batch, sums)
    assert outcome.skipped == 1
    assert torch.isfinite(outcome.norms).tolist() == [True, True, False, True]
    want, _ = clipped_by_loop(lstm, {"x": batch["x"][[0, 1, 3]]}, loss, 0.5)
    for name, total in want.items():
        torch.testing.assert_close(sums[name], total, rtol=1e-4, atol=1e-6)


@settings(derandomize=True, deadline=None, max_examples=15)
@given(
    records=st.integers(1, 5),
    length=st.integers(1, 7),
    hidden=st.integers(1, 33),
    layers=st.integers(1, 2),
    bidirectional=st.booleans(),
    bias=st.booleans(),
)
def test_lstms_whose_first_state_is_learned_agree_with_the_loop(
    records, length, hidden, layers, bidirectional, bias
) -> None:
    torch.manual_seed(0)
    model = nn.ModuleDict(
        {
            "start": nn.Linear(3, 2 * hidden),
            "lstm": nn.LSTM(5, hidden, layers, bidirectional=bidirectional, bias=bias, batch_first=True),
        }
    )

    def loss(model: Any, batch: Made) -> Any:
        first = model["start"](batch["y"]).unsqueeze(0).expand((1 + bidirectional) * layers, -1, -1)
        out, (h, c) = model["lstm"](batch["x"], (first[..., :hidden].contiguous(), first[..., hidden:].contiguous()))
        return out.square().flatten(1).sum(1) + (h * c).sum((0, 2))

    agrees(model, {"x": torch.randn(records, length, 5), "y": torch.randn(records, 3)}, loss)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_are_left_to_torch_operations(dtype, monkeypatch) -> None:
    monkeypatch.setattr(recurrence, "_Compiled", None)
    made = {name: tensor.to(dtype) for name, tensor in inputs(3, 2, 4).items()}
    out, _, _ = recurrence.recur(made["projected"], made["recurrent"], made["h0"], made["c0"], [])
    assert out.dtype == dtype


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_inputs_may_lie_in_any_order(way) -> None:
    made = inputs(5, 3, 7)
    want = run(way, made)
    turned = {n: t.movedim(-1, 0).contiguous().movedim(0, -1) if n != "recurrent" else t for n, t in made.items()}
    close(run(way, turned), want)

"""What per-record clipping means, written down as slowly and obviously as possible: a loop over single records.

want_sums, want_norms = clipped_by_loop(model, batch, loss, clip=0.5)
agrees(model, batch, loss, clip=0.5)          # the shared check of every layer and every model
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from discreet.engine import clipped_sum

Batch = dict[str, Tensor]
Loss = Callable[[nn.Module, Batch], Tensor]


def clipped_by_loop(model: nn.Module, batch: Batch, loss: Loss, clip: float) -> tuple[dict[str, Tensor], Tensor]:
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    sums = {name: torch.zeros_like(p) for name, p in trained.items()}
    norms = []
    for record in range(len(next(iter(batch.values())))):
        (value,) = loss(model, {name: tensor[record : record + 1] for name, tensor in batch.items()})
        grads = torch.autograd.grad(value, list(trained.values()), allow_unused=True)
        known = {name: grad for name, grad in zip(trained, grads, strict=True) if grad is not None}
        norm = torch.sqrt(sum((grad.double().square().sum() for grad in known.values()), torch.tensor(0.0).double()))
        norms.append(float(norm))
        for name, grad in known.items():
            sums[name] += grad * min(1.0, clip / max(float(norm), 1e-30))
    return sums, torch.tensor(norms)


def relative_error(got: dict[str, Tensor], want: dict[str, Tensor]) -> float:
    """|got - want| / |want| over all parameters together."""
    assert got.keys() == want.keys()
    apart = sum(float((got[name] - want[name]).double().square().sum()) for name in want)
    size = sum(float(want[name].double().square().sum()) for name in want)
    return float((apart / size) ** 0.5) if size else float(apart**0.5)


def agrees(model: nn.Module, batch: Batch, loss: Loss, clip: float | None = None, *, strict: bool = True) -> None:
    """Fails unless the engine's sums and norms are those of the loop to 1e-5, and the model is left as it was found.

    Without a clip norm the median norm is taken, so that some records are clipped and some are not.
    """
    if clip is None:
        clip = float(clipped_by_loop(model, batch, loss, 1.0)[1].median())
        assert clip > 0
    want, want_norms = clipped_by_loop(model, batch, loss, clip)
    before = {name: (p.requires_grad, p.grad, p.detach().clone()) for name, p in model.named_parameters()}
    got, norms = clipped_sum(model, batch, loss, clip, strict=strict)
    torch.testing.assert_close(norms, want_norms, rtol=1e-5, atol=1e-7)
    assert relative_error(got, want) < 1e-5
    for name, p in model.named_parameters():
        asked, grad, value = before[name]
        assert p.requires_grad is asked
        assert p.grad is grad
        assert torch.equal(p.detach(), value)
    assert not any(module._forward_hooks or "forward" in vars(module) for module in model.modules())

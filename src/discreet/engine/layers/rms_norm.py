"""Root-mean-square normalisation: torch's own, and the many classes of that name in transformers."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from discreet.engine.clipping.contract import LAYERS, Listener, OutputRule
from discreet.engine.clipping.pieces import Piece, Whole
from discreet.engine.clipping.products import wide


@LAYERS.register("rms-norm")
class RMSNormRule(OutputRule):
    """y = w * x / rms(x), or (1 + w) * x / rms(x): dw = sum of g * x / rms(x) either way.

    Known by its name, its one parameter and its epsilon: every family of models in transformers brings its own class.
    """

    def matches(self, module: nn.Module) -> bool:
        named = dict(module.named_parameters())
        alike = type(module).__name__.endswith("RMSNorm") and list(named) == ["weight"] and named["weight"].dim() == 1
        return alike and _epsilon(module) is not NotImplemented

    def keep(self, module: Any, given: Tensor, listener: Listener) -> tuple[Tensor, ...]:
        return (given,)

    def pieces(self, module: Any, kept: tuple[Tensor, ...], grad: Tensor) -> Iterator[tuple[Tensor, Piece]]:
        x = wide(kept[0])
        epsilon = _epsilon(module)
        epsilon = torch.finfo(x.dtype).eps if epsilon is None else epsilon
        scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)
        products = (x * scale).mul_(grad)
        yield module.weight, Whole(products.flatten(1, -2).sum(1) if products.dim() > 2 else products)


def _epsilon(module: Any) -> Any:
    """The epsilon, None where torch takes the machine's, NotImplemented where there is none to be found."""
    return getattr(module, "variance_epsilon", getattr(module, "eps", NotImplemented))

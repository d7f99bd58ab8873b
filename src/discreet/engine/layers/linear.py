"""Linear layers, and so also the two small ones inside each LoRA layer."""

from collections.abc import Iterator

from torch import Tensor, nn

from discreet.engine.clipping.contract import LAYERS, Listener, OutputRule, computes_as, rows
from discreet.engine.clipping.pieces import Outer, Piece, Whole


@LAYERS.register("linear")
class LinearRule(OutputRule):
    """y = x W^T + b: dW = g^T x and db = sum of g."""

    def matches(self, module: nn.Module) -> bool:
        return computes_as(module, nn.Linear)

    def keep(self, module: nn.Linear, given: Tensor, listener: Listener) -> tuple[Tensor, ...]:
        return (given,) if listener.trains(module.weight) else ()

    def pieces(self, module: nn.Linear, kept: tuple[Tensor, ...], grad: Tensor) -> Iterator[tuple[Tensor, Piece]]:
        g = rows(grad)
        if kept:
            yield module.weight, Outer(g, rows(kept[0]))
        if module.bias is not None:
            yield module.bias, Whole(g.sum(1))

"""The `Conv1D` of transformers' GPT-2: a linear layer whose weight lies the other way round."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from discreet.engine.clipping.contract import LAYERS, Listener, OutputRule, computes_as, rows
from discreet.engine.clipping.pieces import Outer, Piece, Whole


@LAYERS.register("conv1d")
class Conv1DRule(OutputRule):
    """y = x W + b with W [d, p]: dW = x^T g."""

    def matches(self, module: nn.Module) -> bool:
        if type(module).__name__ != "Conv1D":  # before the import: most models do not need it
            return False
        from transformers.pytorch_utils import Conv1D

        return computes_as(module, Conv1D)

    def keep(self, module: Any, given: Tensor, listener: Listener) -> tuple[Tensor, ...]:
        return (given,) if listener.trains(module.weight) else ()

    def pieces(self, module: Any, kept: tuple[Tensor, ...], grad: Tensor) -> Iterator[tuple[Tensor, Piece]]:
        g = rows(grad)
        if kept:
            yield module.weight, Outer(rows(kept[0]), g)
        yield module.bias, Whole(g.sum(1))

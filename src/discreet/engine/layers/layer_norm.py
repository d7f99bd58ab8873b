"""Layer normalisation with a learned scale and shift."""

from collections.abc import Iterator

from torch import Tensor, nn
from torch.nn import functional as F

from discreet.engine.clipping.contract import LAYERS, Listener, OutputRule, computes_as
from discreet.engine.clipping.pieces import Piece, Whole
from discreet.engine.clipping.products import wide


@LAYERS.register("layer-norm")
class LayerNormRule(OutputRule):
    """y = w * n(x) + b: dw = sum of g * n(x), db = sum of g. Computing n(x) again is cheaper than keeping it."""

    def matches(self, module: nn.Module) -> bool:
        return computes_as(module, nn.LayerNorm)

    def keep(self, module: nn.LayerNorm, given: Tensor, listener: Listener) -> tuple[Tensor, ...]:
        return (given,) if listener.trains(module.weight) else ()

    def pieces(self, module: nn.LayerNorm, kept: tuple[Tensor, ...], grad: Tensor) -> Iterator[tuple[Tensor, Piece]]:
        shape = module.normalized_shape
        if kept:
            normal = F.layer_norm(wide(kept[0]), shape, None, None, module.eps)
            yield module.weight, Whole(_by_record(normal.mul_(grad), shape))
        if module.bias is not None:
            yield module.bias, Whole(_by_record(grad, shape))


def _by_record(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The sum over all but the first and the normalised dimensions."""
    return tensor.reshape(tensor.shape[0], -1, *shape).sum(1)

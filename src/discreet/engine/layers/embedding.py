"""Embeddings: of tokens, and of positions whose ids are one row for all records."""

from collections.abc import Iterator

from torch import Tensor, nn

from discreet.engine.clipping.contract import LAYERS, Listener, OutputRule, computes_as, rows
from discreet.engine.clipping.pieces import Lookup, Piece


@LAYERS.register("embedding")
class EmbeddingRule(OutputRule):
    """Row i of the weight receives the gradients of all positions with id i, the padding's row none."""

    def matches(self, module: nn.Module) -> bool:
        # max_norm rewrites the weight in the forward and scale_grad_by_freq counts ids over the whole batch
        return computes_as(module, nn.Embedding) and module.max_norm is None and not module.scale_grad_by_freq

    def keep(self, module: nn.Embedding, given: Tensor, listener: Listener) -> tuple[Tensor, ...]:
        return (given,)

    def pieces(self, module: nn.Embedding, kept: tuple[Tensor, ...], grad: Tensor) -> Iterator[tuple[Tensor, Piece]]:
        ids, g = kept[0].reshape(len(grad), -1), rows(grad)
        if module.padding_idx is not None:
            g = g.masked_fill((ids == module.padding_idx).unsqueeze(2), 0)
        yield module.weight, Lookup(ids, g, module.num_embeddings)

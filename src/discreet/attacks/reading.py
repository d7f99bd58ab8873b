"""A model that reads on from where it stopped: many continuations of one text, each token computed once.

    reader = reader_of(model)
    start = reader.read(prefix_ids)                           # [1, T]
    ten = reader.read_on(start, rows=zeros(10), tokens=digits)  # ten continuations, one token each
    logits = reader.logits(ten)                               # [10, V]

An LSTM carries its state, a transformer the keys and values of its layers. Models that carry something else, or whose
carried state does not give the same answer as reading afresh, read every text again from its beginning: slow and right.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from discreet.models.adapters import inner
from discreet.models.language import hidden_states, output_layer
from discreet.models.lstm import LSTMLanguageModel
from discreet.models.pretrained import context_of, rows_of

LOGITS_AT_ONCE = 1 << 22
"""Logits computed at a time: bounds memory, and small enough to be still near the processor when they are summed."""


class Reading(NamedTuple):
    """Texts read so far: what the output layer sees at the last token of each, and what is carried on."""

    hidden: Tensor
    """[texts, width]"""
    kept: tuple[Tensor, ...]


class Reader(Protocol):
    """Reads texts token by token."""

    def read(self, ids: Tensor) -> Reading:
        """Texts [texts, T] of one length, from their beginning."""

    def read_on(self, reading: Reading, rows: Tensor, tokens: Tensor) -> Reading:
        """One more token for some of the texts; `rows` says which, and may name one several times."""


class Continuing:
    """What all readers share: from hidden states to probabilities."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model.eval()
        self.weight, self.bias = output_layer(model)
        self.context = context_of(inner(model))

    def logits(self, reading: Reading) -> Tensor:
        return torch.nn.functional.linear(reading.hidden, self.weight, self.bias).float()

    def log_probabilities(self, reading: Reading, rows: Tensor, tokens: Tensor) -> Tensor:
        """log p(token | text) for pairs of a text and a token; rows ascending."""
        found = torch.empty(len(rows))
        many = max(1, LOGITS_AT_ONCE // self.weight.shape[0])
        for first in range(0, len(reading.hidden), many):
            logits = torch.nn.functional.linear(reading.hidden[first : first + many], self.weight, self.bias).float()
            some = slice(*torch.searchsorted(rows, torch.tensor([first, first + many])).tolist())
            own = rows[some] - first
            wanted = logits[own, tokens[some]]
            highest = logits.amax(1, keepdim=True)
            total = logits.sub_(highest).exp_().sum(1).log_().add_(highest.squeeze(1))  # in place: half the time
            found[some] = wanted - total[own]
        return found


class StateReader(Continuing):
    """An LSTM with its state."""

    def read(self, ids: Tensor) -> Reading:
        return self._go(ids, None)

    def read_on(self, reading: Reading, rows: Tensor, tokens: Tensor) -> Reading:
        h, c = (state.index_select(1, rows) for state in reading.kept)
        return self._go(tokens[:, None], (h, c))

    def _go(self, ids: Tensor, state: Any) -> Reading:
        states, last = self.model.hidden(ids, state)  # type: ignore[operator]
        return Reading(states[:, -1], last)


class CacheReader(Continuing):
    """A transformer with the keys and values of its attention layers."""

    def read(self, ids: Tensor) -> Reading:
        from transformers import DynamicCache

        return self._go(ids, DynamicCache())

    def read_on(self, reading: Reading, rows: Tensor, tokens: Tensor) -> Reading:
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer, (keys, values) in enumerate(_pairs(reading.kept)):
            cache.update(keys.index_select(0, rows), values.index_select(0, rows), layer)
        return self._go(tokens[:, None], cache)

    def _go(self, ids: Tensor, cache: Any) -> Reading:
        states = inner(self.model).base_model(input_ids=ids, past_key_values=cache, use_cache=True).last_hidden_state
        kept = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
        return Reading(states[:, -1], tuple(kept))


class AgainReader(Continuing):
    """Any causal model: every text is read again from its beginning."""

    def read(self, ids: Tensor) -> Reading:
        return Reading(hidden_states(self.model, ids)[:, -1], (ids,))

    def read_on(self, reading: Reading, rows: Tensor, tokens: Tensor) -> Reading:
        return self.read(torch.cat((reading.kept[0].index_select(0, rows), tokens[:, None]), 1))


AnyReader = StateReader | CacheReader | AgainReader


@torch.inference_mode()
def reader_of(model: nn.Module) -> AnyReader:
    """The fastest reader that gives the answers of reading afresh."""
    model.eval()
    if isinstance(model, LSTMLanguageModel):
        return StateReader(model)
    again = AgainReader(model)
    ids = torch.arange(12).remainder(rows_of(model)).view(3, 4)
    rows, tokens = torch.tensor([2, 0, 0, 1]), torch.tensor([1, 2, 3, 0]).remainder(rows_of(model))
    want = again.read_on(again.read_on(again.read(ids), rows, tokens), rows, tokens)
    try:
        cached = CacheReader(model)
        got = cached.read_on(cached.read_on(cached.read(ids), rows, tokens), rows, tokens)
    except (AttributeError, TypeError, RuntimeError, ValueError, IndexError):  # carries something else
        return again
    return cached if torch.allclose(got.hidden, want.hidden, rtol=1e-3, atol=1e-3) else again


def _pairs(kept: Sequence[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    return zip(kept[::2], kept[1::2], strict=True)

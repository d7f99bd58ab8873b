"""Per-record gradients that are not written down: their norms, their products and their weighted sums.

A piece is what one use of a parameter adds to the parameter's gradient, for all records of a batch at once.

* `Outer` is a weight that multiplies (linear layers, an LSTM's gates): rows^T columns for each record.
* `Ragged` is the same where records have different numbers of rows (the output layer without ignored positions).
* `Lookup` is a weight whose rows are picked by ids (embeddings).
* `Whole` is a small parameter (bias, norm layers): the gradients themselves, [B, ...].

    piece = Outer(grad, x)                 # [B, T, p] and [B, T, d] for a weight [p, d]
    squares = piece.squares(costs)         # [B], squared norms
    piece.add_to(total, factors)           # total += sum over records of factor * gradient

`Outer` finds its norms either by instantiating the gradients, which it then keeps for the sum, or from the Gram
matrices: |sum_t g_t x_t^T|^2 = sum_{s,t} <g_s, g_t> <x_s, x_t>. How pieces of one parameter combine is in `joined`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from discreet.engine.clipping.costs import INSTANTIATE, Costs
from discreet.engine.clipping.products import (
    add_product,
    add_weighted,
    flat,
    gram_squares,
    instantiate,
    instantiate_each,
    precision_of,
    squares_of_rows,
    wide,
)


class Piece(ABC):
    """What one use of a parameter adds to the gradient of each record."""

    @property
    @abstractmethod
    def records(self) -> int:
        """How many records the batch has."""

    @abstractmethod
    def squares(self, costs: Costs) -> Tensor:
        """The squared norm of each record's gradient, [B]."""

    @abstractmethod
    def add_to(self, total: Tensor, factors: Tensor) -> None:
        """Adds the sum of the gradients, each times its record's factor, to `total` (contiguous)."""

    @abstractmethod
    def of_record(self, record: int) -> Tensor:
        """One record's gradient, written down."""

    @abstractmethod
    def without(self, dropped: Tensor) -> "Piece":
        """The same with the records marked in `dropped` [B] set to zero, whatever they held."""


class Whole(Piece):
    """Gradients written down: [B, *shape of the parameter]."""

    def __init__(self, gradients: Tensor) -> None:
        self.gradients = wide(gradients)

    @property
    def records(self) -> int:
        return len(self.gradients)

    def squares(self, costs: Costs) -> Tensor:
        return squares_of_rows(self.gradients.flatten(1))

    def add_to(self, total: Tensor, factors: Tensor) -> None:
        add_weighted(total, self.gradients, factors)

    def of_record(self, record: int) -> Tensor:
        return wide(self.gradients[record])

    def without(self, dropped: Tensor) -> Piece:
        return type(self)(_zeroed(self.gradients, dropped))


class Written(Whole):
    """Large gradients written down: they stay in the precision they were multiplied in, half of the memory."""

    def __init__(self, gradients: Tensor) -> None:
        self.gradients = gradients


class Product(Piece):
    """A weight that multiplies: norms from Gram matrices, or from the gradients written down, which are then kept.

    Gradients are written down in the precision that the layer computes in: under autocast in bfloat16, like those of a
    plain backward. The clip holds all the same, because what is added is what the norm was taken of. Norms from Gram
    matrices are of products that are taken again for the sum, so both are in single precision at least.
    """

    whole: Whole | None = None

    def __init__(self, rows: Tensor, columns: Tensor, dtype: torch.dtype | None, keep: object) -> None:
        self._rows, self._columns, self.keep = rows, columns, keep
        self.dtype = dtype or precision_of(rows, columns)

    @property
    def rows(self) -> Tensor:
        self._rows = wide(self._rows)
        return self._rows

    @property
    def columns(self) -> Tensor:
        self._columns = wide(self._columns)
        return self._columns

    def write(self, gradients: Tensor) -> Whole:
        """Keeps gradients that were written down in place of what they were made from."""
        self.whole = Written(gradients)
        self._rows = self._columns = gradients.new_empty(0)
        self.keep = None
        return self.whole


class Outer(Product):
    """rows^T columns, with rows [B, T, p] and columns [B, T, d] in any strides; `keep` is held alive with them."""

    def __init__(self, rows: Tensor, columns: Tensor, *, dtype: torch.dtype | None = None, keep: object = None) -> None:
        super().__init__(rows, columns, dtype, keep)

    @property
    def records(self) -> int:
        return len(self._rows) if self.whole is None else self.whole.records

    def squares(self, costs: Costs) -> Tensor:
        if self.whole is not None:
            return self.whole.squares(costs)
        way = costs.way(self._rows, self._columns, self.dtype)
        if way is not INSTANTIATE:
            return gram_squares(self.rows, self.columns, way.blocks)
        return self.write(instantiate(self._rows, self._columns, self.dtype)).squares(costs)

    def add_to(self, total: Tensor, factors: Tensor) -> None:
        if self.whole is not None:
            self.whole.add_to(total, factors)
        else:
            add_product(total, *(t.to(total.dtype) for t in flat(self.rows, self.columns, factors)))

    def of_record(self, record: int) -> Tensor:
        if self.whole is not None:
            return self.whole.of_record(record)
        return self.rows[record].t() @ self.columns[record]

    def without(self, dropped: Tensor) -> Piece:
        if self.whole is not None:
            return self.whole.without(dropped)
        return Outer(_zeroed(self.rows, dropped), _zeroed(self.columns, dropped))


class Ragged(Product):
    """rows^T columns where record i owns the next counts[i] rows of rows [N, p] and columns [N, d]."""

    def __init__(
        self,
        rows: Tensor,
        columns: Tensor,
        counts: Sequence[int],
        *,
        dtype: torch.dtype | None = None,
        keep: object = None,
    ) -> None:
        super().__init__(rows, columns, dtype, keep)
        self.counts = list(counts)
        self.starts = [0, *accumulate(self.counts)]

    @property
    def records(self) -> int:
        return len(self.counts)

    def rows_of(self, record: int) -> tuple[Tensor, Tensor]:
        own = slice(self.starts[record], self.starts[record + 1])
        return self.rows[own], self.columns[own]

    def squares(self, costs: Costs) -> Tensor:
        if self.whole is not None:
            return self.whole.squares(costs)
        parts = [self.rows_of(record) for record in range(self.records)]
        rows, columns = max(parts, key=lambda part: len(part[0]))
        if len(rows) and costs.way(rows.unsqueeze(0), columns.unsqueeze(0), self.dtype) is INSTANTIATE:
            return self.write(instantiate_each(parts, self.dtype)).squares(costs)
        return torch.stack([(rows @ rows.t()).mul_(columns @ columns.t()).sum() for rows, columns in parts])

    def add_to(self, total: Tensor, factors: Tensor) -> None:
        if self.whole is not None:
            self.whole.add_to(total, factors)
            return
        counts = torch.tensor(self.counts, device=factors.device)
        scale = factors.repeat_interleave(counts).to(total.dtype)
        add_product(total, self.rows.to(total.dtype), self.columns.to(total.dtype), scale)

    def of_record(self, record: int) -> Tensor:
        if self.whole is not None:
            return self.whole.of_record(record)
        rows, columns = self.rows_of(record)
        return rows.t() @ columns

    def without(self, dropped: Tensor) -> Piece:
        if self.whole is not None:
            return self.whole.without(dropped)
        rows = dropped.repeat_interleave(torch.tensor(self.counts, device=dropped.device))
        return Ragged(_zeroed(self.rows, rows), _zeroed(self.columns, rows), self.counts)


class Lookup(Piece):
    """Row ids[b, t] of the parameter [size, d] receives gradients[b, t]."""

    def __init__(self, ids: Tensor, gradients: Tensor, size: int) -> None:
        self.ids, self.gradients, self.size = ids, wide(gradients), size

    @property
    def records(self) -> int:
        return len(self.ids)

    def squares(self, costs: Costs) -> Tensor:
        """Adds up the gradients of equal ids of a record first: a row's norm is that of its sum."""
        records = self.ids.shape[0]
        offsets = torch.arange(records, device=self.ids.device).unsqueeze(1) * self.size
        own, place = torch.unique(self.ids + offsets, return_inverse=True)
        rows = self.gradients.new_zeros(len(own), self.gradients.shape[-1])
        rows.index_add_(0, place.flatten(), self.gradients.flatten(0, 1))
        squares = self.gradients.new_zeros(records)
        return squares.index_add_(0, own // self.size, rows.square_().sum(1))

    def add_to(self, total: Tensor, factors: Tensor) -> None:
        scaled = self.gradients.to(total.dtype) * factors.to(total.dtype)[:, None, None]
        total.index_add_(0, self.ids.flatten(), scaled.flatten(0, 1))

    def of_record(self, record: int) -> Tensor:
        gradients = self.gradients[record]
        return gradients.new_zeros(self.size, gradients.shape[-1]).index_add_(0, self.ids[record], gradients)

    def without(self, dropped: Tensor) -> Piece:
        return Lookup(self.ids, _zeroed(self.gradients, dropped), self.size)


def _zeroed(tensor: Tensor, dropped: Tensor) -> Tensor:
    """A copy without what the dropped records held: a product with zero would keep their NaN."""
    return tensor.masked_fill(dropped.view(-1, *[1] * (tensor.dim() - 1)), 0)

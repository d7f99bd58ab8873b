"""Norms, products and sums of gradients that are not written down are those of gradients that are."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from discreet.engine.clipping import products
from discreet.engine.clipping.costs import GRAMS, INSTANTIATE, Costs, Way
from discreet.engine.clipping.joined import inner, join, squares_of
from discreet.engine.clipping.pieces import Lookup, Outer, Piece, Ragged, Whole
from discreet.engine.clipping.products import gram_squares

SIZE, WIDTH = 7, 4
KINDS = ("whole", "outer", "outer time first", "ragged", "lookup")
exact = settings(derandomize=True, deadline=None, max_examples=40)


class Always(Costs):
    """One way for every shape."""

    def __init__(self, way: Way) -> None:
        super().__init__(measure=False)
        self.only = way

    def way(self, rows: Tensor, columns: Tensor, dtype: torch.dtype | None = None) -> Way:
        return self.only


def piece_of(kind: str, records: int, length: int, seed: int) -> tuple[Piece, Tensor]:
    """A piece of a parameter [SIZE, WIDTH] and its gradients written down."""
    random = torch.Generator().manual_seed(seed)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    if kind == "whole":
        dense = numbers(records, SIZE, WIDTH)
        return Whole(dense), dense
    if kind == "lookup":
        ids = torch.randint(SIZE, (records, length), generator=random)
        grads = numbers(records, length, WIDTH)
        return Lookup(ids, grads, SIZE), torch.nn.functional.one_hot(ids, SIZE).double().transpose(1, 2) @ grads
    if kind == "ragged":
        counts = torch.randint(length + 1, (records,), generator=random).tolist()
        rows, columns = numbers(sum(counts), SIZE), numbers(sum(counts), WIDTH)
        parts = zip(torch.split(rows, counts), torch.split(columns, counts), strict=True)
        return Ragged(rows, columns, counts), torch.stack([a.t() @ b for a, b in parts])
    if kind == "outer":
        rows, columns = numbers(records, length, SIZE), numbers(records, length, WIDTH)
    else:
        rows, columns = (numbers(length, records, size).transpose(0, 1) for size in (SIZE, WIDTH))
    return Outer(rows, columns), rows.transpose(1, 2) @ columns


def total_of(piece: Piece, factors: Tensor) -> Tensor:
    total = torch.ones(SIZE, WIDTH, dtype=torch.float64)
    piece.add_to(total, factors)
    return total - 1


shapes = {"records": st.integers(1, 4), "length": st.integers(1, 9), "seed": st.integers(0, 10**6)}
ways = st.sampled_from([INSTANTIATE, *GRAMS])


@exact
@given(kind=st.sampled_from(KINDS), way=ways, **shapes)
def test_a_piece_is_its_gradients(kind, way, records, length, seed) -> None:
    piece, dense = piece_of(kind, records, length, seed)
    factors = torch.linspace(0, 1, records, dtype=torch.float64)
    want = (dense * factors[:, None, None]).sum(0)
    torch.testing.assert_close(total_of(piece, factors), want)
    torch.testing.assert_close(piece.squares(Always(way)), dense.square().sum((1, 2)))
    torch.testing.assert_close(total_of(piece, factors), want)  # also after the norms have been taken
    for record in range(records):
        torch.testing.assert_close(piece.of_record(record), dense[record])
    assert piece.records == records


@exact
@given(a=st.sampled_from(KINDS), b=st.sampled_from(KINDS), way=ways, settled=st.booleans(), **shapes)
def test_products_of_pieces_are_those_of_their_gradients(a, b, way, settled, records, length, seed) -> None:
    (one, dense_one), (two, dense_two) = piece_of(a, records, length, seed), piece_of(b, records, length + 1, seed + 1)
    if settled:
        one.squares(Always(way))
    torch.testing.assert_close(inner(one, two), (dense_one * dense_two).sum((1, 2)))
    joined = join([one, two])
    want = (dense_one + dense_two).square().sum((1, 2))
    torch.testing.assert_close(squares_of(joined, Always(way)), want)
    factors = torch.ones(records, dtype=torch.float64)
    got = sum((total_of(piece, factors) for piece in joined), torch.zeros(SIZE, WIDTH, dtype=torch.float64))
    torch.testing.assert_close(got, (dense_one + dense_two).sum(0))


@exact
@given(kind=st.sampled_from(KINDS), settled=st.booleans(), **shapes)
def test_a_dropped_record_leaves_nothing_not_even_nan(kind, settled, records, length, seed) -> None:
    piece, dense = piece_of(kind, records, length, seed)
    for name in ("rows", "columns", "gradients"):
        if hasattr(piece, name) and not isinstance(piece, Ragged):
            getattr(piece, name)[0] = float("nan")
    if settled:
        piece.squares(Always(INSTANTIATE))
    dropped = torch.arange(records) == 0
    got = total_of(piece.without(dropped), torch.ones(records, dtype=torch.float64))
    torch.testing.assert_close(got, dense[1:].sum(0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("time_first", [False, True])
def test_gradients_written_down_one_by_one_are_those_of_a_batched_product(monkeypatch, time_first, dtype) -> None:
    random = torch.Generator().manual_seed(3)
    rows, columns = (torch.randn(3, 5, width, generator=random) for width in (SIZE, WIDTH))
    if time_first:
        rows, columns = (t.transpose(0, 1).contiguous().transpose(0, 1) for t in (rows, columns))
    batched = products.instantiate(rows, columns, dtype)
    taken: list[int] = []
    each = products.instantiate_each

    def counted(parts, dtype):
        taken.append(len(parts))
        return each(parts, dtype)

    monkeypatch.setattr(products, "instantiate_each", counted)
    monkeypatch.setattr(products, "LARGE_PRODUCT", 5 * SIZE * WIDTH)
    torch.testing.assert_close(products.instantiate(rows, columns, dtype), batched)
    assert taken == [3]
    assert products.instantiate(rows[:0], columns[:0], dtype).shape == (0, SIZE, WIDTH)


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 50])
@pytest.mark.parametrize("length", [1, 2, 5, 8, 13])
def test_gram_matrices_in_any_number_of_blocks_give_the_same_norms(blocks: int, length: int) -> None:
    torch.manual_seed(0)
    rows, columns = torch.randn(3, length, 4).double(), torch.randn(3, length, 5).double()
    want = (rows.transpose(1, 2) @ columns).square().sum((1, 2))
    torch.testing.assert_close(gram_squares(rows, columns, blocks), want)


@pytest.mark.parametrize("size", [1, 1024, 1030, 3_000_000])
def test_the_norm_of_many_numbers_is_right_to_less_than_the_slack(size: int) -> None:
    numbers = torch.rand(2, size, generator=torch.Generator().manual_seed(0))
    want = numbers.double().square().sum(1)
    torch.testing.assert_close(Whole(numbers).squares(Costs()), want, rtol=1e-6, atol=0)


@pytest.mark.parametrize("kind", ["outer", "ragged"])
def test_what_is_added_in_bfloat16_has_the_norm_that_was_clipped(kind: str) -> None:
    random = torch.Generator().manual_seed(0)
    rows, columns = (torch.randn(3, 40, size, generator=random) for size in (30, 20))
    counts = [40, 40, 40]
    flat = rows.flatten(0, 1), columns.flatten(0, 1)
    of = {"outer": Outer(rows.bfloat16(), columns), "ragged": Ragged(*flat, counts, dtype=torch.bfloat16)}
    piece = of[kind]
    squares = piece.squares(Always(INSTANTIATE))
    for record in range(3):
        total = torch.zeros(30, 20)
        piece.add_to(total, torch.eye(3)[record])
        torch.testing.assert_close(total.double().square().sum(), squares[record].double(), rtol=1e-6, atol=0)
        exact = rows[record].t() @ columns[record]
        assert 0 < float((total - exact).norm() / exact.norm()) < 0.01  # it was bfloat16, and near


def test_gram_matrices_are_not_taken_in_bfloat16() -> None:
    random = torch.Generator().manual_seed(0)
    rows, columns = (torch.randn(3, 40, size, generator=random).bfloat16() for size in (30, 20))
    want = (rows.double().transpose(1, 2) @ columns.double()).square().sum((1, 2))
    got = Outer(rows, columns).squares(Always(GRAMS[0]))
    torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=0)


def test_a_vocabulary_sized_gradient_is_never_written_down() -> None:
    for costs in (Costs(), Costs(measure=False)):
        assert costs.way(torch.zeros(2, 16, 8192), torch.zeros(2, 16, 64)) is not INSTANTIATE


def test_the_fixed_rule_writes_small_gradients_down() -> None:
    costs = Costs(measure=False)
    assert costs.way(torch.zeros(8, 128, 64), torch.zeros(8, 128, 64)) is INSTANTIATE


def test_the_fixed_rule_takes_gram_matrices_for_wide_layers_and_short_records() -> None:
    assert Costs(measure=False).way(torch.zeros(32, 35, 800), torch.zeros(32, 35, 200)) is GRAMS[-1]


def test_batches_of_another_size_are_not_measured_again() -> None:
    costs = Costs()
    assert costs.way(torch.zeros(2, 64, 4), torch.zeros(2, 64, 4)) in (INSTANTIATE, *GRAMS)
    (key,) = costs.table
    costs.table[key] = GRAMS[0]
    for records, length in ((1, 64), (9, 62), (3, 70)):
        assert costs.way(torch.zeros(records, length, 4), torch.zeros(records, length, 4)) is GRAMS[0]
    assert len(costs.table) == 1


@pytest.mark.parametrize("block", [1, 70, 10**6])
def test_half_precision_is_widened_some_rows_at_a_time_with_the_same_norms_and_sums(monkeypatch, block):
    monkeypatch.setattr(products, "BLOCK", block)
    half = torch.randn(7, 5, 6, generator=torch.Generator().manual_seed(1)).bfloat16()
    factors = torch.linspace(0, 1, 7)
    exact = half.double()
    assert torch.allclose(products.squares_of_rows(half.flatten(1)), exact.square().sum((1, 2)), rtol=1e-6)
    total = torch.ones(5, 6)
    products.add_weighted(total, half, factors)
    want = 1 + (exact * factors.double()[:, None, None]).sum(0)
    assert torch.allclose(total.double(), want, rtol=1e-5, atol=1e-6)
    assert products.squares_of_rows(half[:0].flatten(1)).shape == (0,)

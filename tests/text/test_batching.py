"""Batches hold every target once, one record a row, and depend on nothing but seed and epoch."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, SettingError
from discreet.text.batching import CALLS, NO_TARGET, Rows, Window, alike, batches, make_batch, plan_batches, windows
from discreet.text.tokenize import Encoded, SpecialIds

PAD = 10**6


def encoded_of(lengths: Any, authors: Any = None, ignored: Iterable[int] = (), ends: Iterable[int] = ()) -> Encoded:
    """Records of so many tokens, every token of the split with an id of its own; each third token is secret."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = np.arange(starts[-1], dtype=np.int32)
    skipped = np.isin(ids, list(ignored))
    none = np.zeros(len(lengths), np.int64)
    codes = np.full(len(lengths), -1) if authors is None else np.array(authors)
    names = tuple(str(number) for number in range(len(lengths)))
    people = tuple(f"author {number}" for number in range(int(codes.max(initial=-1)) + 1))
    special, sentences = SpecialIds(0, 1, PAD, 2), np.isin(ids, list(ends))
    authors = codes.astype(np.int32)
    return Encoded(ids, ids % 3 == 0, skipped, starts, names, authors, people, none, none, special, sentences)


LENGTHS = st.lists(st.integers(2, 25), max_size=40)
SIZES = st.one_of(
    st.builds(lambda n: {"batch_size": n}, st.integers(1, 7)),
    st.builds(lambda n: {"batch_tokens": n}, st.integers(25, 90)),
)
CHOICES = st.fixed_dictionaries(
    {
        "max_tokens": st.one_of(st.none(), st.integers(1, 30)),
        "seed": st.integers(0, 3),
        "epoch": st.integers(0, 3),
        "shuffle": st.booleans(),
        "bucket": st.booleans(),
    }
)


@given(LENGTHS, st.one_of(st.none(), st.integers(1, 30)), st.sets(st.integers(0, 300)), st.booleans())
@settings(derandomize=True, deadline=None, max_examples=150)
def test_windows_predict_every_token_after_the_first_exactly_once(lengths, most, ends, at_sentences):
    encoded = encoded_of(lengths, ends=ends)
    rows = [Window(*row) for row in windows(encoded, most, at_sentences=at_sentences).tolist()]
    for record, length in enumerate(lengths):
        mine = [row for row in rows if row.record == record]
        assert [t for row in mine for t in range(row.start + 1, row.end + 1)] == list(range(1, length))
        assert all(row.end - row.start <= (most or length) for row in mine)
        assert all(after.start == before.end for before, after in pairwise(mine))
        assert most is not None or len(mine) == 1


@given(st.integers(2, 120), st.integers(2, 40), st.sets(st.integers(0, 120)))
@settings(derandomize=True, deadline=None, max_examples=150)
def test_long_records_are_cut_after_a_sentence_if_one_ends_in_the_second_half_of_a_window(length, most, ends):
    rows = [Window(*row) for row in windows(encoded_of([length], ends=ends), most).tolist()]
    for row in rows[:-1]:
        possible = [at for at in ends if row.start + most // 2 < at <= row.start + most]
        assert row.end == max(possible, default=row.start + most)


def test_windows_of_the_longest_context_are_full():
    rows = windows(encoded_of([30, 5], ends=[7, 8]), 10, at_sentences=False)
    assert rows.tolist() == [[0, 0, 10], [0, 10, 20], [0, 20, 29], [1, 0, 4]]


@given(LENGTHS, SIZES, CHOICES, st.sets(st.integers(0, 200)), st.booleans())
@settings(derandomize=True, deadline=None, max_examples=200)
def test_an_epoch_has_every_target_once_and_no_row_has_two_records(lengths, size, choices, ignored, one_author):
    encoded = encoded_of(lengths, [n % 3 for n in range(len(lengths))], ignored)
    record_of = np.repeat(np.arange(len(lengths)), lengths)
    seen = []
    for batch in batches(encoded, plan_batches(encoded, **size, **choices, one_author=one_author)):
        inputs, targets = batch["input_ids"], batch["targets"]
        real = np.arange(inputs.shape[1]) < batch["lengths"][:, None]
        assert (batch["lengths"] > 0).all()
        assert batch["lengths"].max() == inputs.shape[1]
        assert (inputs[~real] == PAD).all()
        assert (targets[~real] == NO_TARGET).all()
        assert not batch["secret"][~real].any()
        rows, _ = np.nonzero(real)
        assert (record_of[inputs[real]] == batch["records"][rows]).all()
        counted = targets != NO_TARGET
        assert (targets[counted] == inputs[counted] + 1).all()
        assert (batch["secret"][real] == ((inputs[real] + 1) % 3 == 0)).all()
        assert (batch["input_secret"][real] == (inputs[real] % 3 == 0)).all()
        assert sorted((inputs[real & ~counted] + 1).tolist()) == sorted(set((inputs[real] + 1).tolist()) & ignored)
        assert not one_author or len(set((batch["records"] % 3).tolist())) == 1
        assert inputs.size <= size.get("batch_tokens", inputs.size)
        assert len(inputs) <= size.get("batch_size", len(inputs))
        seen += targets[counted].tolist()
    first = set(encoded.starts[:-1].tolist())
    assert sorted(seen) == [number for number in range(len(encoded.ids)) if number not in first | ignored]


@given(LENGTHS, SIZES, CHOICES)
@settings(derandomize=True, deadline=None, max_examples=50)
def test_the_plan_is_a_function_of_seed_and_epoch(lengths, size, choices):
    first = plan_batches(encoded_of(lengths), **size, **choices)
    second = plan_batches(encoded_of(lengths), **size, **choices)
    assert [rows.tolist() for rows in first] == [rows.tolist() for rows in second]


def flat(plan: Sequence[Rows]) -> list[int]:
    return [int(record) for rows in plan for record in rows[:, 0]]


@pytest.mark.parametrize("bucket", [True, False])
def test_other_epochs_and_other_seeds_have_another_order(bucket):
    encoded = encoded_of(np.random.default_rng(0).integers(2, 60, 500))
    orders = [
        flat(plan_batches(encoded, batch_size=8, seed=seed, epoch=epoch, bucket=bucket))
        for seed in range(2)
        for epoch in range(3)
    ]
    assert len({tuple(order) for order in orders}) == 6
    still = [flat(plan_batches(encoded, batch_size=8, epoch=e, bucket=bucket, shuffle=False)) for e in (0, 1)]
    assert still[0] == still[1]


def test_every_record_comes_first_equally_often():
    """20 like records, batches of 5: each is in the first batch of 1/4 of all epochs, within 5 standard deviations.

    For a true shuffle one of 20 records is outside with probability 1.2e-5; the seeds are fixed.
    """
    encoded, epochs = encoded_of([5] * 20), 800
    first = [plan_batches(encoded, batch_size=5, epoch=epoch)[0][:, 0] for epoch in range(epochs)]
    counts = np.bincount(np.concatenate(first), minlength=20)
    assert np.abs(counts - epochs / 4).max() < 5 * np.sqrt(epochs * 3 / 16)


def test_any_two_like_records_share_a_batch_equally_often():
    """A record meets each of 19 others in 4 of 19 epochs, within 5 standard deviations; false alarm 1.1e-5."""
    encoded, epochs, companions = encoded_of([5] * 20), 800, np.zeros(20)
    for epoch in range(epochs):
        for rows in plan_batches(encoded, batch_size=5, epoch=epoch):
            if 0 in rows[:, 0]:
                companions[rows[:, 0]] += 1
    assert companions[0] == epochs
    assert np.abs(companions[1:] - epochs * 4 / 19).max() < 5 * np.sqrt(epochs * 4 * 15) / 19


def test_buckets_do_not_put_short_batches_first():
    """Lengths of the batches of an epoch in order: no trend (rank correlation within 5 / sqrt(batches))."""
    encoded = encoded_of(np.random.default_rng(1).integers(2, 200, 8000))
    longest = np.array([rows[:, 2].max() for rows in plan_batches(encoded, batch_size=16)])
    ranks = longest.argsort(kind="stable").argsort()
    trend = np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]
    assert abs(trend) < 5 / np.sqrt(len(ranks))


def padding(encoded: Encoded, **choices: Any) -> float:
    plan = plan_batches(encoded, **choices)
    real = sum(int((rows[:, 2] - rows[:, 1]).sum()) for rows in plan)
    return 1 - real / sum(len(rows) * int((rows[:, 2] - rows[:, 1]).max()) for rows in plan)


@pytest.mark.parametrize("size", [{"batch_size": 16}, {"batch_tokens": 16 * 60}])
def test_buckets_pad_less_than_a_sixth_where_unsorted_batches_pad_half(size):
    lengths = np.minimum(2 + np.random.default_rng(2).lognormal(3.5, 0.8, 4000), 900).astype(int)
    encoded = encoded_of(lengths)
    assert padding(encoded, **size, bucket=False) > 1 / 2
    assert padding(encoded, **size, bucket=True) < 1 / 6
    assert padding(encoded, **size, bucket=True, shuffle=False) < 1 / 16


def test_a_batch_of_one_author_never_holds_another_and_all_are_there():
    authors = np.random.default_rng(3).integers(0, 7, 300)
    encoded = encoded_of([6] * 300, authors)
    plan = plan_batches(encoded, batch_size=8, one_author=True)
    whose = [set(authors[rows[:, 0]].tolist()) for rows in plan]
    assert all(len(people) == 1 for people in whose)
    assert sorted(flat(plan)) == list(range(300))
    assert [min(people) for people in whose] != sorted(min(people) for people in whose)


def test_batches_of_one_author_need_authors():
    with pytest.raises(InputError, match="record 1 has none"):
        plan_batches(encoded_of([4, 4], [0, -1]), batch_size=2, one_author=True)


def test_a_resumed_epoch_goes_on_with_the_same_batches():
    encoded = encoded_of(range(2, 40))
    plan = plan_batches(encoded, batch_size=4, epoch=3)
    whole = [batch["input_ids"].tolist() for batch in batches(encoded, plan)]
    assert [batch["input_ids"].tolist() for batch in batches(encoded, plan, start=5)] == whole[5:]


def test_arrays_have_the_shapes_and_types_that_torch_wants():
    batch = make_batch(encoded_of([4, 3]), [Window(0, 0, 3), Window(1, 0, 2)])
    assert batch["input_ids"].tolist() == [[0, 1, 2], [4, 5, PAD]]
    assert batch["targets"].tolist() == [[1, 2, 3], [5, 6, NO_TARGET]]
    assert batch["secret"].tolist() == [[False, False, True], [False, True, False]]
    assert batch["lengths"].tolist() == [3, 2]
    assert batch["records"].tolist() == [0, 1]
    assert {name: array.dtype for name, array in batch.items()} == {
        "input_ids": np.int64,
        "targets": np.int64,
        "secret": np.bool_,
        "input_secret": np.bool_,
        "lengths": np.int64,
        "records": np.int64,
    }
    assert make_batch(encoded_of([4, 3]), [Window(0, 0, 3), Window(1, 0, 2)], pad=7)["input_ids"][1, 2] == 7


@pytest.mark.parametrize(
    ("choices", "complaint"),
    [
        ({}, "either batch_size"),
        ({"batch_size": 2, "batch_tokens": 9}, "either batch_size"),
        ({"batch_size": 0}, "at least one window"),
        ({"batch_tokens": 3}, "a window has 4 tokens"),
        ({"batch_size": 2, "max_tokens": 0}, "at least one token"),
    ],
)
def test_sizes_that_make_no_sense_are_named(choices, complaint):
    with pytest.raises(SettingError, match=complaint):
        plan_batches(encoded_of([5]), **choices)


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 60)), max_size=8),
    most=st.integers(1, 400),
)
def test_units_are_cut_into_batches_at_the_least_cost_of_all_ways(sizes, most):
    """Against all ways to cut the sorted units, and a unit that is too large is alone."""
    rows, lengths = (np.array([size[of] for size in sizes], np.int64) for of in range(2))
    made = [own.tolist() for own in alike(rows, lengths, most)]
    assert sorted(unit for own in made for unit in own) == list(range(len(sizes)))

    def cost(cut: Iterable[Sequence[int]]) -> float:
        total = 0
        for own in cut:
            tokens = len(own) * max(rows[own]) * max(lengths[own])
            if tokens > most and len(own) > 1:
                return float("inf")
            total += tokens + CALLS * max(lengths[own])
        return total

    order = sorted(range(len(sizes)), key=lambda unit: sizes[unit])
    ways = []
    for mask in range(2 ** max(0, len(order) - 1)):
        edges = [0, *(place + 1 for place in range(len(order) - 1) if mask >> place & 1), len(order)]
        ways.append([order[begin:end] for begin, end in pairwise(edges) if begin < end])
    assert cost(made) == min(cost(way) for way in ways)

"""The triplet loss: what it is, where it ends, and the texts that are read beside a batch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.mechanisms.regularized import Item
from discreet.mechanisms.triplet import Auxiliary, TripletOptions, triplet_loss
from discreet.text.batching import windows
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer

NUMBERS = st.floats(-1e6, 1e6, width=32)


def by_hand(states: torch.Tensor, labels: list[int], texts: int, margin: float) -> torch.Tensor:
    """Equation 3 over all pairs, a pair at a time."""
    units = states / states.norm(dim=1, keepdim=True)
    parts = []
    for x in range(texts):
        far = [(units[x] - units[a]).square().sum() for a in range(len(labels)) if labels[a] != labels[x]]
        near = [(units[x] - units[a]).square().sum() for a in range(len(labels)) if a != x and labels[a] == labels[x]]
        if far and near:
            parts.append((torch.stack(far).mean() - torch.stack(near).mean() + margin).clamp(min=0))
    return torch.stack(parts).mean()


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_the_loss_and_its_gradient_are_those_of_a_loop_over_pairs(margin):
    torch.manual_seed(0)
    states, labels = torch.randn(7, 5, dtype=torch.float64, requires_grad=True), [0, 0, 0, 1, 1, 2, 0]
    loss = triplet_loss(states, torch.tensor(labels), 4, margin)
    expected = by_hand(states, labels, 4, margin)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-6)
    own, theirs = (torch.autograd.grad(value, states)[0] for value in (loss, expected))
    torch.testing.assert_close(own, theirs, rtol=1e-4, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    states=arrays(np.float32, (6, 3), elements=NUMBERS),
    labels=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    texts=st.integers(1, 6),
    margin=st.floats(0, 1),
)
def test_the_loss_is_bounded_and_has_a_gradient_for_any_states(states, labels, texts, margin):
    given_states = torch.from_numpy(states.copy()).requires_grad_()
    loss = triplet_loss(given_states, torch.tensor(labels), texts, margin)
    assert 0 <= float(loss.detach()) <= 4 + margin + 1e-4
    loss.backward()
    assert torch.isfinite(given_states.grad).all()


def test_going_down_the_loss_ends_where_the_same_author_is_farther_by_the_margin():
    torch.manual_seed(0)
    labels = torch.tensor([0] * 6 + [1, 2, 3])
    states = (torch.randn(9, 8) + 3 * torch.nn.functional.one_hot(labels, 8)).requires_grad_()
    optimizer = torch.optim.SGD([states], 5.0)
    losses = []
    for _ in range(300):
        optimizer.zero_grad()
        loss = triplet_loss(states, labels, 6, 0.2)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[0] > 1
    assert losses[-1] == 0
    assert states.detach().norm(dim=1).max() < 100


def test_texts_that_lack_a_partner_of_either_kind_do_not_count():
    states = torch.randn(3, 4)
    assert float(triplet_loss(states, torch.tensor([0, 0, 0]), 3, 0.1)) == 0
    assert float(triplet_loss(states, torch.tensor([0, 1, 2]), 3, 0.1)) == 0


@pytest.fixture(scope="module")
def examples():
    encoder = Encoder(load_tokenizer("gpt2"))
    counts = {"a": 5, "b": 3, "c": 1}
    records = [
        Record(f"{author}{n}", "word " * (n + 2), author=author) for author in counts for n in range(counts[author])
    ]
    return encoder.encode_all((record, ()) for record in records)


def drawn(examples, records: list[int], number=(0, 0), **changes):
    rows = windows(examples)[records]
    auxiliary = Auxiliary(examples, TripletOptions(name="triplet", **changes), seed=1)
    return rows, auxiliary(Item(rows, 1.0, number))


def test_beside_a_batch_of_one_author_stand_texts_of_others_no_longer_than_its_own(examples):
    rows, beside = drawn(examples, [1, 2], auxiliary=1.0)
    assert len(beside) == 2
    assert (examples.authors[beside[:, 0]] != 0).all()
    assert (beside[:, 2] - beside[:, 1]).max() <= (rows[:, 2] - rows[:, 1]).max()


@pytest.mark.parametrize("number", range(5))
def test_an_author_with_one_text_in_the_batch_gets_another_of_their_own(examples, number):
    _, beside = drawn(examples, [6], (0, number))
    authors = examples.authors[beside[:, 0]]
    assert 6 not in beside[:, 0]
    assert (authors == 1).any()
    assert (authors != 1).any()


def test_an_author_of_a_single_text_gets_no_copy_of_it(examples):
    _, beside = drawn(examples, [8])
    assert 8 not in beside[:, 0]
    assert len(beside) == 1


def test_the_same_batch_gets_the_same_texts_and_another_epoch_others(examples):
    draws = [drawn(examples, [0, 1, 2, 3], (epoch, 7), auxiliary=1.0)[1].tolist() for epoch in (0, 0, 1, 2, 3)]
    assert draws[0] == draws[1]
    assert any(other != draws[0] for other in draws[2:])

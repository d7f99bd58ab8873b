"""The triplet loss: what it is, where it ends, and the texts that are read beside a batch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.mechanisms.regularized import Item
from discreet.mechanisms.triplet import Auxiliary, TripletOptions, triplet_loss
from discreet.models.discriminator import Whitening
from discreet.text.batching import windows
from discreet.text.records import Record
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer
from tests.mechanisms.voices import AUTHORS, WIDTH, forgotten

NUMBERS = st.floats(-1e6, 1e6, width=32)


def by_hand(states: torch.Tensor, labels: list[int], texts: int, margin: float) -> torch.Tensor:
    """The loss a pair at a time: equation 3 for each text, and the hinge of the mean."""
    units = states / states.norm(dim=1, keepdim=True)
    gaps = []
    for x in range(texts):
        far = [(units[x] - units[a]).square().sum() for a in range(len(labels)) if labels[a] != labels[x]]
        near = [(units[x] - units[a]).square().sum() for a in range(len(labels)) if a != x and labels[a] == labels[x]]
        if far and near:
            gaps.append(torch.stack(far).mean() - torch.stack(near).mean())
    return (torch.stack(gaps).mean() + margin).clamp(min=0)


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_the_loss_and_its_gradient_are_those_of_a_loop_over_pairs(margin):
    torch.manual_seed(0)
    labels = [0, 0, 0, 1, 1, 2, 0]
    states = (torch.randn(7, 5) + 3 * torch.nn.functional.one_hot(torch.tensor(labels), 5)).double().requires_grad_()
    loss = triplet_loss(states, torch.tensor(labels), 4, margin)
    expected = by_hand(states, labels, 4, margin)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-5, atol=1e-6)
    assert expected > 0
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
    assert given_states.grad is not None
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


def test_one_text_near_another_of_its_author_is_no_reason_to_push_where_the_batch_tells_nothing():
    states = torch.tensor([[1.0, 0], [1, 0], [-1, 0], [-1, 0], [0, 1], [0, -1]])
    labels = torch.tensor([0, 0, 0, 0, 1, 1])
    assert float(triplet_loss(states, labels, 4, 0.0)) == 0
    assert float(triplet_loss(states[:2], labels[:2], 2, 0.0)) == 0  # nobody else is there
    assert float(triplet_loss(states[[0, 1, 4]], labels[[0, 1, 4]], 2, 0.0)) > 0


def test_what_is_not_needed_to_predict_is_forgotten():
    """With the seeds 0, 1 and 2 a probe named .41, .40 and .30 of the authors, and .09, .10 and .16 once hidden."""
    torch.manual_seed(0)
    plain, _ = forgotten()
    torch.manual_seed(0)
    whitening = Whitening(WIDTH)

    def of_one_and_of_others() -> torch.Tensor:
        labels = torch.randint(AUTHORS, (48,))
        labels[:32] = labels[0]
        return labels

    def privacy(states: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        whitening.watch(states.detach())
        return triplet_loss(whitening(states), labels, 32, 0.0)

    hidden, error = forgotten(privacy, of_one_and_of_others)
    assert plain > 0.35
    assert hidden < 0.2  # chance is .083
    assert error < 0.1  # what is said has a variance of 1


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


def test_beside_a_batch_of_many_authors_stands_another_text_of_some_of_them(examples):
    _, beside = drawn(examples, [0, 1, 5, 8], auxiliary=1.0)
    assert len(beside) == 3  # the third author has no other text
    assert sorted(examples.authors[beside[:, 0]]) == [0, 0, 1]
    assert not set(beside[:, 0]) & {0, 1, 5, 8}


def test_auxiliary_texts_are_about_as_long_as_those_of_the_batch():
    encoder = Encoder(load_tokenizer("gpt2"))
    records = [Record(str(n), "word " * (1 + n % 50), author="ab"[n // 500]) for n in range(1000)]
    many = encoder.encode_all((record, ()) for record in records)
    for batch in ([10, 60, 110, 160], [40, 90, 540, 590]):
        rows, beside = drawn(many, batch, auxiliary=1.0)
        lengths = rows[:, 2] - rows[:, 1]
        assert abs(many.starts[beside[:, 0] + 1] - many.starts[beside[:, 0]] - 1 - lengths[0]).max() <= 1


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

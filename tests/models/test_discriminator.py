"""The discriminator's losses are the paper's, and with many classes it stands for all of them by a few."""

import math

import pytest
import torch
from torch import nn

from discreet.models.discriminator import Discriminator, Memory, Whitening, frozen


def made(classes: int, sample: int = 64, layers: int = 1) -> Discriminator:
    """One that has an opinion; a new one has none."""
    torch.manual_seed(0)
    discriminator = Discriminator(6, classes, hidden=8, layers=layers, sample=sample)
    nn.init.normal_(discriminator.rows.weight, std=0.35)
    return discriminator


def batch(classes: int, rows: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randn(rows, 6, requires_grad=True), torch.randint(classes, (rows,))


def all_logits(discriminator: Discriminator, states: torch.Tensor) -> torch.Tensor:
    found: torch.Tensor = discriminator.trunk(states)
    return found @ discriminator.rows.weight.t() + discriminator.biases.weight.t()


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_both_losses_and_their_gradients_are_those_of_the_paper(layers):
    discriminator, (states, labels) = made(7, layers=layers), batch(7)
    logs = all_logits(discriminator, states).log_softmax(1)
    wanted = {
        discriminator.cross_entropy: -logs.gather(1, labels[:, None]).mean(),
        discriminator.unevenness: -logs.mean(1).mean() - math.log(7),
    }
    for loss, expected in wanted.items():
        torch.testing.assert_close(loss(states, labels), expected)
        own = torch.autograd.grad(loss(states, labels), states)[0]
        torch.testing.assert_close(own, torch.autograd.grad(expected, states, retain_graph=True)[0])


def test_unevenness_is_nothing_where_the_discriminator_only_guesses_and_more_elsewhere():
    """A new discriminator has learned nothing that a language model should change for."""
    states, labels = batch(7)
    assert made(7).unevenness(states, labels) > 0
    new = Discriminator(6, 7, hidden=8, layers=1, sample=64)
    assert new.unevenness(states, labels).abs() < 1e-6


def test_the_advantage_is_what_it_knows_beyond_the_shares_with_its_gradient():
    states, _ = batch(7)
    shares = torch.tensor([0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05])
    own = Discriminator(6, 7, hidden=8, layers=1, sample=64, shares=shares)
    nn.init.normal_(own.rows.weight, std=0.5)
    logs = (all_logits(own, states) + shares.log()).log_softmax(1)
    labels = (logs - shares.log()).argmax(1)  # those of whom it thinks most, beyond their share
    wanted = (logs.gather(1, labels[:, None]).squeeze(1) - shares.log()[labels]).mean()
    assert wanted > 0
    torch.testing.assert_close(own.advantage(states, labels), wanted)
    found = torch.autograd.grad(own.advantage(states, labels), states)[0]
    torch.testing.assert_close(found, torch.autograd.grad(wanted, states)[0])


def test_wrong_opinions_are_no_advantage_and_change_nothing():
    """They are what a language model would change for in vain; their unevenness is not nothing."""
    torch.manual_seed(3)
    states, labels = torch.randn(512, 6, requires_grad=True), torch.randint(7, (512,))
    own = made(7)
    assert own.unevenness(states, labels) > 0.05
    advantage = own.advantage(states, labels)
    assert advantage == 0
    assert (torch.autograd.grad(advantage, states)[0] == 0).all()


@pytest.mark.parametrize("classes", [7, 1000])
def test_who_has_no_opinion_has_no_advantage_also_over_classes_of_unlike_size(classes):
    """With 1,000 only some are drawn; what they stand for is right on average."""
    torch.manual_seed(0)
    shares = torch.rand(classes) + 0.5
    shares /= shares.sum()
    new = Discriminator(6, classes, hidden=8, layers=1, sample=128, shares=shares)
    states, labels = torch.randn(2000, 6), torch.multinomial(shares, 2000, replacement=True)
    assert float(new.advantage(states, labels).detach()) < (1e-5 if classes == 7 else 0.1)


def test_weight_decay_keeps_it_from_knowing_by_heart_what_states_do_not_tell():
    """Labels drawn by chance: all it can do is to remember them."""
    torch.manual_seed(0)
    states, labels = torch.randn(64, 6), torch.randint(20, (64,))
    surprise = {}
    for decay in (0.0, 5.0):
        torch.manual_seed(1)
        own = Discriminator(6, 20, hidden=64, layers=1, sample=64)
        optimizers = own.optimizers(0.01, decay)
        for _ in range(300):
            own.zero_grad(set_to_none=True)
            own.cross_entropy(states, labels).backward()
            for optimizer in optimizers:
                optimizer.step()
        surprise[decay] = float(own.unevenness(torch.randn(64, 6), labels).detach())
    assert surprise[5.0] < surprise[0.0] / 2


def test_classes_of_unlike_size_leave_no_unevenness_where_states_tell_nothing():
    """It learns the sizes from labels alone; what it is told of them is not counted against the states."""
    torch.manual_seed(0)
    shares = torch.tensor([0.7, 0.2, 0.1])
    found = {}
    for name, given in (("told", shares), ("not told", None)):
        own = Discriminator(4, 3, hidden=8, layers=0, sample=16, shares=given)
        nn.init.zeros_(own.rows.weight)
        optimizers = own.optimizers(0.05)
        for _ in range(300):
            labels = torch.multinomial(shares, 64, replacement=True)
            own.zero_grad(set_to_none=True)
            own.cross_entropy(torch.zeros(64, 4), labels).backward()
            for optimizer in optimizers:
                optimizer.step()
        found[name] = float(own.unevenness(torch.zeros(3, 4), torch.arange(3)).detach())
        assert own.first_choice(torch.zeros(1, 4)).item() == 0
    assert found["told"] < 0.02
    assert found["not told"] > 0.3  # log(1/3) less the mean of log shares is .32


def test_a_few_drawn_classes_stand_for_all_of_them_on_average():
    """False-alarm rate: the bounds are six standard errors, below one in a hundred million for each of ten numbers."""
    discriminator, (states, labels) = made(50, sample=16), batch(50)
    logits = all_logits(discriminator, states).detach()
    with torch.no_grad():
        drawn = [discriminator.logits(states, labels) for _ in range(4000)]
    for values, expected in (
        (torch.stack([own.log_total().exp() for own in drawn]), logits.exp().sum(1)),
        (torch.stack([own.mean(50) for own in drawn]), logits.mean(1)),
    ):
        error = values.std(0) / math.sqrt(len(drawn))
        assert ((values.mean(0) - expected).abs() < 6 * error).all()


def test_a_step_touches_only_the_rows_that_were_drawn():
    discriminator, (states, labels) = made(5000, sample=16), batch(5000)
    before = discriminator.rows.weight.detach().clone()
    discriminator.cross_entropy(states, labels).backward()
    for optimizer in discriminator.optimizers(0.1):
        optimizer.step()
    moved = (discriminator.rows.weight != before).any(1)
    assert moved[labels].all()
    assert moved.sum() <= 16 + len(labels)


def test_gradients_go_through_a_frozen_discriminator_and_not_into_it():
    discriminator, (states, labels) = made(7), batch(7)
    with frozen(discriminator):
        discriminator.unevenness(states, labels).backward()
    assert states.grad is not None
    assert all(parameter.grad is None and parameter.requires_grad for parameter in discriminator.parameters())


def test_whitened_states_have_mean_0_deviation_1_and_no_correlations():
    torch.manual_seed(0)
    states = torch.randn(400, 3) @ torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.1]]) + 5
    whitening = Whitening(3)
    for part in states.split(100):
        whitening.watch(part)
    white = whitening(states)
    torch.testing.assert_close(white.mean(0), torch.zeros(3), atol=0.2, rtol=0)
    torch.testing.assert_close(white.t().cov(), torch.eye(3), atol=0.15, rtol=0)


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_whitened_states_are_the_same_whether_states_are_small_or_large(size):
    torch.manual_seed(0)
    states = torch.randn(50, 4) + torch.arange(4)
    whitenings = [Whitening(4), Whitening(4)]
    for whitening, factor in zip(whitenings, (1.0, size), strict=True):
        whitening.watch(factor * states)
    first, second = whitenings
    torch.testing.assert_close(second(size * states), first(states), rtol=2e-2, atol=2e-2)


def test_states_that_are_all_the_same_can_be_whitened():
    whitening = Whitening(4)
    for _ in range(3):
        whitening.watch(torch.ones(5, 4))
    assert torch.isfinite(whitening(torch.ones(5, 4))).all()


def test_it_learns_to_tell_classes_apart_and_names_them():
    discriminator, (_, labels) = made(4), batch(4, rows=64)
    states = torch.nn.functional.one_hot(labels, 6).float() + 0.1 * torch.randn(64, 6)
    optimizers = discriminator.optimizers(0.02)
    for _ in range(60):
        discriminator.zero_grad()
        discriminator.cross_entropy(states, labels).backward()
        for optimizer in optimizers:
            optimizer.step()
    assert (discriminator.first_choice(states) == labels).all()


def test_memory_keeps_the_last_states_with_their_labels():
    memory = Memory(2, most=5)
    for number in range(4):
        labels = torch.tensor([2 * number, 2 * number + 1])
        memory.add(labels[:, None].expand(2, 2).float(), labels)
    states, labels = memory.draw(400)
    assert set(labels.tolist()) == {3, 4, 5, 6, 7}  # a label is missed by chance once in 10^38
    assert (states == labels[:, None]).all()


def test_a_batch_larger_than_the_memory_leaves_its_end_there():
    memory = Memory(1, most=3)
    memory.add(torch.arange(8.0)[:, None], torch.arange(8))
    assert sorted(memory.labels.tolist()) == [5, 6, 7]


def test_memory_that_is_not_full_yet_gives_only_what_it_has():
    memory = Memory(1, most=100)
    memory.add(torch.ones(2, 1), torch.tensor([1, 2]))
    assert set(memory.draw(50)[1].tolist()) <= {1, 2}

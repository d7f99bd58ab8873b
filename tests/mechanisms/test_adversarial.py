"""What adversarial training is for: hidden states that tell less of the author to an attacker who comes later."""

from typing import Any

import pytest
import torch
from torch import Tensor

from discreet.mechanisms.adversarial import AdversarialOptions, Opponent
from discreet.mechanisms.train import train
from discreet.models.discriminator import frozen
from tests.mechanisms.styles import probed, settings, styles
from tests.mechanisms.voices import AUTHORS, WIDTH, forgotten


def test_a_fresh_probe_reads_less_of_the_author_from_an_adversarial_model_than_from_a_plain_one(tmp_path):
    """The setting was searched for, in many others a probe reads as much: this holds the mechanism to what it can do.

    With the seeds 5, 1 and 2 the probe named 1.00, .85 and .97 of the authors of the plain model's texts, and .73, .57
    and .78 of the other's.
    """
    own = settings(epochs=25, batch_size=16, learning_rate=0.01)
    discriminator = {"hidden": 64, "memory": 128, "learning_rate": 0.005}
    hiding = {
        "name": "adversarial",
        "weight": 0.7,
        "schedule": "constant",
        "batches": "mixed",
        "discriminator": discriminator,
    }
    corpus = styles(160)
    mechanisms: dict[str, Any] = {"plain": "none", "hiding": hiding}
    runs = [train(corpus, "nothing", mechanisms[n], output=tmp_path / n, progress=False, **own) for n in mechanisms]
    plain, hidden = (probed(run) for run in runs)
    assert plain > 0.8
    assert hidden < plain - 0.1


def test_what_is_not_needed_to_predict_is_forgotten():
    """With the seeds 0, 1 and 2 a probe named .41, .40 and .30 of the authors, and .08 each time once hidden."""
    torch.manual_seed(0)
    plain, error = forgotten()
    torch.manual_seed(0)
    own = {"name": "adversarial", "discriminator": {"hidden": 32, "memory": 512, "batch": 64}}
    opponent = Opponent(WIDTH, torch.full((AUTHORS,), 1 / AUTHORS), AdversarialOptions.model_validate(own), seed=0)

    def privacy(states: Tensor, labels: Tensor) -> Tensor:
        opponent.meet(states.detach(), labels)
        with frozen(opponent.discriminator):
            return opponent.privacy(states, labels)

    hidden, other = forgotten(privacy)
    assert plain > 0.35
    assert hidden < 0.2  # chance is .083
    assert other < 2 * error


def test_the_discriminator_learns_from_states_and_leaves_no_gradient_in_the_model():
    options = AdversarialOptions.model_validate({"name": "adversarial", "discriminator": {"memory": 8, "batch": 4}})
    opponent = Opponent(5, torch.full((3,), 1 / 3), options, seed=1)
    before = {name: value.clone() for name, value in opponent.discriminator.named_parameters()}
    states = torch.randn(6, 5, requires_grad=True)
    for _ in range(2):  # a new one has no opinion of any author, and at first only that changes
        opponent.meet(states.detach(), torch.tensor([0, 1, 2, 0, 1, 2]))
    assert states.grad is None
    assert all(not torch.equal(before[name], value) for name, value in opponent.discriminator.named_parameters())


def test_without_memory_it_learns_from_the_batch_at_hand():
    options = AdversarialOptions.model_validate({"name": "adversarial", "discriminator": {"memory": 0, "updates": 2}})
    opponent = Opponent(5, torch.full((3,), 1 / 3), options, seed=1)
    assert opponent.memory is None
    opponent.meet(torch.randn(4, 5), torch.tensor([0, 0, 0, 0]))
    assert opponent.take()["discriminator_loss"] > 0


def test_the_discriminator_learns_in_every_so_many_steps_and_remembers_all_of_them():
    options = AdversarialOptions.model_validate({"name": "adversarial", "discriminator": {"every": 3, "memory": 64}})
    opponent = Opponent(5, torch.full((3,), 1 / 3), options, seed=1)
    learned = []
    for _ in range(7):
        before = opponent.discriminator.rows.weight.clone()
        opponent.meet(torch.randn(4, 5), torch.tensor([0, 1, 2, 0]))
        opponent.hiding.add(torch.tensor(0.0))
        learned.append(not torch.equal(before, opponent.discriminator.rows.weight))
    assert learned == [True, False, False, True, False, False, True]
    assert opponent.memory is not None
    assert int(opponent.memory.count) == 28
    assert opponent.learning.steps == 3


def test_an_advantage_is_over_texts_that_were_not_learned_from():
    """Two that meet different texts last have learned the same, and remember them for the next time."""
    own = {"name": "adversarial", "loss": "advantage", "discriminator": {"memory": 64}}
    labels, learned = torch.tensor([0, 1, 2, 0]), []
    for last in (0.0, 100.0):
        opponent = Opponent(5, torch.full((3,), 1 / 3), AdversarialOptions.model_validate(own), seed=1)
        assert opponent.memory is not None
        torch.manual_seed(3)
        opponent.meet(torch.randn(4, 5), labels)
        assert opponent.learning.steps == 0  # there was nothing to learn from yet
        opponent.meet(torch.randn(4, 5) + last, labels)
        assert opponent.learning.steps == 1
        assert opponent.memory.held == 8
        learned.append([value.clone() for value in opponent.discriminator.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*learned, strict=True))


def test_an_advantage_needs_a_memory():
    own = {"name": "adversarial", "loss": "advantage", "discriminator": {"memory": 0}}
    with pytest.raises(ValueError, match="must not learn from the batch at hand"):
        AdversarialOptions.model_validate(own)

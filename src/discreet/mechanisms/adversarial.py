"""Adversarial training (Mireshghallah et al. 2021, section 2.1): states that do not tell a discriminator the author.

Each step, on one batch and one forward pass of the language model:

1. The discriminator learns to name the author from the state h of each text: it goes down -log Pr(y|h).
2. The language model learns to predict, and to leave the discriminator with a guess: it goes down
   L_language + weight * -(1/M) sum_c log Pr(c|h), whose least value is reached where Pr(.|h) is uniform.

With `loss: advantage` the second is another: how much better than by the authors' shares alone the discriminator names
those of texts that it has not learned from in this epoch, as long as it is better. A uniform answer is asked for
whether an opinion is right or wrong, and most opinions of a discriminator with few texts of each author are wrong: they
cost predictions and hide nothing. With them it does worse than the shares, and the advantage asks for nothing.

What we do otherwise: the paper's batches are of one author each, and a discriminator that learns from them as they
come learns to name the author of the moment. Ours learns from the last two thousand states in random order, without
what all states have in common (whitening) and beyond what follows from some authors' writing more than others. It
begins without an opinion and its weights decay, because what it believes without reason changes the language model for
nothing. The privacy loss is written without its constant, log M.
"""

from typing import Annotated, Literal, Self

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn

from discreet.accounting.guarantee import Guarantee
from discreet.engine.plain import Batch, Beside
from discreet.mechanisms.contract import MECHANISMS
from discreet.mechanisms.leakage import no_guarantee
from discreet.mechanisms.regularized import (
    AttributedBatches,
    RegularizerOptions,
    Tally,
    hiding,
    joined,
    losses_and_states,
    state_width,
)
from discreet.mechanisms.training import Training
from discreet.models.discriminator import Discriminator, Memory, frozen
from discreet.text.tokenize import Encoded

Count = Annotated[int, Field(ge=1)]


class DiscriminatorOptions(BaseModel):
    """Size and training of the discriminator."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    hidden: Count = 256
    """Units of a hidden layer; the paper has 1,000."""
    layers: Annotated[int, Field(ge=0)] = 1
    """Hidden layers; none makes it linear."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-3
    weight_decay: Annotated[float, Field(ge=0)] = 0.5
    """Of its AdamW: keeps it from knowing by heart the few states of an author that it has seen. Where authors are
    drawn (`sample`), their own rows do not decay."""
    sample: Annotated[int, Field(ge=16)] = 512
    """With more than twice as many authors, so many are drawn in each step to stand for all."""
    memory: Annotated[int, Field(ge=0)] = 2048
    """It learns from the last so many states; 0: from the batch at hand alone, as in the paper."""
    batch: Count = 256
    """States it learns from in an update."""
    every: Count = 1
    """It learns in every so many steps of the language model; 1: in each of them, as in the paper."""
    updates: Count = 1
    """Updates of it in a step in which it learns."""


class AdversarialOptions(RegularizerOptions):
    loss: Literal["uniform", "advantage"] = "uniform"
    """What the language model goes down: the distance of the discriminator's answer from a uniform one, as in the
    paper, or how much better than a guess by their shares it names the authors."""
    discriminator: DiscriminatorOptions = DiscriminatorOptions()

    @model_validator(mode="after")
    def _advantage_is_of_other_texts(self) -> Self:
        if self.loss == "advantage" and not self.discriminator.memory:
            raise ValueError(
                "with 'loss: advantage' the discriminator must not learn from the batch at hand; give it a memory "
                "(discriminator.memory, 2048)"
            )
        return self


@MECHANISMS.register("adversarial")
class Adversarial:
    """Learns against a discriminator that tries to name the author."""

    needs_policy = False
    Options = AdversarialOptions

    def train(self, training: Training, options: AdversarialOptions) -> Guarantee:
        training, examples = hiding(training, options)
        width = state_width(training.model, options.state)
        opponent = Opponent(width, shares_of(examples), options, training.recipe.seed)
        training.fit_otherwise(
            AttributedBatches(training, examples, options),
            opponent.loss,
            opponent.beside,
            opponent.take,
            public_only=options.redact,
            keep_best=options.keep == "best",
        )
        return no_guarantee(training, examples, options, opponent.discriminator.first_choice)


def shares_of(examples: Encoded) -> Tensor:
    """Each author's share of the texts."""
    counts = np.bincount(examples.authors, minlength=len(examples.author_names))
    return torch.from_numpy(counts / counts.sum())


class Opponent:
    """The discriminator with all that it learns by, and the loss that a language model has against it."""

    def __init__(self, width: int, shares: Tensor, options: AdversarialOptions, seed: int) -> None:
        own = options.discriminator
        sizes = {"hidden": own.hidden, "layers": own.layers, "sample": own.sample}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.discriminator = Discriminator(width, len(shares), **sizes, shares=shares)
        self.memory = Memory(width, own.memory) if own.memory else None
        self.hiding, self.learning = Tally("privacy_loss"), Tally("discriminator_loss")
        self.optimizers = self.discriminator.optimizers(own.learning_rate, own.weight_decay)
        losses = {"uniform": self.discriminator.unevenness, "advantage": self.discriminator.advantage}
        self.privacy = losses[options.loss]
        self.options = options
        kept = [self.discriminator, self.hiding, self.learning, *([] if self.memory is None else [self.memory])]
        self.beside = Beside(nn.ModuleList(kept), self.optimizers)

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        losses, states = losses_and_states(model, batch, self.options.state)
        self.meet(states.detach(), batch["labels"])
        with frozen(self.discriminator):
            privacy = self.privacy(states, batch["labels"])
        self.hiding.add(privacy)
        return joined(losses, privacy, batch)

    def take(self) -> dict[str, float]:
        """The means of an epoch's figures."""
        return self.hiding.take() | self.learning.take()

    def meet(self, states: Tensor, labels: Tensor) -> None:
        """Shows the discriminator a step's states: it remembers them, and learns when it is its turn.

        An advantage is over texts that it has not learned from, so these it remembers only afterwards.
        """
        first = self.options.loss == "uniform"
        if first:
            self._remember(states, labels)
        its_turn = self.hiding.steps % self.options.discriminator.every == 0
        if its_turn and (self.memory is None or self.memory.held):
            self.learning.add(self._learn(states, labels))
        if not first:
            self._remember(states, labels)

    def _remember(self, states: Tensor, labels: Tensor) -> None:
        self.discriminator.whitening.watch(states)
        if self.memory is not None:
            self.memory.add(states, labels)

    def _learn(self, states: Tensor, labels: Tensor) -> Tensor:
        """The discriminator's updates, from the memory where there is one; its loss before the last of them."""
        for _ in range(self.options.discriminator.updates):
            if self.memory is not None:
                states, labels = self.memory.draw(self.options.discriminator.batch)
            loss = self.discriminator.cross_entropy(states, labels)
            self.discriminator.zero_grad(set_to_none=True)
            torch.autograd.backward(loss)
            for optimizer in self.optimizers:
                optimizer.step()
        return loss

"""The triplet regularizer (Mireshghallah et al. 2021, section 2.2): the states of an author's texts are no neighbours.

Each step reads a batch and, for their states alone, some auxiliary texts of other authors. For each text x of the batch

    L_privacy(x) = max(0, margin + mean |h_x - h_p|^2 over texts p of other authors
                                 - mean |h_x - h_n|^2 over texts n of the same author)

so other authors are pulled near and the same author is pushed away, until the same author is farther by the margin.

What we do otherwise. The paper takes the difference of sums as it is, which has no least value: pushing apart could go
on for ever. Here states have length 1, so that a squared distance lies between 0 and 4, and the hinge stops where
distances tell nothing more; the loss lies between 0 and 4 + margin. Before that, what all states have in common is
taken out of them (whitening): distances would else be those of what is said, and not of who says it. All pairs count,
not only those in the same place of two batches, so a batch of one author brings its own pairs, and the auxiliary batch
can be small: it has texts of other authors, and one of the same author where the batch has only one. (The paper's
equation 4 has its signs reversed; its text and equation 3 say what is done here.)
"""

from typing import Annotated

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from discreet.accounting.guarantee import Guarantee
from discreet.engine.plain import Batch, Beside
from discreet.mechanisms.contract import MECHANISMS
from discreet.mechanisms.leakage import no_guarantee
from discreet.mechanisms.regularized import (
    AttributedBatches,
    Item,
    RegularizerOptions,
    Tally,
    hiding,
    joined,
    losses_and_states,
)
from discreet.mechanisms.training import Training
from discreet.models.discriminator import Whitening, full_precision
from discreet.models.language import output_layer
from discreet.text.batching import Rows
from discreet.text.tokenize import Encoded

SHORTEST = 1e-6
"""States shorter than this are not made longer: their direction means nothing."""


class TripletOptions(RegularizerOptions):
    margin: Annotated[float, Field(ge=0, le=4)] = 0.1
    """By how much texts of the same author should be farther from each other than from those of others."""
    auxiliary: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Size of the auxiliary batch as a share of the batch."""
    whiten: bool = True
    """Take out what all states have in common before distances are measured; the paper does not."""


@MECHANISMS.register("triplet")
class Triplet:
    """Learns with the texts of an author pushed apart and those of different authors pulled together."""

    needs_policy = False
    Options = TripletOptions

    def train(self, training: Training, options: TripletOptions) -> Guarantee:
        training, examples = hiding(training, options)
        tally, whitening = Tally("privacy_loss"), Whitening(output_layer(training.model).weight.shape[1])

        def loss(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
            losses, states = losses_and_states(model, batch, options.state)
            if options.whiten:
                whitening.watch(states.detach())
                states = whitening(states)
            privacy = triplet_loss(states, batch["labels"], int(batch["texts"]), options.margin)
            tally.add(privacy)
            return joined(losses, privacy, batch)

        training.fit_otherwise(
            AttributedBatches(training, examples, options, Auxiliary(examples, options, training.recipe.seed)),
            loss,
            Beside(nn.ModuleList([tally, whitening])),
            tally.take,
            public_only=options.redact,
            keep_best=options.keep == "best",
        )
        return no_guarantee(training, examples, options)


def triplet_loss(states: Tensor, labels: Tensor, texts: int, margin: float) -> Tensor:
    """The mean of L_privacy over the first so many texts that have a text of the same and one of another author."""
    with full_precision(states):
        units = nn.functional.normalize(states.float(), dim=1, eps=SHORTEST)
        distances = (2 - 2 * units[:texts] @ units.t()).clamp(min=0.0)
    same = labels[:texts, None] == labels
    other = ~same
    same = same & ~torch.eye(texts, len(labels), dtype=torch.bool)
    complete = same.any(1) & other.any(1)
    gap = _mean(distances, other) - _mean(distances, same) + margin
    return (gap.clamp(min=0.0) * complete).sum() / complete.sum().clamp(min=1)


def _mean(values: Tensor, chosen: Tensor) -> Tensor:
    return (values * chosen).sum(1) / chosen.sum(1).clamp(min=1)


class Auxiliary:
    """Draws the auxiliary texts of a batch, as long as its own longest at most."""

    def __init__(self, examples: Encoded, options: TripletOptions, seed: int) -> None:
        self._options, self._seed, self._lengths = options, seed, np.diff(examples.starts) - 1
        self._authors = examples.authors
        order = np.argsort(examples.authors, kind="stable")
        self._records: list[NDArray[np.int64]] = np.split(order, np.flatnonzero(np.diff(examples.authors[order])) + 1)

    def __call__(self, item: Item) -> Rows:
        """Windows of further texts: one of each author that is alone in the batch, the rest of authors at random."""
        random = np.random.default_rng([self._seed, *item.number])
        present, counts = np.unique(self._authors[item.rows[:, 0]], return_counts=True)
        size = max(1, round(self._options.auxiliary * len(item.rows)))
        alone = [self._another(author, item.rows, random) for author in present[counts == 1][: max(1, size // 2)]]
        records = [record for record in alone if record is not None]
        for _ in range(max(1, size - len(records))):
            author = random.integers(len(self._records) - (len(present) == 1))
            if len(present) == 1 and author >= present[0]:
                author += 1  # any but the author of the batch
            records.append(int(random.choice(self._records[author])))
        longest = int((item.rows[:, 2] - item.rows[:, 1]).max())
        return np.array([(record, 0, min(self._lengths[record], longest)) for record in records], np.int64)

    def _another(self, author: int, rows: Rows, random: np.random.Generator) -> int | None:
        """A text of the author's that is not in the batch, if there is one."""
        own = np.setdiff1d(self._records[author], rows[:, 0])
        return int(random.choice(own)) if len(own) else None

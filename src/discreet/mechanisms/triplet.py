"""The triplet regularizer (Mireshghallah et al. 2021, section 2.2): the states of an author's texts are no neighbours.

Each step reads a batch and, for their states alone, some auxiliary texts. For each text x of the batch

    gap(x) = mean |h_x - h_p|^2 over texts p of other authors - mean |h_x - h_n|^2 over texts n of the same author
    L_privacy = max(0, margin + mean of gap(x) over the batch)

so other authors are pulled near and the same author is pushed away, until the same author is farther by the margin.

What we do otherwise. The paper takes the difference of sums as it is, which has no least value: pushing apart could go
on for ever. Here states have length 1, so that a squared distance lies between 0 and 4, and the hinge stops where
distances tell nothing more; the loss lies between 0 and 4 + margin. The hinge is over the mean of a batch: single texts
lie near others of their author by chance, and to push those apart hides nothing. Before that,
what all states have in common is taken out of them (whitening): distances would else be those of what is said, and not
of who says it. All pairs count, not only those in the same place of two batches, so the auxiliary batch can be small:
it has what the batch lacks, texts of others beside those of one author, and beside those of many another text of some
of them. Its texts are as long as the batch's, which has alike lengths: else the model would hide where texts end. (The
paper's equation 4 has its signs reversed; its text and equation 3 say what is done here.)
"""

from collections.abc import Callable
from itertools import islice
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
    state_width,
)
from discreet.mechanisms.training import Training
from discreet.models.discriminator import Whitening, full_precision
from discreet.text.batching import Rows
from discreet.text.tokenize import Encoded

SHORTEST = 1e-6
"""States shorter than this are not made longer: their direction means nothing."""

ALIKE, TRIES = 16, 8
"""An auxiliary text is one of at least so many of the most alike lengths, drawn up to so often until it fits."""


class TripletOptions(RegularizerOptions):
    weight: Annotated[float, Field(ge=0)] = 5.0
    """The papers' lambda. Gaps of distances are small, a few hundredths: it takes more than for a discriminator."""
    margin: Annotated[float, Field(ge=0, le=4)] = 0.0
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
        tally, whitening = Tally("privacy_loss"), Whitening(state_width(training.model, options.state))

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
    """L_privacy of the first so many texts; those without a text of the same, or of another, author do not count."""
    with full_precision(states):
        units = nn.functional.normalize(states.float(), dim=1, eps=SHORTEST)
        distances = (2 - 2 * units[:texts] @ units.t()).clamp(min=0.0)
    same = labels[:texts, None] == labels
    other = ~same
    same = same & ~torch.eye(texts, len(labels), dtype=torch.bool)
    complete = same.any(1) & other.any(1)
    gaps = (_mean(distances, other) - _mean(distances, same)) * complete
    return (gaps.sum() / complete.sum().clamp(min=1) + margin * complete.any()).clamp(min=0.0)


def _mean(values: Tensor, chosen: Tensor) -> Tensor:
    return (values * chosen).sum(1) / chosen.sum(1).clamp(min=1)


class Auxiliary:
    """Draws the auxiliary texts of a batch: as long as its own, or a state would tell them apart by where they end.

    What a batch lacks is drawn: texts of others beside those of one author, and beside those of many authors another
    text of some of them.
    """

    def __init__(self, examples: Encoded, options: TripletOptions, seed: int) -> None:
        self._options, self._seed, self._lengths = options, seed, np.diff(examples.starts) - 1
        self._authors = examples.authors
        self._all = Shelf(np.arange(len(examples)), self._lengths)
        order = np.argsort(examples.authors, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(examples.authors[order])) + 1)
        self._own = [Shelf(records, self._lengths) for records in parts]

    def __call__(self, item: Item) -> Rows:
        """Windows of further texts, no longer than the batch's longest."""
        random = np.random.default_rng([self._seed, *item.number])
        lengths, authors = item.rows[:, 2] - item.rows[:, 1], self._authors[item.rows[:, 0]]
        size = max(1, round(self._options.auxiliary * len(item.rows)))
        present, counts = np.unique(authors, return_counts=True)
        single = len(present) == 1
        records = list[int]()
        if not single or counts[0] == 1:
            alone_first = np.lexsort((random.random(len(authors)), counts[np.searchsorted(present, authors)]))
            for row in alone_first[:size]:
                shelf = self._own[authors[row]]
                records += shelf.near(int(lengths[row]), lambda record: record not in item.rows[:, 0], random)
        if single:
            for length in random.choice(lengths, size):
                other = self._all.near(int(length), lambda record: self._authors[record] != present[0], random)
                records += other or self._anybody_but(int(present[0]), random)
        beside = np.array(records, np.int64)
        ends = np.minimum(self._lengths[beside], lengths.max())
        return np.stack([beside, np.zeros_like(beside), ends], axis=1)

    def _anybody_but(self, author: int, random: np.random.Generator) -> list[int]:
        """A text of another author, of any length."""
        drawn = int(random.integers(len(self._own) - 1))
        return [int(random.choice(self._own[drawn + (drawn >= author)].records))]


class Shelf:
    """Texts in the order of their lengths."""

    def __init__(self, records: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        self.records = records[np.argsort(lengths[records], kind="stable")]
        self._lengths = lengths[self.records]

    def near(self, length: int, fitting: Callable[[int], bool], random: np.random.Generator) -> list[int]:
        """A text of about this length that fits, drawn at random; none where such are hard to find."""
        first, end = (int(place) for place in np.searchsorted(self._lengths, [length, length + 1]))
        lacking = max(0, ALIKE - (end - first) + 1) // 2
        begin, stop = max(0, first - lacking), min(len(self.records), end + lacking)
        tries = (int(self.records[place]) for place in random.integers(begin, stop, TRIES))
        return list(islice((record for record in tries if fitting(record)), 1))

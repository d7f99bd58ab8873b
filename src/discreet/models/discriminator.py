"""A discriminator: tells from a language model's hidden state which author wrote the text, among any number of them.

    discriminator = Discriminator(width=200, classes=10_000, hidden=256, layers=1, sample=512)
    discriminator.cross_entropy(states, labels)     # -log Pr(y|h): what it learns by
    discriminator.unevenness(states, labels)        # -(1/M) sum_c log Pr(c|h) - log M: what hides y
    discriminator.advantage(states, labels)         # log Pr(y|h) - log share_y, at least 0: hides it as well

Where some classes have more texts than others, that alone makes Pr(.|h) uneven, whatever h tells, and a model cannot
mend it. With `shares` the discriminator learns by Pr(c|h) proportional to share_c * exp(l_c), so that its logits hold
what the state tells beyond the shares, and the unevenness is that of exp(l_c) alone: nothing where h tells nothing.

It is a small network and one row of weights for each class. Up to twice `sample` classes the softmax is over all of
them, which costs less than drawing. Where there are more, a step draws `sample` of them with replacement and gives each
the weight M / sample: together with the text's own class, which always counts, they stand for all M. Then

    Z = exp(l_y) + M / sample * sum over drawn c, c != y, of exp(l_c)

is right on average, and so is the mean of the logits; log Z is a little low, the less so the larger the sample. Only
rows that were drawn have a gradient, so that neither the step nor its optimizer costs more with more classes.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

CALLS, REFRESH = 100, 20
"""How many batches of states the whitening remembers, and how often it works out its scale."""
SHRINKAGE, SMALLEST = 1e-3, 1e-8
"""Directions with less than this share of the mean variance (or less than that) are not scaled up to one."""


def full_precision(states: Tensor) -> torch.autocast:
    """Within, nothing is rounded to half precision: what tells states apart may be less than that."""
    return torch.autocast(states.device.type, enabled=False)


class AllLogits(NamedTuple):
    """The logits of all classes."""

    scores: Tensor
    """[rows, classes]"""
    labels: Tensor

    @property
    def own(self) -> Tensor:
        """[rows]: of each row's own class."""
        return self.scores.gather(1, self.labels[:, None]).squeeze(1)

    def log_total(self) -> Tensor:
        """log Z, [rows]."""
        return torch.logsumexp(self.scores, 1)

    def mean(self, classes: int) -> Tensor:
        """The mean logit over all classes, [rows]."""
        return self.scores.mean(1)


class Logits(NamedTuple):
    """The logits of the classes that a step looks at, where these are not all."""

    own: Tensor
    """[rows]: of each row's own class."""
    drawn: Tensor
    """[rows, drawn]: of those drawn for all rows; minus infinity where one is the row's own."""
    weight: float
    """How many classes each of the drawn ones stands for."""

    def log_total(self) -> Tensor:
        """log Z, [rows]."""
        return torch.logaddexp(self.own, torch.logsumexp(self.drawn, 1) + math.log(self.weight))

    def mean(self, classes: int) -> Tensor:
        """The mean logit over all classes, [rows]."""
        drawn = self.drawn.masked_fill(self.drawn.isneginf(), 0.0).sum(1)
        return (self.own + self.weight * drawn) / classes


class Whitening(nn.Module):
    """Turns states into ones with mean 0, deviation 1 and no correlations, by what it has lately seen of them.

    Hidden states have much in common, and what tells authors apart may be small against it. An attacker takes the
    common part away first, and so must whoever trains against attackers; nor may a model hide by making states small.
    """

    mean: Tensor
    covariance: Tensor
    scale: Tensor
    count: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("covariance", torch.zeros(width, width))
        self.register_buffer("scale", torch.eye(width))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def watch(self, states: Tensor) -> None:
        """Takes some states into account: those of the last so many calls count, and now and then the scale is new."""
        count = int(self.count)
        share = 1 / min(count + 1, CALLS)
        self.mean.lerp_(states.mean(0), share)
        away = states - self.mean
        with full_precision(states):
            self.covariance.lerp_(away.t() @ away / len(away), share)
        if count % REFRESH == 0 or count < REFRESH:
            same = torch.eye(len(self.mean))
            least = SHRINKAGE * self.covariance.diagonal().mean() + SMALLEST
            root = torch.linalg.cholesky(self.covariance + least * same)
            self.scale.copy_(torch.linalg.solve_triangular(root, same, upper=False))
        self.count += 1

    def forward(self, states: Tensor) -> Tensor:
        with full_precision(states):
            return (states - self.mean) @ self.scale.t()


class Discriminator(nn.Module):
    """Names the class of a hidden state."""

    log_shares: Tensor

    def __init__(
        self, width: int, classes: int, *, hidden: int, layers: int, sample: int, shares: Tensor | None = None
    ) -> None:
        super().__init__()
        self.classes, self.sample = classes, sample
        even = torch.full((classes,), 1 / classes)
        self.register_buffer("log_shares", ((even if shares is None else shares) * classes).log().float())
        self.whitening = Whitening(width)
        parts: list[nn.Module] = []
        for number in range(layers):
            parts += [nn.Linear(hidden if number else width, hidden), nn.ReLU()]
        self.trunk = nn.Sequential(*parts)
        self.sampled = classes > 2 * sample
        self.rows = nn.Embedding(classes, hidden if layers else width, sparse=self.sampled)
        nn.init.zeros_(self.rows.weight)  # what it has not learned yet is no reason to change a language model
        self.biases = nn.Embedding(classes, 1, sparse=self.sampled)
        nn.init.zeros_(self.biases.weight)

    def cross_entropy(self, states: Tensor, labels: Tensor) -> Tensor:
        """-log Pr(y|h), the mean over rows."""
        logits = self.logits(states, labels, with_shares=True)
        return (logits.log_total() - logits.own).mean()

    def unevenness(self, states: Tensor, labels: Tensor) -> Tensor:
        """How far Pr(.|h) is from uniform: the divergence of the uniform distribution from it, the mean over rows."""
        logits = self.logits(states, labels)
        return (logits.log_total() - logits.mean(self.classes)).mean() - math.log(self.classes)

    def advantage(self, states: Tensor, labels: Tensor) -> Tensor:
        """By how much -log Pr(y|h) is below what the shares alone give, the mean over rows; nothing where it is not."""
        by_share = math.log(self.classes) - self.log_shares[labels].mean()
        return (by_share - self.cross_entropy(states, labels)).clamp(min=0.0)

    def logits(self, states: Tensor, labels: Tensor, *, with_shares: bool = False) -> Logits | AllLogits:
        with full_precision(states):
            found = self.trunk(self.whitening(states.float()))
            if not self.sampled:
                scores = torch.addmm(self.biases.weight.t(), found, self.rows.weight.t())
                return AllLogits(scores + self.log_shares if with_shares else scores, labels)
            drawn = torch.randint(self.classes, (self.sample,), device=labels.device)
            own = (found * self.rows(labels)).sum(1) + self.biases(labels).squeeze(1)
            others = torch.addmm(self.biases(drawn).t(), found, self.rows(drawn).t())
            if with_shares:
                own, others = own + self.log_shares[labels], others + self.log_shares[drawn]
            others = others.masked_fill(drawn == labels[:, None], -math.inf)
        return Logits(own, others, self.classes / len(drawn))

    @torch.no_grad()
    def first_choice(self, states: Tensor) -> Tensor:
        """The likeliest class of each state, among all of them."""
        scores = torch.addmm(self.biases.weight.t(), self.trunk(self.whitening(states.float())), self.rows.weight.t())
        return (scores + self.log_shares).argmax(1)

    def optimizers(self, rate: float, decay: float = 0.0) -> tuple[torch.optim.Optimizer, ...]:
        """AdamW, and where classes are drawn one of its own for their rows that touches only those with a gradient."""
        if not self.sampled:
            return (torch.optim.AdamW(self.parameters(), rate, weight_decay=decay, fused=True),)
        per_class = [*self.rows.parameters(), *self.biases.parameters()]
        sparse = torch.optim.SparseAdam(per_class, rate)
        trunk = list(self.trunk.parameters())
        return (torch.optim.AdamW(trunk, rate, weight_decay=decay, fused=True), sparse) if trunk else (sparse,)


@contextmanager
def frozen(module: nn.Module) -> Iterator[None]:
    """Within, gradients go through a module but not into it."""
    module.requires_grad_(False)
    try:
        yield
    finally:
        module.requires_grad_(True)


class Memory(nn.Module):
    """The last states and their labels, a ring: what a discriminator learns from besides the batch at hand.

    Batches of one author teach it to name that author whatever it reads. Old states, drawn at random, are of many.
    """

    states: Tensor
    labels: Tensor
    count: Tensor

    def __init__(self, width: int, most: int) -> None:
        super().__init__()
        self.register_buffer("states", torch.zeros(most, width))
        self.register_buffer("labels", torch.zeros(most, dtype=torch.int64))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def add(self, states: Tensor, labels: Tensor) -> None:
        most, count = len(self.states), int(self.count)
        states, labels = states[-most:], labels[-most:]
        places = (count + torch.arange(len(states))) % most
        self.states.index_copy_(0, places, states.float())
        self.labels.index_copy_(0, places, labels)
        self.count += len(states)

    @property
    def held(self) -> int:
        """How many states there are to draw from."""
        return min(int(self.count), len(self.states))

    def draw(self, rows: int) -> tuple[Tensor, Tensor]:
        """So many of the states, at random, and their labels."""
        chosen = torch.randint(self.held, (rows,))
        return self.states[chosen], self.labels[chosen]

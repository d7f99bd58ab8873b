"""Disparity between authors: does a mechanism cost those with few records more than those with many?

    found = disparity("runs/dp-sgd", reference="runs/none")
    found.gap              # points of perplexity by which the five smallest authors lose more than the five largest

Authors are ranked by their number of records in the train split; the five with the most and the five with the fewest
that have text in the evaluated split are compared (fewer, where there are not ten). An author's perplexity is exp of
the mean loss over all tokens of theirs, a group's the mean over its authors. With a reference, usually a run without
protection, the *increase* over it counts (Mireshghallah et al. 2021, figure 3c). Nobody is named: rows are in order of
their number of records.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from discreet.errors import InputError, SettingError
from discreet.evaluate.stored import store
from discreet.mechanisms.language import scored
from discreet.mechanisms.run import Run, open_run
from discreet.mechanisms.train import read_corpus
from discreet.models.language import load_model
from discreet.policy.contract import Policy
from discreet.policy.specs import policy as make_policy
from discreet.text.corpus import Corpus
from discreet.text.tokenize import Encoded, Encoder
from discreet.text.vocabulary import load_tokenizer

GROUP = 5
"""Authors on each side."""


@dataclass(frozen=True)
class AuthorScore:
    """One author, without the name."""

    trained: int
    """Records in the train split."""
    records: int
    """Records that were scored."""
    perplexity: float
    reference: float | None = None
    """The reference model's perplexity on the same text."""

    @property
    def increase(self) -> float | None:
        return None if self.reference is None else self.perplexity - self.reference


@dataclass(frozen=True)
class Disparity:
    """All authors, those with the most records first, and the two groups that are compared."""

    authors: tuple[AuthorScore, ...]
    group: int
    """Authors on each side."""

    @property
    def top(self) -> float:
        """Mean perplexity of the authors with the most records."""
        return _mean(one.perplexity for one in self.authors[: self.group])

    @property
    def bottom(self) -> float:
        return _mean(one.perplexity for one in self.authors[-self.group :])

    @property
    def top_increase(self) -> float | None:
        return _mean_or_none([one.increase for one in self.authors[: self.group]])

    @property
    def bottom_increase(self) -> float | None:
        return _mean_or_none([one.increase for one in self.authors[-self.group :]])

    @property
    def gap(self) -> float:
        """How much worse off the smallest authors are: by the increase where there is a reference."""
        if self.top_increase is not None and self.bottom_increase is not None:
            return self.bottom_increase - self.top_increase
        return self.bottom - self.top

    def to_json(self) -> dict[str, Any]:
        names = ("group", "top", "bottom", "top_increase", "bottom_increase", "gap")
        return {name: getattr(self, name) for name in names} | {"authors": [asdict(one) for one in self.authors]}


def author_losses(model: nn.Module, encoded: Encoded) -> tuple[np.ndarray, np.ndarray]:
    """The summed loss and the number of targets of each author, in the order of `encoded.author_names`."""
    total, count = (torch.zeros(len(encoded), dtype=torch.float64) for _ in range(2))
    model.eval()
    for batch, scores in scored(model, encoded):
        has_target = batch["targets"] >= 0
        total.index_add_(0, batch["records"], torch.where(has_target, scores.loss.double(), 0.0).sum(1))
        count.index_add_(0, batch["records"], has_target.double().sum(1))
    known = encoded.authors >= 0
    size = len(encoded.author_names)
    return tuple(np.bincount(encoded.authors[known], part.numpy()[known], size) for part in (total, count))  # type: ignore[return-value]


def disparity_of(
    model: nn.Module,
    encoded: Encoded,
    trained: Mapping[str, int],
    reference: nn.Module | None = None,
    group: int = GROUP,
) -> Disparity:
    """The disparity of a model on encoded records; `trained` says how many records each author has in training."""
    loss, tokens = author_losses(model, encoded)
    other = author_losses(reference, encoded)[0] if reference is not None else None
    scored_records = Counter(encoded.authors.tolist())
    scores = []
    for number in np.flatnonzero(tokens):
        name = encoded.author_names[number]
        perplexity = _perplexity(loss[number] / tokens[number])
        before = None if other is None else _perplexity(other[number] / tokens[number])
        scores.append(AuthorScore(trained.get(name, 0), scored_records[int(number)], perplexity, before))
    if len(scores) < 2:
        raise InputError("Disparity compares authors, and these records name fewer than two; name the author field.")
    if group < 1:
        raise SettingError("Disparity compares groups of at least one author.")
    ordered = sorted(scores, key=lambda one: -one.trained)
    return Disparity(tuple(ordered), min(group, len(ordered) // 2))


def disparity(
    run: Run | str | Path,
    corpus: Corpus | None = None,
    *,
    reference: Run | str | Path | None = None,
    split: str = "test",
    policy: Policy | str | None = None,
    group: int = GROUP,
) -> Disparity:
    """The disparity of a run on a split of a corpus: by default its own, and then kept in the run."""
    run = run if isinstance(run, Run) else open_run(Path(run))
    recipe = run.recipe
    if recipe.task != "language":
        raise InputError(f"{run.path}: this run is a classifier, and disparity is measured by perplexity.")
    decided = make_policy(policy if policy is not None else recipe.policy if recipe.policy is not None else "nothing")
    corpus = corpus or read_corpus(recipe.data)
    encoder = Encoder(load_tokenizer(str(run.model_folder)))
    other = _reference(reference, encoder)
    counted = corpus.records("train" if "train" in corpus else split)
    trained = Counter(record.author for record in counted if record.author is not None)
    encoded = encoder.encode_all(decided.secrets_of_all(corpus.records(split)))
    found = disparity_of(load_model(run.model_folder), encoded, trained, other, group)
    store(run, corpus, decided, split, disparity=found.to_json())
    return found


def _reference(reference: Run | str | Path | None, encoder: Encoder) -> nn.Module | None:
    if reference is None:
        return None
    run = reference if isinstance(reference, Run) else open_run(Path(reference))
    if load_tokenizer(str(run.model_folder)).get_vocab() != encoder.tokenizer.get_vocab():
        raise SettingError(
            f"{run.path}: the reference has another tokenizer, so perplexities cannot be compared; train it with the "
            "same tokenizer."
        )
    return load_model(run.model_folder)


def _perplexity(mean: float) -> float:
    return math.exp(mean) if mean < 700 else math.inf


def _mean(values: Any) -> float:
    found = list(values)
    return math.fsum(found) / len(found)


def _mean_or_none(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _mean(known) if len(known) == len(values) else None

"""How often a classifier is right: accuracy, and F1 for each label and over all of them."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from discreet.errors import InputError
from discreet.evaluate.stored import store
from discreet.mechanisms.classification import scored
from discreet.mechanisms.run import Run, open_run
from discreet.mechanisms.train import read_corpus
from discreet.models.pretrained import context_of, load_run_classifier
from discreet.policy.contract import Policy
from discreet.policy.specs import policy as make_policy
from discreet.text.corpus import Corpus
from discreet.text.labelled import Labelled, LabelledEncoder
from discreet.text.tokenize import Encoder
from discreet.text.vocabulary import load_tokenizer


@dataclass(frozen=True)
class ClassificationEvaluation:
    """Scores of a classifier on labelled records."""

    accuracy: float
    f1: float
    """Of the last label where there are two (the 1 of 0 and 1), else the mean over labels."""
    f1_by_label: dict[str, float]
    loss: float
    records: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def evaluate_classifier(
    model: nn.Module, examples: Labelled, on_batch: Callable[[int], None] | None = None
) -> ClassificationEvaluation:
    """Scores a classifier on the examples that have a label."""
    names = examples.label_names
    table = torch.zeros(len(names), len(names), dtype=torch.int64)  # label, prediction
    loss = 0.0
    for labels, logits in scored(model, examples):
        table.index_put_((labels, logits.argmax(1)), torch.ones_like(labels), accumulate=True)
        loss += float(nn.functional.cross_entropy(logits, labels, reduction="sum"))
        if on_batch:
            on_batch(len(labels))
    records = int(table.sum())
    if not records:
        raise InputError("There are no labelled records to evaluate on.")
    hits = table.diagonal().double()
    scores = 2 * hits / (table.sum(0) + table.sum(1)).clamp(min=1)
    by_label = dict(zip(names, scores.tolist(), strict=True))
    f1 = by_label[names[-1]] if len(names) == 2 else float(scores.mean())
    return ClassificationEvaluation(float(hits.sum()) / records, f1, by_label, loss / records, records)


def evaluate(
    run: Run | str | Path,
    corpus: Corpus | None = None,
    *,
    split: str = "test",
    policy: Policy | str | None = None,
    on_batch: Callable[[int], None] | None = None,
) -> ClassificationEvaluation:
    """Scores a run on a split of a corpus: by default its own, and then keeps it in the run."""
    run = run if isinstance(run, Run) else open_run(Path(run))
    decided = make_policy(policy if policy is not None else run.recipe.policy or "nothing")
    corpus = corpus or read_corpus(run.recipe.data)
    model = load_run_classifier(run.model_folder)
    names: dict[int, str] = model.config.id2label  # type: ignore[union-attr, assignment]
    encoder = Encoder(load_tokenizer(str(run.model_folder)))
    labelled = LabelledEncoder(encoder, [names[number] for number in sorted(names)], context_of(model))
    examples = labelled.encode_all(decided.secrets_of_all(corpus.records(split)))
    found = evaluate_classifier(model, examples, on_batch)
    store(run, corpus, decided, split, scores=found.to_json())
    return found

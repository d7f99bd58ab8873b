"""How well a model predicts text it has not seen: over all tokens, over public ones and over secret ones.

Perplexity is exp of the mean loss a token; it depends on the tokenizer. Bits per character does not: the whole text's
loss in bits over its number of characters, and the number to compare models with different tokenizers by. The end of
a record is predicted too and counts as a public token.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn

from discreet.errors import InputError
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


@dataclass(frozen=True)
class Evaluation:
    """Scores of a model on a text."""

    perplexity: float
    bits_per_char: float
    top1: float
    perplexity_public: float | None
    perplexity_secret: float | None
    top1_public: float | None
    top1_secret: float | None
    tokens: int
    tokens_public: int
    tokens_secret: int
    characters: int
    records: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def evaluate_model(model: nn.Module, encoded: Encoded, on_batch: Callable[[int], None] | None = None) -> Evaluation:
    """Scores a model on encoded records, each from its beginning with all of its own context."""
    loss = {False: 0.0, True: 0.0}
    hits = {False: 0, True: 0}
    count = {False: 0, True: 0}
    model.eval()
    for batch, scores in scored(model, encoded):
        has_target = batch["targets"] >= 0
        for secret in (False, True):
            chosen = has_target & (batch["secret"] == secret)
            loss[secret] += float(scores.loss[chosen].double().sum())
            hits[secret] += int(scores.first_choice[chosen].sum())
            count[secret] += int(chosen.sum())
        if on_batch:
            on_batch(len(batch["targets"]))
    tokens = count[False] + count[True]
    if tokens == 0:
        raise InputError("There is no text to evaluate on.")
    characters = int(encoded.public_characters.sum() + encoded.secret_characters.sum())
    total = loss[False] + loss[True]
    return Evaluation(
        perplexity=_perplexity(total, tokens),
        bits_per_char=total / math.log(2) / max(1, characters),
        top1=(hits[False] + hits[True]) / tokens,
        perplexity_public=_perplexity(loss[False], count[False]) if count[False] else None,
        perplexity_secret=_perplexity(loss[True], count[True]) if count[True] else None,
        top1_public=hits[False] / count[False] if count[False] else None,
        top1_secret=hits[True] / count[True] if count[True] else None,
        tokens=tokens,
        tokens_public=count[False],
        tokens_secret=count[True],
        characters=characters,
        records=len(encoded),
    )


def evaluate(
    run: Run | str | Path,
    corpus: Corpus | None = None,
    *,
    split: str = "test",
    policy: Policy | str | None = None,
    on_batch: Callable[[int], None] | None = None,
) -> Evaluation:
    """Scores a run on a split of a corpus: by default its own, by its own policy, and then keeps it in the run."""
    run = run if isinstance(run, Run) else open_run(Path(run))
    recipe = run.recipe
    decided = make_policy(policy if policy is not None else recipe.policy if recipe.policy is not None else "nothing")
    corpus = corpus or read_corpus(recipe.data)
    encoder = Encoder(load_tokenizer(str(run.model_folder)))
    encoded = encoder.encode_all(decided.secrets_of_all(corpus.records(split)))
    found = evaluate_model(load_model(run.model_folder), encoded, on_batch)
    store(run, corpus, decided, split, scores=found.to_json())
    return found


def _perplexity(loss: float, count: int) -> float:
    mean = loss / count
    return math.exp(mean) if mean < 700 else math.inf

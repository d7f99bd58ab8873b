"""RUN/evaluation.json: what `discreet evaluate` found on a run's own data, for the report and the model card to read.

    {"version": 1, "model": "<sha256 of the weights>", "task": "language",
     "splits": {"test": {"perplexity": 21.4, ...}}, "disparity": {"test": {...}}}

Written only when corpus and policy are those the run was trained with (by their fingerprints): figures of other data
are not the run's. It holds figures and no text. What was found about other weights is not kept.
"""

import math
import os
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import RunError
from discreet.files import read_json, write_json
from discreet.mechanisms.run import Run, weights_fingerprint
from discreet.policy.contract import Policy
from discreet.text.corpus import Corpus

FILE = "evaluation.json"


@dataclass(frozen=True)
class Stored:
    """The figures of a run, by split."""

    splits: dict[str, dict[str, Any]] = field(default_factory=dict)
    disparity: dict[str, dict[str, Any]] = field(default_factory=dict)


def store(run: Run, corpus: Corpus, policy: Policy, split: str, *, scores: Any = None, disparity: Any = None) -> bool:
    """Keeps figures in the run, if they are of its own data and policy and the folder can be written; says whether."""
    if not os.access(run.path, os.W_OK) or not _is_own(run, corpus, policy):
        return False
    before = read_evaluation(run) or Stored()
    splits, disparities = dict(before.splits), dict(before.disparity)
    if scores is not None:
        splits[split] = _finite(scores)
    if disparity is not None:
        disparities[split] = _finite(disparity)
    value = {"version": 1, "model": weights_fingerprint(run.path), "task": run.recipe.task}
    write_json(run.path / FILE, value | {"splits": splits, "disparity": disparities})
    return True


def read_evaluation(run: Run) -> Stored | None:
    """What is known of the run's model; None where it was not evaluated as it is now."""
    path = run.path / FILE
    if not path.is_file():
        return None
    try:
        value = read_json(path)
        model, found = value["model"], Stored(dict(value["splits"]), dict(value["disparity"]))
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{path}: this is no evaluation of a run; remove it and run 'discreet evaluate'.") from None
    return found if model == weights_fingerprint(run.path) else None


def _is_own(run: Run, corpus: Corpus, policy: Policy) -> bool:
    known = run.manifest
    same_policy = known.get("policy_fingerprint") == policy.fingerprint()
    return same_policy and known.get("corpus_fingerprint") == corpus.fingerprint()


def _finite(value: Any) -> Any:
    """The value with `null` for what JSON has no number for."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""All that a run holds and a report tells, gathered from its files. No torch, no text of the corpus.

    facts = gather([Path("runs/a"), Path("runs/b")])
    facts[0].guarantee, facts[0].scores, facts[0].findings

Recipes may hold secrets (a policy can be a list of words), so of a recipe only names and sizes are taken.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from discreet.accounting.forms import notion_of
from discreet.accounting.guarantee import Guarantee, MissRate
from discreet.accounting.notion import measured
from discreet.accounting.verify import verify as checks_of
from discreet.attacks.timeline import Point, read_timeline
from discreet.engine.plan import Plan
from discreet.errors import DiscreetError, InputError, RefusedError, RunError
from discreet.evaluate.stored import Stored, read_evaluation
from discreet.files import read_json
from discreet.mechanisms.recipe import Recipe
from discreet.mechanisms.run import Run, open_run
from discreet.policy.miss_rate import read_miss_rate
from discreet.report.findings import Findings, read_findings

SPLITS = ("test", "valid", "train")
"""Whose figures are shown: the first that was evaluated."""


@dataclass(frozen=True)
class RunFacts:
    """One run, as far as it can be told."""

    name: str
    path: Path
    recipe: Recipe
    manifest: dict[str, Any]
    environment: dict[str, Any]
    guarantee: Guarantee
    problems: tuple[str, ...] | None
    """What is wrong with the guarantee when it is computed again; None where it was not."""
    evaluation: Stored | None = None
    findings: Findings | None = None
    metrics: list[dict[str, Any]] = field(default_factory=list)
    curve: list[dict[str, Any]] = field(default_factory=list)
    timeline: list[Point] = field(default_factory=list)
    measured_miss_rate: MissRate | None = None
    """From a file, for the policy of the run."""

    @property
    def mechanism(self) -> str:
        return self.recipe.mechanism.name

    @property
    def is_classifier(self) -> bool:
        return self.recipe.task == "classification"

    @property
    def claims(self) -> bool:
        """Whether anything is proved, and the run's own records agree."""
        return self.guarantee.notion != "none" and not self.problems

    @property
    def epsilon(self) -> float | None:
        """The proved epsilon; None where there is no finite one, or where it does not follow from the run's records."""
        return self.guarantee.epsilon if self.claims else None

    @property
    def split(self) -> str | None:
        known = self.evaluation.splits if self.evaluation else {}
        return next((split for split in SPLITS if split in known), None)

    @property
    def scores(self) -> dict[str, Any] | None:
        """The figures of the evaluation, of the test split where there is one."""
        return self.evaluation.splits[self.split] if self.evaluation and self.split else None

    @property
    def disparity(self) -> dict[str, Any] | None:
        known = self.evaluation.disparity if self.evaluation else {}
        return next((known[split] for split in SPLITS if split in known), None)

    @property
    def miss_rate(self) -> MissRate | None:
        return self.guarantee.miss_rate or self.measured_miss_rate

    @property
    def plans(self) -> tuple[tuple[str, Plan], ...]:
        """The private phases with their plans in full."""
        return notion_of(self.guarantee.basis).plans()

    @property
    def refuted(self) -> tuple[str, ...]:
        return self.findings.refuted if self.findings else ()

    @property
    def seconds(self) -> float:
        """Time spent training."""
        return float(sum(row.get("seconds", 0) for row in self.metrics))


def gather(runs: Sequence[Run | str | Path], *, verify: bool = True, miss_rate: Path | None = None) -> list[RunFacts]:
    """The facts of all runs in the order given; an unfinished or broken one is refused by one sentence."""
    paths = list(dict.fromkeys(run.path if isinstance(run, Run) else Path(run) for run in runs))
    if not paths:
        raise InputError("There is no run to report on; name one or more run folders.")
    names = names_of(paths)
    found = [facts_of(path, names[path], verify=verify, miss_rate=miss_rate) for path in paths]
    if miss_rate is not None and not any(facts.measured_miss_rate for facts in found):
        raise RefusedError(f"{miss_rate}: it was found for a policy that none of these runs has; measure theirs.")
    return found


def facts_of(path: Path, name: str | None = None, *, verify: bool = True, miss_rate: Path | None = None) -> RunFacts:
    """The facts of one finished run."""
    run = _opened(path)
    guarantee = run.guarantee
    return RunFacts(
        name=name or path.name,
        path=path,
        recipe=run.recipe,
        manifest=run.manifest,
        environment=_environment(path),
        guarantee=guarantee,
        problems=_problems(path) if verify else None,
        evaluation=read_evaluation(run),
        findings=read_findings(run),
        metrics=_rows(path / "metrics.jsonl"),
        curve=_rows(path / "curve.jsonl"),
        timeline=read_timeline(path),
        measured_miss_rate=_miss_rate(miss_rate, run),
    )


def names_of(paths: Sequence[Path]) -> dict[Path, str]:
    """The folder's name of each run, or the whole path where two runs have the same name."""
    own = {path: path.resolve().name for path in paths}
    often = Counter(own.values())
    return {path: name if often[name] == 1 else str(path) for path, name in own.items()}


def _opened(path: Path) -> Run:
    """A finished run whose recipe and manifest can be read."""
    try:
        run = open_run(path)
        _ = run.recipe, run.manifest
    except (ValueError, TypeError, AttributeError, yaml.YAMLError):
        raise RunError(f"{path}: the manifest or recipe of this run is broken; train it again.") from None
    return run


def _problems(path: Path) -> tuple[str, ...]:
    try:
        return tuple(check.problem for check in checks_of(path) if check.problem)
    except DiscreetError as error:
        return (str(error),)


def _environment(path: Path) -> dict[str, Any]:
    place = path / "environment.json"
    try:
        return dict(read_json(place)) if place.is_file() else {}
    except (ValueError, TypeError):
        raise RunError(f"{place}: this is not JSON; train the run again.") from None


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [dict(row) for row in rows]
    except (ValueError, TypeError):
        raise RunError(f"{path}: a line is not JSON; train the run again.") from None


def _miss_rate(path: Path | None, run: Run) -> MissRate | None:
    """A checked sample's miss rate, if it is about this run's policy."""
    if path is None:
        return None
    found = read_miss_rate(path)
    if found.policy != run.manifest.get("policy_fingerprint"):
        return None
    return measured(found.missed, found.sample)

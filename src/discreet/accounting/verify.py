"""Verification: a run's guarantee computed again from the run's own records, and compared field by field.

    for check in verify(Path("runs/a")): print(check.what, check.problem or "ok")

Checked is that

- `privacy.json` fits the schema, and everything in it follows from its `basis` (the notion with its plans in full);
- `ledger.jsonl`, the write-ahead record of releases (`discreet.engine.ledger`), holds only plans of the guarantee, and
  of no plan more releases than the guarantee covers. A line that a crash has cut short counts;
- `manifest.json`, where it lists the fingerprints of the run's plans under `plans`, lists the same.

A guarantee that claims nothing (`none`, or text perturbed before training) has no plans and needs no ledger.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from discreet.accounting.forms import notion_of
from discreet.accounting.guarantee import Guarantee
from discreet.engine.ledger import read_ledger
from discreet.errors import DiscreetError, RunError

TOLERANCE = 1e-6
"""Relative: what another processor's floating point may change."""


class Check(NamedTuple):
    """One thing that was looked at, and what is wrong with it, if anything."""

    what: str
    problem: str | None = None


def verify(run: Path) -> list[Check]:
    """All checks of a run folder; the run is sound when none has a problem."""
    if not run.is_dir():
        raise RunError(f"{run}: there is no such run folder.")
    try:
        guarantee = Guarantee.read(run / "privacy.json")
    except RunError as error:
        return [Check("privacy.json", str(error))]
    return [
        Check("privacy.json"),
        *_recomputed(guarantee),
        *_ledger(run / "ledger.jsonl", guarantee),
        *_manifest(run / "manifest.json", guarantee),
    ]


def _recomputed(guarantee: Guarantee) -> Iterator[Check]:
    try:
        again = notion_of(guarantee.basis).guarantee().to_json()
    except DiscreetError as error:
        yield Check("basis", str(error))
        return
    for name, claimed in guarantee.to_json().items():
        difference = _difference(name, claimed, again[name])
        yield Check(name, difference)


def _difference(where: str, claimed: Any, again: Any) -> str | None:
    """Where two JSON values first differ, numbers by more than rounding."""
    if isinstance(claimed, dict) and isinstance(again, dict) and claimed.keys() == again.keys():
        pairs = ((f"{where}.{key}", claimed[key], again[key]) for key in claimed)
        return next(filter(None, (_difference(*pair) for pair in pairs)), None)
    if isinstance(claimed, list) and isinstance(again, list) and len(claimed) == len(again):
        pairs = ((f"{where}[{i}]", a, b) for i, (a, b) in enumerate(zip(claimed, again, strict=True)))
        return next(filter(None, (_difference(*pair) for pair in pairs)), None)
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (claimed, again))
    if claimed == again or (numbers and math.isclose(claimed, again, rel_tol=TOLERANCE, abs_tol=1e-15)):
        return None
    return f"{where} says {_short(claimed)}, but the run's records give {_short(again)}."


def _ledger(path: Path, guarantee: Guarantee) -> Iterator[Check]:
    covered: Counter[str] = Counter()
    for access in guarantee.accesses:
        covered[access.fingerprint] += access.steps  # two phases may run the same plan
    if not path.exists():
        if covered:
            yield Check("ledger.jsonl", f"{path} is missing: there is no record of the steps that were spent.")
        return
    try:
        phases = read_ledger(path)
    except RunError as error:
        yield Check("ledger.jsonl", str(error))
        return
    spent: Counter[str] = Counter()
    for spending in phases.values():
        spent[spending.plan.fingerprint()] += spending.releases
    for fingerprint, number in sorted(spent.items()):
        known, name = covered.get(fingerprint), fingerprint[:12]
        if known is None:
            yield Check("ledger.jsonl", f"{path} has steps of the plan {name}, which the guarantee leaves out.")
        elif number > known:
            yield Check("ledger.jsonl", f"{path} has {number:,} steps of the plan {name}; {known:,} are covered.")
        else:
            yield Check(f"ledger.jsonl, plan {name}: {number:,} of {known:,} steps")


def _manifest(path: Path, guarantee: Guarantee) -> Iterator[Check]:
    if not path.exists():
        return
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        yield Check("manifest.json", f"{path} is not JSON.")
        return
    plans = manifest.get("plans") if isinstance(manifest, dict) else None
    if plans is not None and set(plans) != {access.fingerprint for access in guarantee.accesses}:
        yield Check("manifest.json", f"{path} lists other plans than the guarantee covers.")
    else:
        yield Check("manifest.json")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

"""RUN/attacks-over-time.jsonl: what attacks found at steps of a training, a row each. Figures only, no secrets.

    {"step": 120, "epoch": 1, "exposure": 2.4, "membership_auc": 0.52}

`discreet.attacks.over_time` writes it and the report draws it; this file needs no torch.
"""

import json
from pathlib import Path
from typing import NamedTuple

from discreet.errors import RunError
from discreet.files import whole_text

FILE = "attacks-over-time.jsonl"


class Point(NamedTuple):
    """What was found at a step; None for what could not be measured."""

    step: int
    epoch: float | None
    exposure: float | None
    """Mean over the canaries, in bits."""
    membership_auc: float | None


def read_timeline(run: Path) -> list[Point]:
    """The rows of a run, by step; none where no checkpoint was attacked."""
    place = run / FILE
    if not place.is_file():
        return []
    try:
        return [Point(**json.loads(line)) for line in place.read_text(encoding="utf-8").splitlines()]
    except (ValueError, TypeError):
        raise RunError(f"{place}: a line is not a row of an attack on a checkpoint; remove the file.") from None


def add_point(run: Path, point: Point) -> None:
    """Adds a row; one of the same step is replaced."""
    kept = [old for old in read_timeline(run) if old.step != point.step]
    with whole_text(run / FILE) as out:
        out.writelines(json.dumps(row._asdict()) + "\n" for row in sorted([*kept, point], key=lambda row: row.step))

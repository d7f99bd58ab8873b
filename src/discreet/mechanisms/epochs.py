"""RUN/epochs: a model as it was at the end of each epoch, to see when it learned what.

    training: {keep_epochs: true}        # in a recipe, or `discreet train --keep-epochs`

    for kept in kept_epochs(run):
        model = load_model(kept.folder)

A guarantee covers them all, not the last one alone: the accountant counts every noisy step as if its weights were
released. Phases follow one another, and `step` counts from the beginning of the first.
"""

import copy
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from discreet.files import read_json, write_json
from discreet.models.language import save_model

FOLDER, INDEX = "epochs", "index.json"


class KeptEpoch(NamedTuple):
    """Weights that were kept."""

    phase: str
    step: int
    """Since the training began."""
    folder: Path


def keep_epoch(run: Path, model: nn.Module, phase: str, step: int) -> None:
    """Keeps the weights at a step of a phase; a resumed training that comes by again replaces them."""
    place = run / FOLDER
    final = place / f"{phase}-{step}".replace(" ", "-")
    begun = final.with_name(f".{final.name}")
    for old in (begun, final):
        shutil.rmtree(old, ignore_errors=True)
    adapted = hasattr(model, "merge_and_unload")  # LoRA is added onto the weights that are saved, not onto the model's
    save_model(copy.deepcopy(model) if adapted else model, begun)
    begun.replace(final)
    row = {"phase": phase, "step": step, "folder": final.name}
    write_json(place / INDEX, [*(old for old in _rows(place) if old != row), row])


def kept_epochs(run: Path) -> list[KeptEpoch]:
    """The kept weights in the order of the training; none where the recipe did not ask for them."""
    found: list[KeptEpoch] = []
    phase, before = "", 0
    for row in _rows(run / FOLDER):
        if row["phase"] != phase:
            phase, before = row["phase"], found[-1].step if found else 0
        found.append(KeptEpoch(phase, before + row["step"], run / FOLDER / row["folder"]))
    return found


def _rows(place: Path) -> list[dict[str, Any]]:
    return read_json(place / INDEX) if (place / INDEX).is_file() else []

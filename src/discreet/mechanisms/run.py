"""A run: the folder with all of one training.

    RUN/recipe.yaml        the recipe, every default filled in
    RUN/manifest.json      fingerprints of corpus and policy, counts, whether the run is finished
    RUN/environment.json   versions and processor it ran on
    RUN/metrics.jsonl      one line an epoch
    RUN/curve.jsonl        the loss of plain training as it went down
    RUN/privacy.json       the guarantee: what is proved about the model, or that nothing is
    RUN/evaluation.json    what `discreet evaluate` found on the run's own data
    RUN/model/             weights, configuration and tokenizer: a folder `from_pretrained` loads
    RUN/checkpoint/        where a killed training goes on from; gone when it is finished

No text of the corpus is stored in it.
"""

import fcntl
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from discreet.accounting.guarantee import Guarantee
from discreet.errors import RunError
from discreet.files import sha256_file, whole_text, write_json
from discreet.mechanisms.recipe import Recipe, make_recipe

PACKAGES = ("discreet", "torch", "transformers", "tokenizers", "numpy", "safetensors")


@dataclass(frozen=True)
class Run:
    """A training on disk, finished or not."""

    path: Path

    @property
    def recipe(self) -> Recipe:
        return make_recipe(yaml.safe_load(self._text("recipe.yaml")), where=str(self.path / "recipe.yaml"))

    @property
    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads(self._text("manifest.json"))
        return manifest

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """One row an epoch, oldest first."""
        path = self.path / "metrics.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []

    @property
    def guarantee(self) -> Guarantee:
        """What is proved about the model."""
        return Guarantee.read(self.path / "privacy.json")

    @property
    def finished(self) -> bool:
        return bool(self.manifest.get("finished"))

    @property
    def model_folder(self) -> Path:
        return self.path / "model"

    @property
    def checkpoint_folder(self) -> Path:
        return self.path / "checkpoint"

    def add_metrics(self, row: Mapping[str, Any]) -> None:
        """Adds a line; lines a resumed run writes again are replaced, not repeated."""
        phase, step = row.get("phase", "train"), row["step"]
        kept = [old for old in self.metrics if old.get("phase", "train") != phase or old["step"] < step]
        with whole_text(self.path / "metrics.jsonl") as out:
            out.writelines(json.dumps(line) + "\n" for line in [*kept, row])

    def add_to_curve(self, point: Mapping[str, Any]) -> None:
        """Adds a point; those of later steps are from before a kill and go."""
        path = self.path / "curve.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        kept = [line for line in lines if json.loads(line)["step"] < point["step"]]
        with whole_text(path) as out:
            out.writelines(line + "\n" for line in [*kept, json.dumps(point)])

    def remember(self, **facts: Any) -> None:
        """Writes facts into the manifest, or refuses to go on where an earlier start has written others."""
        manifest = self.manifest
        for key, value in facts.items():
            if manifest.get(key, value) != value:
                raise RunError(
                    f"{self.path}: this run was begun with another {key.replace('_', ' ')}; "
                    "choose another place or pass --overwrite."
                )
        write_json(self.path / "manifest.json", manifest | facts)

    def finish(self, **facts: Any) -> None:
        """Marks the run as complete and removes what only a resume would need."""
        write_json(self.path / "manifest.json", self.manifest | facts | {"finished": True})
        shutil.rmtree(self.checkpoint_folder, ignore_errors=True)

    def _text(self, name: str) -> str:
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            raise RunError(
                f"{self.path}: this is not a run ({name} is missing); make one with 'discreet train'."
            ) from None


def weights_fingerprint(path: Path) -> str | None:
    """SHA-256 of the weights in a run or a model's folder: what was found out about others is not about this model."""
    inside = path / "model"
    files = sorted((inside if inside.is_dir() else path).glob("*.safetensors"))
    sums = [sha256_file(file) for file in files]
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest() if sums else None


def open_run(path: Path) -> Run:
    """A finished run; an unfinished one is refused with what to do."""
    run = Run(Path(path))
    if not run.finished:
        raise RunError(
            f"{path}: this run is not finished; start 'discreet train' with the same recipe to go on with it."
        )
    return run


def begin_run(path: Path, recipe: Recipe, facts: Mapping[str, Any], *, overwrite: bool = False) -> Run:
    """A new run folder, or the one that a killed training left behind if recipe, corpus and policy are the same."""
    run = Run(Path(path))
    if run.path.exists() and not run.path.is_dir():
        raise RunError(f"{path}: this is a file; choose another place for the run.")
    if (run.path / "manifest.json").is_file() and not overwrite:
        _check_same(run, recipe, facts)
        return run
    if run.path.is_dir() and any(entry.name != ".lock" for entry in run.path.iterdir()):
        if not overwrite:
            raise RunError(f"{path}: this folder holds something that is not a run; choose another place.")
        _remove_run(run)
    write_recipe(run, recipe)
    write_json(run.path / "environment.json", environment())
    write_json(run.path / "manifest.json", dict(facts) | {"finished": False})
    return run


def _check_same(run: Run, recipe: Recipe, facts: Mapping[str, Any]) -> None:
    manifest = run.manifest
    for key in facts:
        if manifest.get(key) != facts[key]:
            raise RunError(
                f"{run.path}: this run was begun with another {key.replace('_', ' ')}; "
                "choose another place or pass --overwrite."
            )
    if run.recipe != recipe:
        raise RunError(f"{run.path}: this run was begun with another recipe; choose another place or pass --overwrite.")
    if manifest.get("finished"):
        raise RunError(f"{run.path}: this run is finished; choose another place or pass --overwrite.")


def _remove_run(run: Run) -> None:
    """Empties a run folder, and refuses any folder that is not one: nobody's files are deleted by a typo."""
    if not (run.path / "manifest.json").is_file() or not (run.path / "recipe.yaml").is_file():
        raise RunError(f"{run.path}: this folder holds something that is not a run; choose another place.")
    for entry in run.path.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name != ".lock":
            entry.unlink()


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Keeps a second training out of the same folder."""
    if path.exists() and not path.is_dir():
        raise RunError(f"{path}: this is a file; choose another place for the run.")
    path.mkdir(parents=True, exist_ok=True)
    with (path / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"{path}: another training is at work in this folder.") from None
        yield


def write_recipe(run: Run, recipe: Recipe) -> None:
    with whole_text(run.path / "recipe.yaml") as out:
        yaml.safe_dump(recipe.model_dump(mode="json"), out, sort_keys=False, allow_unicode=True)


def environment() -> dict[str, Any]:
    """What the run ran on, as far as it can change the weights."""
    import torch

    def known(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "packages": {package: known(package) for package in PACKAGES},
    }

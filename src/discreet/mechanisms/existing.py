"""A run that is there already, in place of a mechanism's public first phase.

    mechanism: {name: jft, epsilon: 3, existing: runs/redacted}          # with model: runs/redacted/model

What stands for the first phase must have read nothing but redacted text of the same corpus, redacted in the same way by
the same policy. It has picked its best epoch on the validation split, which then counts as public.
"""

from pathlib import Path

from discreet.errors import RefusedError, SettingError
from discreet.mechanisms.run import open_run
from discreet.mechanisms.training import Training

PUBLIC_MECHANISMS = ("redacted",)
"""Mechanisms whose runs have read nothing but redacted text."""


def check_existing(training: Training, path: Path) -> None:
    """Whether a run can stand for the first phase: the weights are its own, and it has read this corpus redacted so."""
    run, manifest = open_run(path), training.run.manifest
    recipe, own = run.recipe, training.recipe
    if recipe.mechanism.name not in PUBLIC_MECHANISMS:
        raise RefusedError(
            f"{path}: a run of '{recipe.mechanism.name}' cannot stand for phase 1, which reads redacted text only; "
            "take a run of 'redacted'."
        )
    if Path(own.model.name).resolve() != run.model_folder.resolve():
        raise SettingError(
            f"The model of this recipe is '{own.model.name}'; to go on from {path} set model to its folder."
        )
    for fact in ("corpus_fingerprint", "policy_fingerprint"):
        if run.manifest[fact] != manifest[fact]:
            raise RefusedError(f"{path}: this run was made with another {fact.split('_')[0]} than the one at hand.")
    if recipe.redaction != own.redaction:
        raise RefusedError(f"{path}: this run was made with another redaction than the one at hand.")

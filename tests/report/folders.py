"""Run folders made by hand, as trainings and attacks would have left them, with a ledger that covers the guarantee."""

import json
from pathlib import Path
from typing import Any

from discreet.accounting.confidential import Confidentiality
from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.jft import JustFineTuneTwice
from discreet.accounting.none import NoGuarantee
from discreet.accounting.notion import Notion
from discreet.accounting.selective import SelectivePrivacy
from discreet.attacks.timeline import Point, add_point
from discreet.engine.ledger import Ledger
from discreet.engine.plan import Plan
from discreet.files import sha256_file, write_json
from discreet.mechanisms.recipe import make_recipe
from discreet.mechanisms.run import Run, write_recipe

PLAN = Plan(rate=0.1, steps=6, noise=1.2, neighbours="replace", population=2000)
CHECKED = ("sampling", "clipping", "normaliser", "noise")
NOTIONS: dict[str, Notion] = {
    "none": NoGuarantee(mechanism="none"),
    "dp-sgd": DifferentialPrivacy(phases=(PLAN,), delta=5e-5, records=2000, checked=CHECKED),
    "selective": SelectivePrivacy(plan=PLAN, delta=5e-5, records=2000, checked=CHECKED),
    "jft": JustFineTuneTwice(phase2=PLAN, delta=5e-5, records=2000, missed=3, sample=150, checked=CHECKED),
    "crt": Confidentiality(plan=PLAN.with_noise(1.5), miss=0.1, delta=5e-5, records=2000),
}


def make_run(
    folder: Path,
    mechanism: str = "none",
    notion: Notion | None = None,
    options: dict[str, Any] | None = None,
    **recipe: Any,
) -> Run:
    """A finished run with its guarantee, and nothing measured yet; `options` are further keys of the mechanism."""
    run = Run(folder)
    folder.mkdir(parents=True)
    settings: dict[str, Any] = {
        "data": "dialogs.jsonl",
        "policy": "customersim",
        "mechanism": {"name": mechanism, **(options or {})},
        "tokenizer": {"train": "bpe", "vocabulary": 1024},
        **recipe,
    }
    write_recipe(run, make_recipe(settings))
    run.model_folder.mkdir()
    (run.model_folder / "model.safetensors").write_bytes(b"weights of " + mechanism.encode())
    facts = {"corpus_fingerprint": "c" * 64, "policy_fingerprint": "p" * 64, "skipped": {}, "parameters": 812_345}
    write_json(folder / "manifest.json", facts | {"finished": True})
    write_json(folder / "environment.json", {"packages": {"discreet": "0.1.0"}})
    stated = notion if notion is not None else NOTIONS[mechanism]
    stated.guarantee().write(folder / "privacy.json")
    plans = stated.plans()
    if plans:
        with Ledger(folder / "ledger.jsonl") as ledger:
            for what, plan in plans:
                ledger.begin(plan, draw=None, phase=what)
                for step in range(plan.steps):
                    ledger.spend(plan, step, phase=what)
    return run


def add_evaluation(run: Run, perplexity: float, disparity: dict[str, Any] | None = None, **more: Any) -> None:
    scores = {
        "perplexity": perplexity,
        "perplexity_public": perplexity * 0.6,
        "perplexity_secret": perplexity * 14,
        "bits_per_char": 1.234,
        "top1": 0.512,
        "top1_public": 0.58,
        "top1_secret": 0.12,
        "tokens": 25_000,
        "tokens_public": 20_000,
        "tokens_secret": 5_000,
        "characters": 80_000,
        "records": 200,
    }
    value = {"version": 1, "model": _sum(run), "task": "language", "splits": {"test": scores | more}}
    write_json(run.path / "evaluation.json", value | {"disparity": {"test": disparity} if disparity else {}})


def add_attacks(run: Run, exposure: float, auc: float, audit: dict[str, Any] | None = None, **more: Any) -> None:
    separation = {
        "auc": auc,
        "auc_interval": [auc - 0.03, auc + 0.03],
        "accuracy": 0.51,
        "accuracy_interval": [0.48, 0.54],
        "tpr": {"0.01": 0.021, "0.001": 0.002},
        "tpr_interval": {"0.01": [0, 0.05], "0.001": [0, 0.01]},
        "members": 200,
        "others": 200,
    }
    weaker = separation | {"auc": 0.5, "auc_interval": [0.47, 0.53]}
    findings: dict[str, Any] = {
        "exposure": {
            "space": 10**6,
            "most": 19.93,
            "canaries": 6,
            "mean": exposure,
            "mean_interval": [max(0.0, exposure - 1.1), exposure + 1.2],
            "maximum": exposure + 3,
        },
        "membership": {"records": {"loss": weaker, "min-k++": separation}, "secrets": {}, "groups": {}},
        **more,
    }
    if audit:
        findings["audit"] = audit
    write_json(
        run.path / "attacks.json",
        {"version": 1, "model": _sum(run), "findings": findings, "left_out": {}, "refuted": None},
    )


def bound(epsilon: float, claimed: float | None, **more: Any) -> dict[str, Any]:
    """A lower bound of an audit."""
    return {
        "method": "coins",
        "detected": True,
        "canaries": 100,
        "copies": 1,
        "epsilon": epsilon,
        "delta": 5e-5,
        "claimed": claimed,
        "error": 0.05,
        "guesses": 100,
        "right": 60,
        "refutes": claimed is not None and epsilon > claimed,
        **more,
    }


def add_curves(run: Run, losses: list[float]) -> None:
    lines = [{"step": 10 * n, "loss": loss, "targets": 100, "rate": 0.001} for n, loss in enumerate(losses, start=1)]
    (run.path / "curve.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    last = 10 * len(losses)
    for part in (1, 2, 3):
        row = {"epoch": part - 1, "step": last * part // 3, "train_loss": losses[-1], "seconds": 12.5}
        run.add_metrics(row | {"valid_loss": losses[len(losses) * part // 3 - 1] + 0.2})


def add_timeline(run: Run, exposures: list[float]) -> None:
    for epoch, exposure in enumerate(exposures, start=1):
        add_point(run.path, Point(epoch * 100, epoch, exposure, 0.5 + exposure / 100))


def _sum(run: Run) -> str:
    return sha256_file(run.model_folder / "model.safetensors")


def five_runs(folder: Path) -> list[Path]:
    """The five mechanisms of the demo with everything measured."""
    figures = {
        "none": (18.4, 15.2, 0.61),
        "dp-sgd": (96.3, 1.9, 0.503),
        "selective": (24.9, 2.6, 0.522),
        "jft": (25.8, 1.7, 0.519),
        "crt": (31.5, 1.2, 0.507),
    }
    paths = []
    for number, (name, (perplexity, exposure, auc)) in enumerate(figures.items()):
        run = make_run(folder / name, name)
        disparity = {"group": 5, "top": 20.0, "bottom": 26.0 + 8 * number, "gap": 6.0, "authors": []}
        disparity |= {"top_increase": 2.0 + 3 * number, "bottom_increase": 3.0 + 9 * number}
        add_evaluation(run, perplexity, disparity)
        claimed = run.guarantee.epsilon
        add_attacks(run, exposure, auc, {"bounds": [bound(0.41, claimed)], "refuted": None})
        if name != "dp-sgd":
            add_curves(run, [5.0 * 0.96**n + 1.5 + 0.1 * number for n in range(60)])
        add_timeline(run, [1.4 + (exposure - 1.4) * part / 4 for part in (1, 2, 3, 4)])
        paths.append(folder / name)
    return paths

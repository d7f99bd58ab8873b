"""Every mechanism on a real corpus: what it costs in perplexity, and what is proved.

    python -m benchmarks.mechanisms customersim-lstm                       # all mechanisms, seed 0
    python -m benchmarks.mechanisms wikitext-2-lstm --only none selective --seeds 0 1 2
    python -m benchmarks.mechanisms customersim-lstm --table               # what has been run so far

The recipes are those shipped under the same names (`discreet train customersim-lstm-selective`); runs go to
`runs/results/RECIPE/SEED`, a finished one is not made again, a killed one goes on. `selective` and `jft` go on from the
run of `redacted-surrogates` of the same seed where there is one, which is their first phase. Perplexities are on the
test split as it is: over all, public and secret targets. `exposure` is that of the canary in the published CustomerSim,
by rank among a million; its ten copies end the train file, so a run on fewer dialogs has none. What an
epoch costs is counted by `benchmarks.mechanism_times`, in processor time.
"""

import argparse
import statistics
from pathlib import Path
from typing import Any

from discreet.attacks.attack import attack
from discreet.errors import UnknownNameError
from discreet.evaluate.perplexity import evaluate
from discreet.files import read_json, write_json
from discreet.mechanisms.recipe import read_recipe
from discreet.mechanisms.run import Run
from discreet.mechanisms.train import read_corpus, train_recipe
from discreet.recipes import recipe_path
from discreet.sanitize.canaries.manifest import Canary, Manifest
from discreet.sanitize.canaries.template import read_template

FIRST_PHASE = "redacted-surrogates"
MECHANISMS = ["none", "redacted", FIRST_PHASE, "anonymized", "dp-sgd", "selective-paper", "selective", "jft", "crt"]
TWO_PHASES = ("selective", "jft")
PLACE = Path("runs/results")
CANARY = Manifest(read_template("My ID is {digits:6}."), (Canary("canary", ("341752",), repetitions=10),))
"""What the published CustomerSim holds ten times."""


def recipe_name(experiment: str, mechanism: str) -> str:
    return experiment if mechanism == "none" else f"{experiment}-{mechanism}"


def has_recipe(name: str) -> bool:
    """Not every mechanism is for every model."""
    try:
        return recipe_path(name).is_file()
    except UnknownNameError:
        return False


def first_phase(experiment: str, mechanism: str, seed: int, folder: Path) -> list[str]:
    """Changes to a recipe by which it goes on from a run that is its first phase, if there is one."""
    run = Run(folder / recipe_name(experiment, FIRST_PHASE) / str(seed))
    if mechanism not in TWO_PHASES or not (run.path / "manifest.json").is_file() or not run.finished:
        return []
    return [f"model={run.model_folder}", f"mechanism.existing={run.path}", "mechanism.validation=public"]


def row(experiment: str, mechanism: str, seed: int, changes: list[str], folder: Path) -> dict[str, Any]:
    """Trains and scores one run, or reads what it scored before."""
    name = recipe_name(experiment, mechanism)
    place = folder / name / str(seed)
    scores = place.with_suffix(".json")
    if scores.is_file():
        found: dict[str, Any] = read_json(scores)
        return found
    begun = first_phase(experiment, mechanism, seed, folder)
    recipe = read_recipe(recipe_path(name), [f"seed={seed}", *begun, *changes])
    run = Run(place) if (place / "manifest.json").is_file() and Run(place).finished else train_recipe(recipe, place)
    guarantee = run.guarantee
    found = {
        "mechanism": mechanism,
        "seed": seed,
        **evaluate(run, split="test").to_json(),
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "paper": guarantee.paper.epsilon if guarantee.paper else None,
        "seconds": sum(own["seconds"] for own in run.metrics),
        "exposure": exposure(run),
    }
    write_json(scores, found)
    return found


def exposure(run: Run) -> float | None:
    """By how many bits the canary is easier to guess than by chance; None where the run's train split has none."""
    texts = {CANARY.template.fill(canary.secret).text for canary in CANARY.canaries}
    if not any(record.text.strip() in texts for record in read_corpus(run.recipe.data).records("train")):
        return None
    found: float = attack(run, ["exposure"], canaries=CANARY).to_json()["findings"]["exposure"]["mean"]
    return found


def table(rows: list[dict[str, Any]]) -> None:
    """One line for each mechanism: the mean over seeds, and the range where there are several."""
    columns = ["mechanism", "seeds", "all", "over No-DP", "public", "secret", "top-1", "ε proved"]
    columns += ["ε as the paper counts", "δ", "exposure"]
    print(f"| {' | '.join(columns)} |\n" + "|---" * len(columns) + "|")
    plain = {own["seed"]: own["perplexity"] for own in rows if own["mechanism"] == "none"}
    for mechanism in dict.fromkeys(own["mechanism"] for own in rows):
        own = [found for found in rows if found["mechanism"] == mechanism]
        ratios = [found["perplexity"] / plain[found["seed"]] for found in own if found["seed"] in plain]
        proved = [found for found in own if found["epsilon"] is not None]
        epsilon = f"{max(found['epsilon'] for found in proved):,.2f}" if proved else "none"
        cells = [f"`{mechanism}`", str(len(own)), _spread([found["perplexity"] for found in own])]
        cells += [_spread(ratios) if ratios else "–"]
        cells += [_spread([found[f"perplexity_{kind}"] for found in own]) for kind in ("public", "secret")]
        cells += [f"{statistics.mean(found['top1'] for found in own):.3f}", epsilon]
        cells += [_mean(own, "paper"), f"{own[0]['delta']:.1e}" if proved else "–", _mean(own, "exposure")]
        print(f"| {' | '.join(cells)} |")


def _mean(rows: list[dict[str, Any]], key: str) -> str:
    values = [own[key] for own in rows if own[key] is not None]
    return f"{statistics.mean(values):.2f}" if values else "–"


def _spread(values: list[float]) -> str:
    middle, least, most = (_short(of(values)) for of in (statistics.mean, min, max))
    return middle if least == most else f"{middle} ({least} to {most})"


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 20 else f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", help="customersim-lstm, customersim-mini or wikitext-2-lstm")
    parser.add_argument("--only", nargs="*", default=MECHANISMS, choices=MECHANISMS)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument(
        "--set", nargs="*", default=[], help="changes to the recipes; keep them in a place of their own"
    )
    parser.add_argument("--place", type=Path, default=PLACE, help="where runs go")
    parser.add_argument("--table", action="store_true", help="print what has been run, run nothing")
    options = parser.parse_args()
    rows = []
    for mechanism in options.only:
        name = recipe_name(options.experiment, mechanism)
        for seed in options.seeds if has_recipe(name) else ():
            if not options.table or (options.place / name / f"{seed}.json").is_file():
                rows.append(row(options.experiment, mechanism, seed, options.set, options.place))
    table(rows)


if __name__ == "__main__":
    main()

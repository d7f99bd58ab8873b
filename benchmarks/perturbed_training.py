"""What training on perturbed words costs and saves: the thesis' grid of epsilons on WikiText-2 with `mini`.

    python -m benchmarks.perturbed_training                       # a part; about five minutes of a core a run
    python -m benchmarks.perturbed_training --epsilons 1 3 6 12 17 23 29 35 41 47 52 --records 100000 --canaries 1
    python -m benchmarks.perturbed_training --table               # what has been run so far

The recipes `wikitext-none`, `wikitext-mdp` and `wikitext-smdp` are trained on the first records of WikiText-2 with
canaries between them, the first of which is the thesis' own (145572), ten copies each. Scored are the perplexity of
untouched test text and the exact exposure of the canaries. Runs go to `runs/perturbed`; a finished one is not made
again, a killed one goes on.
"""

import argparse
from pathlib import Path
from typing import Any

from discreet.attacks.attack import open_target
from discreet.attacks.contract import silent
from discreet.attacks.exposure import ExposureOptions, exposures_of
from discreet.evaluate.perplexity import evaluate
from discreet.files import read_json, write_json
from discreet.mechanisms.recipe import read_recipe
from discreet.mechanisms.run import Run, open_run
from discreet.mechanisms.train import train_recipe
from discreet.recipes import recipe_path
from discreet.sanitize.canaries.insert import Canaries, Insertion
from discreet.sanitize.canaries.manifest import Manifest
from discreet.sanitize.canaries.template import read_template
from discreet.text.corpora.contract import named
from discreet.text.corpus import Corpus

PLACE = Path("runs/perturbed")
WIKITEXT = Path("../shared/data/wikitext-2-raw")
TEMPLATE = "My ID is {digits:6}."
SECRET = "145572"
EPSILONS = (6.0, 23.0, 52.0)


def planted(records: int, canaries: int) -> tuple[Corpus, Manifest]:
    """The first records of WikiText-2 with canaries between them."""
    corpus = named("wikitext-2", WIKITEXT).limited(train=records, valid=300, test=600)
    plan = Insertion(read_template(TEMPLATE), number=canaries, repetitions=(10,), given=((SECRET,),))
    with_canaries = Canaries(list(corpus.records("train")), plan)
    splits = {name: list(corpus.records(name)) for name in ("valid", "test")}
    return Corpus({"train": list(with_canaries), **splits}, "wikitext-2 with canaries"), with_canaries.manifest()


def result(form: str, epsilon: float | None, options: argparse.Namespace) -> dict[str, Any]:
    """One training and its scores, or those of before."""
    place = options.place / (form if epsilon is None else f"{form}-{epsilon:g}")
    file = place.with_name(f"{place.name}.json")
    if file.is_file():
        known: dict[str, Any] = read_json(file)
        return known
    corpus, manifest = planted(options.records, options.canaries)
    changes = [f"mechanism.epsilon={epsilon}", "mechanism.randomness=fast"] if epsilon else []
    recipe = read_recipe(recipe_path(f"wikitext-{form}"), [f"training.epochs={options.epochs}", *changes])
    if not ((place / "manifest.json").is_file() and Run(place).finished):
        train_recipe(recipe, place, corpus=corpus)
    run = open_run(place)
    scores = evaluate(run, corpus, split="test")
    exposed = exposures_of(open_target(place, canaries=manifest, data=corpus), ExposureOptions(), silent)
    found = {"form": form, "epsilon": epsilon, **scores.to_json(), "exposure": exposed.summary()}
    write_json(file, found)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilons", nargs="*", type=float, default=list(EPSILONS))
    parser.add_argument("--records", type=int, default=2500)
    parser.add_argument("--canaries", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--place", type=Path, default=PLACE)
    parser.add_argument("--table", action="store_true", help="only what has been run so far")
    options = parser.parse_args()
    wanted: list[tuple[str, float | None]] = [("none", None)]
    wanted += [(form, epsilon) for epsilon in options.epsilons for form in ("smdp", "mdp")]
    print("| mechanism | epsilon | perplexity | public | secret | mean exposure | 95 % | most |\n" + "|---" * 8 + "|")
    for form, epsilon in wanted:
        name = form if epsilon is None else f"{form}-{epsilon:g}"
        if options.table and not (options.place / f"{name}.json").is_file():
            continue
        found = result(form, epsilon, options)
        bits = found["exposure"]
        low, high = bits["mean_interval"]
        print(
            f"| {form} | {'–' if epsilon is None else f'{epsilon:g}'} | {found['perplexity']:.1f} "
            f"| {found['perplexity_public']:.1f} | {found['perplexity_secret']:.1f} | {bits['mean']:.1f} "
            f"| {low:.1f} to {high:.1f} | {bits['maximum']:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

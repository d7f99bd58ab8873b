"""What an epoch of each mechanism costs in processor time, against a plain epoch over the same records.

    python -m benchmarks.mechanism_times customersim-lstm
    python -m benchmarks.mechanism_times customersim-lstm --precision float32
    python -m benchmarks.mechanism_times customersim-mini --only jft crt --records 512     # and `none`, always

Half of what a training of three epochs (of the private phase, where there is one) takes more than a training of one:
reading, redacting, training the vocabulary and calibrating fall out. Processor time, one thread, median of interleaved
repetitions, so that what else runs on the machine disturbs little. Steps are as large as the recipe has them, or half
of the records where those are fewer. `selective` reads some public records beside every private step: the last column
is the ratio for as many records read. An epoch of `crt` is a public and a private one, together over all sentences; the
copies it takes out are not read by it.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.mechanisms import has_recipe, recipe_name
from discreet.engine.precision import resolve
from discreet.mechanisms.recipe import read_recipe
from discreet.mechanisms.selective import SelectiveOptions
from discreet.mechanisms.train import train_recipe
from discreet.recipes import recipe_path

PRIVATE = ("dp-sgd", "selective-paper", "selective", "jft", "crt")
COMPARED = ("none", "redacted", *PRIVATE)


def read(experiment: str, mechanism: str, records: int) -> float:
    """How many records an epoch of it reads, for each that a plain epoch does."""
    if mechanism != "selective":
        return 1.0
    recipe = read_recipe(recipe_path(recipe_name(experiment, mechanism)))
    own = SelectiveOptions.model_validate(recipe.mechanism.model_dump())
    return 1.0 + own.public_batches * recipe.training.batch_size / min(records // 2, own.batch or 1)


def seconds(experiment: str, mechanism: str, records: int, precision: str, epochs: int) -> float:
    """Processor time of a training with so many epochs."""
    path = recipe_path(recipe_name(experiment, mechanism))
    changes = [
        f"data.limit.train={records}",
        "data.limit.valid=1",
        "data.limit.test=1",
        f"training.precision={precision}",
    ]
    if mechanism in PRIVATE:
        batch = min(records // 2, int(read_recipe(path).mechanism.model_dump()["batch"]))
        changes += ["mechanism.epsilon=null", "mechanism.noise=1.0", f"mechanism.batch={batch}"]
        changes += ["training.epochs=1", f"mechanism.epochs={epochs}"]
    else:
        changes += [f"training.epochs={epochs}"]
    recipe = read_recipe(path, changes)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        train_recipe(recipe, Path(folder) / "run", progress=False)
        return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", help="customersim-lstm, customersim-mini or wikitext-2-lstm")
    parser.add_argument("--only", nargs="*", default=COMPARED, choices=COMPARED)
    parser.add_argument("--records", type=int, default=2048)
    parser.add_argument("--precision", default="auto", help="auto is bfloat16 where the processor multiplies in it")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    asked = {"none", *options.only}
    names = [name for name in COMPARED if name in asked and has_recipe(recipe_name(options.experiment, name))]
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(options.repeat):
        for name in names:
            one, three = (
                seconds(options.experiment, name, options.records, options.precision, epochs) for epochs in (1, 3)
            )
            found[name].append((three - one) / 2)
    print(f"{options.experiment}, {options.records} records, precision {resolve(options.precision)}\n")
    print("| mechanism | processor seconds an epoch | over No-DP | for as many records |\n|---|---|---|---|")
    for name in names:
        ratio = statistics.median(own / plain for own, plain in zip(found[name], found["none"], strict=True))
        alike = ratio / read(options.experiment, name, options.records)
        print(f"| `{name}` | {statistics.median(found[name]):.1f} | {ratio:.2f} | {alike:.2f} |")


if __name__ == "__main__":
    main()

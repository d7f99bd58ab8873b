"""What hiding authors costs: time per epoch of plain training, adversarial, triplet and DP-SGD by author, interleaved.

    python -m benchmarks.author_cost                                # all of it
    python -m benchmarks.author_cost --rounds 3 --records 2000      # a quick look
    python -m benchmarks.author_cost --only authors                 # with 100, 1,000 and 10,000 authors

The real mechanisms train the paper's shape of model, an LSTM of two layers, on invented texts as long as chat messages
(4 to 28 tokens). Time is the processor time of all threads from the end of the first step to the end of the last,
scaled to all steps, so that reading, tokenizing and saving are left out and other work on the machine does not count.
Each round runs every mechanism once, in turn; the figures are medians over rounds, and a ratio is taken within a round.

A regularizer's batches are of one author. `plain, same batches` is plain training on just those: an author's last
batch is not full, and its texts have less alike lengths, so it takes longer than the mixed batches of `plain`;
`adversarial, mixed` has the batches of `plain`. With several threads processor time also counts those that wait for
each other, which small products do most; OMP_NUM_THREADS=1 leaves that out.

The second table has a step of the adversarial mechanism, with mixed batches, over the plain step on the same batches,
for more and more authors; `full softmax` is the same without drawing authors (discriminator.sample above their number).
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from discreet.engine.precision import resolve
from discreet.mechanisms.train import train
from discreet.progress import TrainingBar
from discreet.text.corpus import Corpus
from discreet.text.records import Record

WORDS = [
    first + second for first in ("ba", "co", "di", "fu", "ge", "ka", "lo", "mi", "nu", "po") for second in "nrstlm"
]
ADVERSARIAL, TRIPLET = {"name": "adversarial"}, {"name": "triplet"}
PRIVATE = {"name": "dp-sgd", "unit": "author", "noise": 1.0, "batch": 10}
MIXED = {"name": "adversarial", "batches": "mixed"}
ADVANTAGE = {**MIXED, "loss": "advantage", "discriminator": {"memory": 16_384}}
STEPS = 60
"""Steps of each training in the second table."""


class Stopwatch(TrainingBar):
    """Notes the processor time at the end of each step; ends the training after so many steps."""

    most: int | None = None

    def __init__(self, shown: bool = True) -> None:
        super().__init__(shown)
        self.times: list[float] = []
        Stopwatch.last = self

    last: "Stopwatch"

    def step(self, description: str, done: int, total: int, loss: float, tokens: int) -> None:
        self.times.append(time.process_time())
        if len(self.times) == self.most:
            raise KeyboardInterrupt

    def seconds(self) -> float:
        """Of all steps; the first, which warms up, is taken to be like the others."""
        steps = len(self.times)
        return (self.times[-1] - self.times[0]) * steps / (steps - 1)


def invented(records: int, authors: int) -> Corpus:
    """Texts of random words, as many of each author as of any other."""
    draw = random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=draw.randrange(2, 14))) for _ in range(records)]
    return Corpus({"train": [Record(str(n), t, author=f"author {n % authors}") for n, t in enumerate(texts)]}, "texts")


def seconds(
    corpus: Corpus, mechanism: Any, settings: Mapping[str, Any], most: int | None = None, **training: Any
) -> float:
    """What the steps of one epoch take."""
    Stopwatch.most = most
    own = {**settings, "training": {**settings["training"], **training}}
    with tempfile.TemporaryDirectory() as folder, patch("discreet.mechanisms.train.TrainingBar", Stopwatch):
        try:
            train(corpus, "nothing", mechanism, output=Path(folder) / "run", progress=False, **own)
        except KeyboardInterrupt:
            if most is None:
                raise
    return Stopwatch.last.seconds()


def interleaved(cases: Mapping[str, Any], rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Median seconds of each case, and its median ratio to the first; a round that warms up does not count."""
    taken: list[dict[str, float]] = []
    for number in range(rounds + 1):
        own = {name: run() for name, run in cases.items()}
        taken += [own] if number else []
    first = next(iter(cases))
    middle = {name: statistics.median(own[name] for own in taken) for name in cases}
    return middle, {name: statistics.median(own[name] / own[first] for own in taken) for name in cases}


def mechanisms(settings: Mapping[str, Any], records: int, rounds: int) -> None:
    corpus = invented(records, 100)
    middle, ratios = interleaved(
        {
            "plain": lambda: seconds(corpus, "none", settings),
            "plain, same batches": lambda: seconds(corpus, "none", settings, one_author=True),
            "adversarial": lambda: seconds(corpus, ADVERSARIAL, settings),
            "adversarial, mixed": lambda: seconds(corpus, MIXED, settings),
            "adversarial, mixed, advantage": lambda: seconds(corpus, ADVANTAGE, settings),
            "triplet": lambda: seconds(corpus, TRIPLET, settings),
            "dp-sgd, author": lambda: seconds(corpus, PRIVATE, settings),
        },
        rounds,
    )
    print(f"{records:,} records of 100 authors\n")
    print("| mechanism | epoch, s | of plain | of plain, same batches |\n|---|---|---|---|")
    for name in middle:
        same = ratios[name] / ratios["plain, same batches"]
        print(f"| {name} | {middle[name]:.2f} | {ratios[name]:.2f} | {same:.2f} |", flush=True)


def many_authors(settings: Mapping[str, Any], rounds: int) -> None:
    print(
        "\n| authors | plain, ms a step | adversarial, ms | of plain | full softmax, of plain |\n|---|---|---|---|---|"
    )
    for authors in (100, 1_000, 10_000):
        corpus = invented(max(authors, 10_000), authors)
        full = {**MIXED, "discriminator": {"sample": 2 * authors}}
        middle, ratios = interleaved(
            {
                "plain": lambda: seconds(corpus, "none", settings, most=STEPS),  # noqa: B023
                "drawn": lambda: seconds(corpus, MIXED, settings, most=STEPS),  # noqa: B023
                "full": lambda: seconds(corpus, full, settings, most=STEPS),  # noqa: B023
            },
            rounds,
        )
        plain, drawn = (1000 * middle[name] / STEPS for name in ("plain", "drawn"))
        print(f"| {authors:,} | {plain:.1f} | {drawn:.1f} | {ratios['drawn']:.2f} | {ratios['full']:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["mechanisms", "authors"])
    parser.add_argument("--records", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=200, help="width of the LSTM; the paper's is 550")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--precision", choices=["auto", "float32", "bfloat16"], default="auto", help="of all trainings")
    options = parser.parse_args()
    settings = {
        "model": {"name": "lstm", "embedding": options.hidden, "hidden": options.hidden, "layers": 2},
        "tokenizer": "mini",
        "training": {
            "epochs": 1,
            "batch_size": options.batch_size,
            "checkpoint_seconds": 10**6,
            "precision": options.precision,
        },
    }
    print(
        f"LSTM of 2 layers, {options.hidden}/{options.hidden}, 8,192 tokens, batches of {options.batch_size}; ", end=""
    )
    print(f"{torch.get_num_threads()} threads, {resolve(options.precision)}\n")
    if options.only != "authors":
        mechanisms(settings, options.records, options.rounds)
    if options.only != "mechanisms":
        many_authors(settings, options.rounds)


if __name__ == "__main__":
    main()

"""Seconds for an epsilon, for a calibration, and for the command, against dp-accounting used directly.

    python -m benchmarks.accounting

Repetitions are interleaved and the best is reported: on a machine with other work it is the one to trust. Both columns
of the first table give the same epsilon (the last column is the difference); ours builds the loss table in one numpy
expression where the library loops over its points.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution as library

from discreet.accounting import pld
from discreet.accounting.budget import budget
from discreet.accounting.samplers import profile_of
from discreet.accounting.setting import Setting
from discreet.engine.plan import Plan

SETTINGS = [  # rate, steps, noise, delta
    (0.01, 1_000, 1.0, 1e-5),
    (0.001, 10_000, 0.7, 1e-6),
    (256 / 60000, 14_062, 1.1, 1e-5),
    (1 / 9994, 999_400, 0.5, 8e-5),
    (0.001, 1_000_000, 1.0, 1e-6),
    (0.01, 1_000_000, 2.0, 1e-6),
    (0.05, 1_000_000, 20.0, 1e-7),
]
TARGETS = [(0.01, 1_000, 3.0, 1e-5), (1024 / 25000, 1_000, 4.9, 8e-5), (1 / 9994, 1_000_000, 3.0, 8e-5)]
COMMANDS = [
    "dp-sgd --rate .01 --steps 1000 --noise 1 --delta 1e-5",
    "dp-sgd --rate .0001 --steps 1000000 --noise .5 --delta 1e-6",
    "selective --rate .04 --steps 1000 --epsilon 4.9 --delta 8e-5",
    "jft --rate .028 --steps 3586 --noise 5.15 --phase1-noise 3 --missed 12 --checked 150 --delta 1e-6",
    "crt --rate .0256 --steps 390 --epsilon 1 --miss .1 --group 3 --delta 8e-5",
    "selective-paper --epochs 37 --segments 3 --epsilon 4.9 --delta 8e-5",
    "compare --rate .01 --steps 1000 --noise 1 --delta 1e-5 --miss .1",
]


def ours(rate: float, steps: int, noise: float, delta: float) -> float:
    pld.step.cache_clear()
    pld.poisson.cache_clear()
    return profile_of(Plan(rate=rate, steps=steps, noise=noise, neighbours="replace")).epsilon(delta)


def theirs(rate: float, steps: int, noise: float, delta: float) -> float:
    single = library.from_gaussian_mechanism(
        noise, sampling_prob=rate, neighboring_relation=NeighboringRelation.REPLACE_ONE
    )
    return float(single.self_compose(steps).get_epsilon_for_delta(delta))


def noise_for(setting: Setting) -> float:
    return float(budget("selective", setting).notion.noise or 0)


def timed(work: Callable[[], float]) -> tuple[float, float]:
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    print(f"\n{title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def epsilons(repetitions: int) -> list[list[str]]:
    best = {setting: [float("inf"), float("inf")] for setting in SETTINGS}
    found = {}
    for _ in range(repetitions):
        for setting in SETTINGS:
            values = []
            for i, count in enumerate((ours, theirs)):
                seconds, value = timed(partial(count, *setting))
                best[setting][i] = min(best[setting][i], seconds)
                values.append(value)
            found[setting] = values
    return [
        [f"{q:.4g}, {steps:,}, {noise:g}", f"{found[key][0]:.4f}", *(f"{s:.2f}" for s in best[key]), f"{gap:+.1e}"]
        for key in SETTINGS
        for q, steps, noise, _ in [key]
        for gap in [found[key][0] - found[key][1]]
    ]


def calibrations(repetitions: int) -> list[list[str]]:
    rows = []
    for rate, steps, epsilon, delta in TARGETS:
        solve = partial(noise_for, Setting(rate=rate, steps=steps, epsilon=epsilon, delta=delta))
        runs = [timed(solve) for _ in range(repetitions)]
        rows.append([f"{rate:.4g}, {steps:,}, {epsilon:g}", f"{runs[0][1]:.4f}", f"{min(s for s, _ in runs):.2f}"])
    return rows


def commands(repetitions: int) -> list[list[str]]:
    run = [sys.executable, "-c", "from discreet.cli import main; main()", "budget"]
    rows = []
    for words in COMMANDS:
        seconds = []
        for _ in range(repetitions):
            start = time.perf_counter()
            subprocess.run([*run, *words.split(), "--json"], check=True, capture_output=True)
            seconds.append(time.perf_counter() - start)
        rows.append([f"`discreet budget {words}`", f"{min(seconds):.2f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=3)
    repetitions = parser.parse_args().repetitions
    header = ["rate, steps, noise", "epsilon", "seconds, ours", "seconds, dp-accounting", "difference"]
    table("Epsilon of a replace-one Poisson plan", header, epsilons(repetitions))
    table("Noise for a target epsilon", ["rate, steps, epsilon", "noise", "seconds"], calibrations(repetitions))
    table("The command, import included", ["command", "seconds"], commands(repetitions))


if __name__ == "__main__":
    main()

"""Trainings of `benchmarks.authors` that have come to their end, held against plain ones that predict equally well.

    python -m benchmarks.authors --place runs/authors-100-all --share 1 --only none.3.mixed none.4.mixed RUN
    python -m benchmarks.authors_finished --place runs/authors-100-all --plain none.3.mixed none.4.mixed --only RUN

An epoch in the middle of a training has a high learning rate, and a regularizer that has not come to rest. What a user
gets is the last one. So plain training is run to its end several times, each longer than the one before, and every
other run is compared where it ends: with the two plain runs on either side of its perplexity, interpolated linearly in
the logarithm of perplexity (exposure canary by canary). The probe learns from and is asked about `--messages` messages,
divided anew `--probes` times; its figure is the mean, the share of plain training's is given by division too. Real
canaries and the gaps between authors are those against the longest plain run.
"""

import argparse
import math
from collections.abc import Callable
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.authors import Measuring
from benchmarks.authors_results import messages_of, often, tab_and_disparity, with_interval
from discreet.attacks.attribute import AttributeOptions, infer_attribute
from discreet.files import read_json, write_json
from discreet.mechanisms.run import open_run

State = Literal["last", "mean"]
STATES: tuple[State, ...] = ("last", "mean")
Finished = dict[str, Any]


class Finishing:
    """Measures the last epochs of the runs of a place; what was measured before is read."""

    def __init__(self, place: Path, reference: str, messages: int, probes: int) -> None:
        self.place, self.messages, self.probes = place, messages, probes
        plain = Measuring(place, open_run(place / reference))
        self._name, self._reference = reference, plain.at(len(plain.epochs))
        self._everything = messages_of({str(record.author) for record in plain.corpus.records("train")}, 1)

    def figures(self, name: str) -> Finished:
        """Perplexity, exposure, probes, tab and disparity of a run where it ends."""
        path = self.place / f"{name}.finished.json"
        known: dict[str, Any] = read_json(path) if path.is_file() else {}
        beside = f"beside {self._name}"
        if beside not in known or f"{self.messages}, {self.probes - 1}" not in known:
            measuring = Measuring(self.place, open_run(self.place / name))
            model = measuring.at(len(measuring.epochs))
            guarantee = measuring.run.guarantee
            known |= {"row": known.get("row") or measuring.row(len(measuring.epochs)), "epsilon": guarantee.epsilon}
            known[beside] = known.get(beside) or tab_and_disparity(measuring, model, self._reference)
            for seed in range(self.probes):
                known[f"{self.messages}, {seed}"] = {state: self._probe(measuring, state, seed) for state in STATES}
            write_json(path, known)
            print(f"measured {name}", flush=True)
        own = [known[f"{self.messages}, {seed}"] for seed in range(self.probes)]
        return {
            "name": name,
            "test": known["row"]["test"],
            "each": known["row"]["exposure"]["each"],
            "epsilon": known["epsilon"],
            **known[beside],
            **{state: np.array([one[state] for one in own]) for state in STATES},
        }

    def _probe(self, measuring: Measuring, state: State, seed: int) -> float:
        options = AttributeOptions(records=self.messages, state=state)
        model = measuring.at(len(measuring.epochs))
        return infer_attribute(model, measuring.encoder, self._everything, options=options, seed=seed).above_chance


def around(plain: list[Finished], level: float) -> Callable[[Callable[[Finished], Any]], Any] | None:
    """Reads any figure of plain training at a perplexity; None where no two plain runs lie on either side of it."""
    ordered = sorted(plain, key=lambda run: -run["test"])
    for worse, better in pairwise(ordered):
        if better["test"] <= level <= worse["test"]:
            share = math.log(worse["test"] / level) / math.log(worse["test"] / better["test"])
            return lambda figure: (1 - share) * figure(worse) + share * figure(better)
    return None


def row_of(run: Finished, plain: list[Finished]) -> str:
    """A line of the table; without figures of plain training where none predicts so well, or so badly."""
    at = around(plain, run["test"])
    own = np.array(often(run))
    cells = [f"`{run['name']}`", f"{run['test']:.1f}", f"{own.mean():.2f}"]
    if at is None:
        cells += ["–", "–", *(f"{run[state].mean():.4f} | – | –" for state in STATES)]
    else:
        others = at(lambda one: np.array(often(one)))
        cells += [f"{others.mean():.2f}", with_interval(list(others - own))]
        for state in STATES:
            there = at(itemgetter(state))
            shares = ", ".join(f"{share:.2f}" for share in run[state] / there)
            cells += [f"{run[state].mean():.4f}", f"{there.mean():.4f}"]
            cells += [f"**{run[state].mean() / there.mean():.2f}** ({shares})"]
    cells += [f"{run['tab']['rates'][kind]['greedy']['exact']:.3f}" for kind in ("planted", "real")]
    cells += [f"{run['disparity'][group]['gap']:.1f}" for group in ("5", "20")]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", type=Path, required=True, help="where benchmarks.authors has put the runs")
    parser.add_argument("--plain", nargs="+", required=True, help="plain runs of different lengths, the longest last")
    parser.add_argument("--only", nargs="*", default=[], help="runs to hold against them")
    parser.add_argument("--messages", type=int, default=40_000, help="that a probe learns from and is asked about")
    parser.add_argument("--probes", type=int, default=3, help="divisions of the messages")
    options = parser.parse_args()
    finishing = Finishing(options.place, options.plain[-1], options.messages, options.probes)
    plain = [finishing.figures(name) for name in options.plain]
    others = [finishing.figures(name) for name in options.only]
    columns = ["run", "perplexity", "exposure, 10+ copies", "plain there", "less"]
    for state in STATES:
        columns += [f"probe, {state} state", "plain there", "share of it (by division)"]
    columns += ["tab, planted", "tab, real", "gap (5)", "gap (20)"]
    print(f"\n| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for run in plain:
        print(row_of(run, []))
    for run in others:
        print(row_of(run, plain))
    for run in others:
        if run["epsilon"] is not None:
            print(f"\n`{run['name']}` has a proved epsilon of {run['epsilon']:,.1f} for an author.")


if __name__ == "__main__":
    main()

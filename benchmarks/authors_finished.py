"""Trainings of `benchmarks.authors` that have come to their end, held against plain ones that predict equally well.

    python -m benchmarks.authors --place runs/authors-100-all --share 1 --only none.3.mixed none.4.mixed RUN
    python -m benchmarks.authors_finished --place runs/authors-100-all --plain none.3.mixed none.4.mixed --only RUN

An epoch in the middle of a training has a high learning rate, and a regularizer that has not come to rest. What a user
gets is the last one. So plain training is run to its end several times, each longer than the one before, and every
other run is compared where it ends: with the two plain runs on either side of its perplexity, interpolated linearly in
the logarithm of perplexity (exposure canary by canary). The probe learns from and is asked about `--messages` messages,
divided anew `--probes` times; its figure is the mean, the share of plain training's is given by division too (least to
most). Real canaries and the gaps between authors are those against the longest plain run.
"""

import argparse
import math
from collections.abc import Callable
from itertools import pairwise, product
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.authors import Measuring
from benchmarks.authors_results import OFTEN, messages_of, often, tab_and_disparity, with_interval
from benchmarks.plots import standing_alone
from discreet.attacks.attribute import AttributeOptions, named_from, sample_of
from discreet.attacks.probe import Numbers
from discreet.attacks.states import record_states
from discreet.files import read_json, write_json
from discreet.mechanisms.run import open_run
from discreet.policy.specs import policy
from discreet.report.charts import Axis, Guide, Series, curves
from discreet.report.svg import Drawing, style_of

State = Literal["last", "mean"]
STATES: tuple[State, ...] = ("last", "mean")
Finished = dict[Any, Any]
Figure = Callable[[Finished], Any]


class Finishing:
    """Measures the last epochs of the runs of a place; what was measured before is read."""

    def __init__(self, place: Path, reference: str, messages: list[int], probes: int) -> None:
        self.place, self.messages, self.probes = place, messages, probes
        plain = Measuring(place, open_run(place / reference))
        self._name, self._reference = reference, plain.at(len(plain.epochs))
        everything = messages_of({str(record.author) for record in plain.corpus.records("train")}, 1)
        self._encoded = plain.encoder.encode_all(policy("nothing").secrets_of_all(everything))
        row = {record.id: number for number, record in enumerate(everything)}
        self._samples: dict[tuple[int, int], tuple[list[int], Numbers]] = {}
        for size, seed in product(messages, range(probes)):
            sample = sample_of(everything, AttributeOptions(records=size), seed)
            self._samples[size, seed] = [row[record.id] for record in sample.records], sample.labels

    def figures(self, name: str) -> Finished:
        """Perplexity, exposure, probes, tab and disparity of a run where it ends."""
        path = self.place / f"{name}.finished.json"
        known: dict[str, Any] = read_json(path) if path.is_file() else {}
        beside = f"beside {self._name}"
        missing = [key for key in self._probes() if key not in known]
        if beside not in known or missing:
            measuring = Measuring(self.place, open_run(self.place / name))
            model = measuring.at(len(measuring.epochs))
            guarantee = measuring.run.guarantee
            known |= {"row": known.get("row") or measuring.row(len(measuring.epochs)), "epsilon": guarantee.epsilon}
            known[beside] = known.get(beside) or tab_and_disparity(measuring, model, self._reference)
            vectors = record_states(model, self._encoded, "both") if missing else None
            for key in missing:
                messages, seed = (int(number) for number in key.split(", "))
                known[key] = self._probed(vectors, messages, seed)
            write_json(path, known)
            print(f"measured {name}", flush=True)
        return {
            "name": name,
            "test": known["row"]["test"],
            "each": known["row"]["exposure"]["each"],
            "epsilon": known["epsilon"],
            **known[beside],
            **{
                (messages, state): np.array([known[f"{messages}, {seed}"][state] for seed in range(self.probes)])
                for messages in self.messages
                for state in STATES
            },
        }

    def _probes(self) -> list[str]:
        return [f"{messages}, {seed}" for messages in self.messages for seed in range(self.probes)]

    def _probed(self, vectors: Any, messages: int, seed: int) -> dict[str, float]:
        """By how much more often than by chance the author is named, from last states and from their means."""
        rows, labels = self._samples[messages, seed]
        parts = zip(STATES, vectors[rows].chunk(2, dim=1), strict=True)
        return {
            state: named_from(part, labels, AttributeOptions(records=messages, state=state), seed=seed).above_chance
            for state, part in parts
        }


def around(plain: list[Finished], level: float) -> Callable[[Figure], Any] | None:
    """Reads any figure of plain training at a perplexity; None where no two plain runs lie on either side of it."""
    ordered = sorted(plain, key=lambda run: -run["test"])
    for worse, better in pairwise(ordered):
        if better["test"] <= level <= worse["test"]:
            share = math.log(worse["test"] / level) / math.log(worse["test"] / better["test"])
            return lambda figure: (1 - share) * figure(worse) + share * figure(better)
    return None


def row_of(run: Finished, plain: list[Finished], messages: list[int]) -> str:
    """A line of the table; without figures of plain training where none predicts so well, or so badly."""
    at = around(plain, run["test"])
    own = np.array(often(run))
    cells = [f"`{run['name']}`", f"{run['test']:.1f}", f"{own.mean():.2f}"]
    if at is None:
        cells += ["–", "–"]
    else:
        others = at(lambda one: np.array(often(one)))
        cells += [f"{others.mean():.2f}", with_interval(list(others - own))]
    for probe in product(messages, STATES):
        found, there = run[probe], None if at is None else at(itemgetter(probe))
        of_plain = ""
        if there is not None:
            shares = found / there
            of_plain = f" of {there.mean():.4f}: **{found.mean() / there.mean():.2f}**"
            of_plain += f" ({shares.min():.2f} to {shares.max():.2f})"
        cells.append(f"{found.mean():.4f}{of_plain}")
    cells += [f"{run['tab']['rates'][kind]['greedy']['exact']:.3f}" for kind in ("planted", "real")]
    cells += [f"{run['disparity'][group]['gap']:.1f}" for group in ("5", "20")]
    return f"| {' | '.join(cells)} |"


def drawing(
    what: str, axis: Axis, plain: list[Finished], others: list[Finished], figure: Figure, guides: list[Guide]
) -> str:
    """A figure against perplexity: plain trainings of several lengths as a curve, every other run as a point."""
    curve = tuple((run["test"], figure(run)) for run in sorted(plain, key=lambda run: -run["test"]))
    series = [Series("plain, by length", style_of(0), curve)]
    series += [
        Series(run["name"], style_of(number), ((run["test"], figure(run)),)) for number, run in enumerate(others, 1)
    ]
    said = Drawing(what, "Where trainings end; bottom left is best.", f"authors-finished-{axis.label.split()[0]}")
    return curves(said, series, Axis("test perplexity", log=True), axis, guides)


def drawings(plain: list[Finished], others: list[Finished], messages: int) -> dict[str, str]:
    """Exposure and what a probe finds, against perplexity."""
    exposure = Axis(f"exposure of canaries with {OFTEN}+ copies (bits)", zero=True)
    probe = Axis("probe above chance, last state", zero=True)
    return {
        "exposure": drawing(
            "Exposure against perplexity",
            exposure,
            plain,
            others,
            lambda run: float(np.mean(often(run))),
            [Guide(1.44, "no leak: 1.44")],
        ),
        "probe": drawing(
            "Authors named by a fresh probe, against perplexity",
            probe,
            plain,
            others,
            lambda run: float(run[messages, "last"].mean()),
            [],
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", type=Path, required=True, help="where benchmarks.authors has put the runs")
    parser.add_argument("--plain", nargs="+", required=True, help="plain runs of different lengths, the longest last")
    parser.add_argument("--only", nargs="*", default=[], help="runs to hold against them")
    parser.add_argument(
        "--messages", nargs="+", type=int, default=[20_000, 40_000], help="that a probe learns from and is asked about"
    )
    parser.add_argument("--probes", type=int, default=3, help="divisions of the messages")
    parser.add_argument("--plots", type=Path, help="a folder for the drawings")
    options = parser.parse_args()
    finishing = Finishing(options.place, options.plain[-1], options.messages, options.probes)
    plain = [finishing.figures(name) for name in options.plain]
    others = [finishing.figures(name) for name in options.only]
    columns = ["run", "perplexity", "exposure, 10+ copies", "plain there", "less"]
    columns += [f"probe, {state} state, {messages:,}" for messages, state in product(options.messages, STATES)]
    columns += ["tab, planted", "tab, real", "gap (5)", "gap (20)"]
    print(f"\n| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for run in plain:
        print(row_of(run, [], options.messages))
    for run in others:
        print(row_of(run, plain, options.messages))
    for run in others:
        if run["epsilon"] is not None:
            print(f"\n`{run['name']}` has a proved epsilon of {run['epsilon']:,.1f} for an author.")
    if options.plots:
        options.plots.mkdir(parents=True, exist_ok=True)
        for name, svg in drawings(plain, others, options.messages[-1]).items():
            path = options.plots / f"{options.place.name}-finished-{name}.svg"
            path.write_text(standing_alone(svg), encoding="utf-8")


if __name__ == "__main__":
    main()

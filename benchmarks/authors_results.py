"""The runs of `benchmarks.authors` side by side where they predict equally well: tables and plots.

    python -m benchmarks.authors_results --levels 335 311                            # table for each level
    python -m benchmarks.authors_results --only none adversarial.prefix@1 --plots docs/images
    python -m benchmarks.authors_results --plain none.mixed --messages 40000         # against another, more to probe
    python -m benchmarks.authors_results --plain none.mixed --seeds 0 1 2            # exposure alone, of several seeds

At each level of test perplexity every run that comes so far is shown. Exposure is interpolated between the two epochs
around the level (linear in the logarithm of perplexity, canary by canary), so that runs are compared at the same
perplexity and not at epochs that happen to be near; intervals are of the mean over canaries. Probe, tab and disparity
are measured at the epoch nearest to the level (once; the run's JSON keeps them). Disparity is the increase over the
last epoch of the plain run, real canaries are each author's message that it finds hardest to predict. The probe learns
from and is asked about messages drawn from all of the authors', read in training or not. Without `--levels` there are
two: the best that the worst of all runs reaches, and the best that the worst of those without noise reaches. Several
seeds are for exposure alone: their canaries count as one set.
"""

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Container
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from benchmarks.authors import Measuring, messages_of_people, place_of
from benchmarks.plots import standing_alone
from discreet.attacks.attribute import AttributeOptions, infer_attribute
from discreet.attacks.contract import Target
from discreet.attacks.rates import mean_interval
from discreet.attacks.reading import reader_of
from discreet.attacks.tab import TabOptions, planted_texts, tab, unusual_texts
from discreet.evaluate.disparity import disparity_of
from discreet.files import read_json, write_json
from discreet.mechanisms.run import open_run
from discreet.models.language import new_model
from discreet.policy.specs import policy
from discreet.report.charts import Axis, Guide, Series, curves
from discreet.report.svg import Drawing, style_of
from discreet.text.records import Record

MESSAGES = AttributeOptions().records
OFTEN = 10
"""Copies from which on a canary is repeated often."""


class Comparing:
    """All runs of a place, and what their models are compared by."""

    def __init__(
        self, place: Path, names: list[str] | None = None, join: int = 1, plain: str = "none", messages: int = MESSAGES
    ) -> None:
        self.place, self.join, self.plain, self.messages = place, join, plain, messages
        found = sorted(
            path.stem for path in place.glob("*.json") if not path.stem.startswith(("canaries", "untrained"))
        )
        names = names or [plain, *(name for name in found if name != plain)]
        self.runs: dict[str, dict[str, Any]] = {name: read_json(place / f"{name}.json") for name in names}

    def best(self, name: str) -> float:
        return float(min(row["test"] for row in self.runs[name]["epochs"]))

    def levels(self) -> list[float]:
        noiseless = [name for name, run in self.runs.items() if run["epsilon"] is None]
        return [max(map(self.best, self.runs)), max(map(self.best, noiseless))]

    def nearest(self, name: str, level: float) -> dict[str, Any]:
        rows = self.runs[name]["epochs"]
        found: dict[str, Any] = min(rows, key=lambda row: abs(math.log(row["test"] / level)))
        return found

    def at(self, level: float) -> dict[str, dict[str, Any]]:
        """The row of each run that reaches a level, with all that is measured there."""
        rows = {}
        for name, run in self.runs.items():
            each = exposures_at(run["epochs"], level)
            if each is not None:
                nearest = self.nearest(name, level)
                rows[name] = nearest | {"each": each} | self._details(name, int(nearest["epoch"]))
        return rows

    def _details(self, name: str, epoch: int) -> dict[str, Any]:
        run = self.runs[name]
        known: dict[str, Any] = run.setdefault("details", {})
        changed = {"plain": (self.plain, "none"), "messages": (self.messages, MESSAGES)}
        key = ", ".join([str(epoch), *(f"{name} {own}" for name, (own, usual) in changed.items() if own != usual)])
        if key not in known:
            known[key] = self._measure(name, epoch)
            write_json(self.place / f"{name}.json", run)
            print(f"measured {name} at epoch {epoch}", flush=True)
        found: dict[str, Any] = known[key]
        return found

    def _measure(self, name: str, epoch: int) -> dict[str, Any]:
        measuring = Measuring(self.place, open_run(self.place / name))
        plain = Measuring(self.place, open_run(self.place / self.plain))
        reference = plain.at(len(self.runs[self.plain]["epochs"]))
        model = measuring.at(epoch)
        everything = messages_of({str(record.author) for record in measuring.corpus.records("train")}, self.join)
        probes = {
            options.state: infer_attribute(model, measuring.encoder, everything, options=options).to_json()
            for options in self._probes()
        }
        return {"probe": probes} | tab_and_disparity(measuring, model, reference)

    def _probes(self) -> tuple[AttributeOptions, ...]:
        return AttributeOptions(records=self.messages), AttributeOptions(records=self.messages, state="mean")

    def untrained(self) -> dict[str, Any]:
        """The probe on a model of the same shape that has read nothing."""
        place = self.place / ("untrained.json" if self.messages == MESSAGES else f"untrained-{self.messages}.json")
        if not place.is_file():
            measuring = Measuring(self.place, open_run(self.place / self.plain))
            settings = measuring.run.recipe.model.sizes
            model = new_model("lstm", measuring.encoder.vocabulary_size, settings, seed=0).eval()
            everything = messages_of({str(record.author) for record in measuring.corpus.records("train")}, self.join)
            found = {
                own.state: infer_attribute(model, measuring.encoder, everything, options=own).to_json()
                for own in self._probes()
            }
            write_json(place, found)
        known: dict[str, Any] = read_json(place)
        return known


def tab_and_disparity(measuring: Measuring, model: nn.Module, reference: nn.Module) -> dict[str, Any]:
    """What is typed on from a first token, and who loses most against a plain model."""
    encoder, nothing = measuring.encoder, policy("nothing")
    canaries = measuring.manifest.record_ids()
    own = [record for record in measuring.corpus.records("train") if record.id not in canaries]
    texts = {
        "planted": planted_texts(Target(model, encoder, nothing, measuring.corpus, measuring.manifest)),
        "real": unusual_texts(reference, encoder, nothing, own, 100),
    }
    times = [canary.repetitions for canary in measuring.manifest.planted()]
    trained = Counter(str(record.author) for record in own)
    return {
        "tab": tab(reader_of(model), encoder, texts, TabOptions(beams=1), repetitions=times).to_json(),
        "disparity": {
            str(group): _without_authors(
                disparity_of(model, measuring.encoded["test"], trained, reference, group).to_json()
            )
            for group in (5, 20)
        },
    }


def messages_of(authors: Container[str], join: int) -> list[Record]:
    """All that these people have written in the channel."""
    return [record for record in messages_of_people(join) if str(record.author) in authors]


def exposures_at(epochs: list[dict[str, Any]], level: float) -> list[tuple[int, float, float]] | None:
    """Copies, exposure and exposure by fit of each canary where the perplexity first falls to a level."""
    for before, after in pairwise(epochs):
        if after["test"] <= level <= before["test"]:
            share = math.log(before["test"] / level) / math.log(before["test"] / after["test"])
            pairs = zip(before["exposure"]["each"], after["exposure"]["each"], strict=True)
            return [(a[0], a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2])) for a, b in pairs]
    return None


def _without_authors(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key != "authors"}


def often(row: dict[str, Any], column: int = 1) -> list[float]:
    """Exposure of the canaries that are repeated often, by sample (1) or by fit (2)."""
    return [own[column] for own in row["each"] if own[0] >= OFTEN]


def exposures(every: list[Comparing], level: float, plain: str) -> str:
    """Exposure of each run at a level, seed by seed and together, against that of a plain run."""
    lines = ["| run | exposure, 10+ copies | less than plain | seed by seed |", "|---|---|---|---|"]
    for name in every[0].runs:
        pairs = [[exposures_at(own.runs[run]["epochs"], level) for run in (name, plain)] for own in every]
        if name == plain or not all(each for pair in pairs for each in pair):
            continue
        bits = [[often({"each": each}) for each in pair] for pair in pairs]
        less = [[there - here for here, there in zip(*pair, strict=True)] for pair in bits]
        together = [one for seed in less for one in seed]
        by_seed = ", ".join(f"{np.mean(seed):.2f}" for seed in less)
        mean = np.mean([one for own, _ in bits for one in own])
        lines.append(f"| `{name}` | {mean:.2f} | {with_interval(together)} | {by_seed} |")
    return "\n".join(lines)


def table(rows: dict[str, dict[str, Any]], plain: str) -> str:
    columns = ["run", f"exposure, {OFTEN}+ copies", f"less than {plain}", "by fit", "fewer copies", "nearest epoch"]
    columns += ["tab, planted", "tab, real", "probe above chance", "on mean state", "gap (5)", "gap (20)"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, row in rows.items():
        own, rare = often(row), [one[1] for one in row["each"] if one[0] < OFTEN]
        others = often(rows[plain]) if plain in rows else own
        less = "–" if name == plain or plain not in rows else with_interval(list(np.subtract(others, own)))
        probe, rates = row["probe"], row["tab"]["rates"]
        cells = [
            f"`{name}`",
            with_interval(own),
            less,
            f"{np.mean(often(row, 2)):.1f}",
            f"{np.mean(rare):.2f}",
            f"{row['epoch']} ({row['test']:.0f})",
            f"{rates['planted']['greedy']['exact']:.3f}",
            f"{rates['real']['greedy']['exact']:.3f}",
            _above(probe["last"]),
            _above(probe["mean"]),
            *(f"{row['disparity'][group]['gap']:.1f}" for group in ("5", "20")),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def reached(rows: dict[str, dict[str, Any]], plain: str) -> str:
    """One line a run: how it stands to plain training and to `dp-sgd`."""
    lines = []
    for name, row in rows.items():
        if name == plain:
            continue
        parts = []
        if plain in rows:
            less = np.mean(often(rows[plain])) - np.mean(often(row))
            share = row["probe"]["last"]["above_chance"] / rows[plain]["probe"]["last"]["above_chance"]
            parts += [f"exposure of often repeated canaries {less:+.2f} bits below that of `{plain}`"]
            parts += [f"the probe is {share:.2f} times as far above chance"]
        private = next((own for other, own in rows.items() if other.startswith("dp-sgd")), None)
        if private is not None and row is not private:
            gaps = [f"{one['disparity'][group]['gap']:.1f}" for group in ("5", "20") for one in (row, private)]
            parts += [
                "the gap between authors is {} where that of `dp-sgd` is {} (5), {} where it is {} (20)".format(*gaps)
            ]
        lines.append(f"- `{name}`: {'; '.join(parts)}.")
    return "\n".join(lines)


def with_interval(values: list[float]) -> str:
    low, high = mean_interval(values) or (0.0, 0.0)
    return f"{np.mean(values):.2f} ({low:.2f} to {high:.2f})"


def _above(probe: dict[str, Any]) -> str:
    low, high = probe["above_chance_interval"]
    return f"{probe['above_chance']:.3f} ({low:.3f} to {high:.3f})"


def exposure_plot(rows: dict[str, dict[str, Any]], level: float) -> str:
    """Mean exposure against the number of copies."""
    series = []
    for number, (name, row) in enumerate(rows.items()):
        parts: dict[int, list[float]] = defaultdict(list)
        for times, bits, _ in row["each"]:
            parts[times].append(bits)
        points = tuple((float(times), float(np.mean(parts[times]))) for times in sorted(parts))
        series.append(Series(name, style_of(number), points))
    title = f"Exposure by copies at perplexity {level:.0f}"
    drawing = Drawing(title, "Lower is more discreet.", f"authors-exposure-{level:.0f}")
    x, y = Axis("copies of a canary", log=True), Axis("mean exposure (bits)", zero=True)
    return curves(drawing, series, x, y, [Guide(1.44, "no leak: 1.44")])


def training_plot(runs: dict[str, dict[str, Any]]) -> str:
    """Exposure of often repeated canaries against perplexity, epoch by epoch."""
    series = [
        Series(
            name,
            style_of(number),
            tuple((row["test"], float(np.mean(often(row["exposure"])))) for row in run["epochs"]),
        )
        for number, (name, run) in enumerate(runs.items())
    ]
    drawing = Drawing("Exposure against perplexity", "Every epoch is a point; bottom left is best.", "authors-training")
    y = Axis(f"exposure of canaries with {OFTEN}+ copies (bits)", zero=True)
    return curves(drawing, series, Axis("test perplexity", log=True), y, [Guide(1.44, "no leak: 1.44")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--authors", type=int, default=100)
    parser.add_argument("--place", type=Path, help="where runs are [runs/authors-AUTHORS]")
    parser.add_argument("--join", type=int, default=1, help="messages of an author that make a record")
    parser.add_argument(
        "--seeds", nargs="*", type=int, default=[0], help="of benchmarks.authors; several: exposure alone"
    )
    parser.add_argument("--only", nargs="*", help="runs to compare [all]")
    parser.add_argument("--levels", nargs="*", type=float, help="test perplexities at which to compare")
    parser.add_argument("--plain", default="none", metavar="RUN", help="the plain run that others are held against")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="that the probe learns from and is asked about")
    parser.add_argument("--plots", type=Path, help="a folder for the drawings")
    options = parser.parse_args()
    places = [options.place or place_of(options.authors, options.join, seed) for seed in options.seeds]
    every = [Comparing(place, options.only, options.join, options.plain, options.messages) for place in places]
    place, comparing = places[0], every[0]
    if len(every) > 1:
        for level in options.levels or comparing.levels():
            print(f"### Perplexity {level:.0f}\n\n{exposures(every, level, options.plain)}\n")
        return
    plots = {"training": training_plot(comparing.runs)}
    for level in options.levels or comparing.levels():
        rows = comparing.at(level)
        plots[f"exposure-{level:.0f}"] = exposure_plot(rows, level)
        print(
            f"### Perplexity {level:.0f}\n\n{table(rows, options.plain)}\n\n{reached(rows, options.plain)}\n",
            flush=True,
        )
    untrained = comparing.untrained()
    print(f"A model of the same shape that has read nothing: probe above chance {_above(untrained['last'])}, ", end="")
    print(f"on mean state {_above(untrained['mean'])}.")
    for name, run in comparing.runs.items():
        if run["epsilon"]:
            print(f"`{name}` has a proved epsilon of {run['epsilon']:,.0f} for an author.")
    if options.plots:
        options.plots.mkdir(parents=True, exist_ok=True)
        for name, svg in plots.items():
            path = options.plots / f"{place.name}-{name}.svg"
            path.write_text(standing_alone(svg), encoding="utf-8")


if __name__ == "__main__":
    main()

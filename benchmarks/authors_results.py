"""The runs of `benchmarks.authors` side by side where they predict equally well: a table and plots.

    python -m benchmarks.authors_results --only none adversarial@1 triplet@1 dp-sgd --page docs/results-authors.md

Two levels of test perplexity: *high* is the best that the worst of all runs reaches, *low* the best that the worst of
those without noise reaches. Of each run that epoch is taken whose perplexity is nearest to the level. There the probe,
the tab attack and the disparity are measured (once; the run's JSON keeps them). Disparity is the increase over the last
epoch of `none`, real canaries are each author's message that it finds hardest to predict.
"""

import argparse
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.authors import Measuring, place_of
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

OFTEN = 10
"""Copies from which on a canary is repeated often."""
FAR = 0.15
"""A run is left out of a level that it misses by more than this share."""

PAGE = """# Author privacy on real chat

Regularizers that hide authors, and dp-sgd on whole authors, where all predict equally well. `python -m
benchmarks.authors` trains, `python -m benchmarks.authors_results --page docs/results-authors.md` wrote this page from
the runs. 100 people of the Ubuntu channel with the most messages, every fourth message of each (7,600 to train on), a
canary of five random words for each with 1 to 50 copies, a 2-layer LSTM of 128 units with a vocabulary of 3,000 from
other people's messages, 8 epochs of one seed: sized to minutes on one core, so perplexities are high. Exposure is
counted in a sample of 2,000 (10.97 bits at most). The probe is the attack [`attribute`](attacks.md#attribute) on the
train split; tab types the first token; *gap* is by how many points of perplexity the 5 (20) smallest authors lose
more than the largest, against the last epoch of `none`.
"""


class Comparing:
    """All runs of a place, and what their models are compared by."""

    def __init__(self, place: Path, names: list[str] | None = None) -> None:
        self.place = place
        found = sorted(path.stem for path in place.glob("*.json") if path.stem not in ("canaries", "untrained"))
        names = names or ["none", *(name for name in found if name != "none")]
        self.runs: dict[str, dict[str, Any]] = {name: read_json(place / f"{name}.json") for name in names}

    def best(self, name: str) -> float:
        return float(min(row["test"] for row in self.runs[name]["epochs"]))

    def levels(self) -> dict[str, float]:
        noiseless = [name for name, run in self.runs.items() if run["epsilon"] is None]
        return {"high": max(map(self.best, self.runs)), "low": max(map(self.best, noiseless))}

    def nearest(self, name: str, level: float) -> dict[str, Any]:
        rows = self.runs[name]["epochs"]
        found: dict[str, Any] = min(rows, key=lambda row: abs(math.log(row["test"] / level)))
        return found

    def at(self, level: float) -> dict[str, dict[str, Any]]:
        """The row of each run at a level, with all that is measured there."""
        near = {name: self.nearest(name, level) for name in self.runs}
        close = {name: row for name, row in near.items() if abs(row["test"] / level - 1) <= FAR}
        return {name: row | self._details(name, int(row["epoch"])) for name, row in close.items()}

    def _details(self, name: str, epoch: int) -> dict[str, Any]:
        run = self.runs[name]
        known: dict[str, Any] = run.setdefault("details", {})
        if str(epoch) not in known:
            known[str(epoch)] = self._measure(name, epoch)
            write_json(self.place / f"{name}.json", run)
            print(f"measured {name} at epoch {epoch}", flush=True)
        found: dict[str, Any] = known[str(epoch)]
        return found

    def _measure(self, name: str, epoch: int) -> dict[str, Any]:
        measuring = Measuring(self.place, open_run(self.place / name))
        plain = Measuring(self.place, open_run(self.place / "none"))
        reference = plain.at(len(self.runs["none"]["epochs"]))
        model, encoder = measuring.at(epoch), measuring.encoder
        canaries, nothing = measuring.manifest.record_ids(), policy("nothing")
        own = {
            split: [record for record in measuring.corpus.records(split) if record.id not in canaries]
            for split in ("train", "test")
        }
        target = Target(model, encoder, nothing, measuring.corpus, measuring.manifest)
        texts = {
            "planted": planted_texts(target),
            "real": unusual_texts(reference, encoder, nothing, own["train"], 100),
        }
        times = [canary.repetitions for canary in measuring.manifest.planted()]
        trained = Counter(str(record.author) for record in own["train"])
        mean = AttributeOptions(state="mean")
        probes = {"last": ("train", None), "mean": ("train", mean), "test": ("test", None)}
        return {
            "probe": {
                what: infer_attribute(model, encoder, own[split], options=options).to_json()
                for what, (split, options) in probes.items()
            },
            "tab": tab(reader_of(model), encoder, texts, TabOptions(beams=1), repetitions=times).to_json(),
            "disparity": {
                str(group): _without_authors(
                    disparity_of(model, measuring.encoded["test"], trained, reference, group).to_json()
                )
                for group in (5, 20)
            },
        }

    def untrained(self) -> dict[str, Any]:
        """The probe on a model of the same shape that has read nothing."""
        place = self.place / "untrained.json"
        if not place.is_file():
            measuring = Measuring(self.place, open_run(self.place / "none"))
            settings = measuring.run.recipe.model.sizes
            model = new_model("lstm", measuring.encoder.vocabulary_size, settings, seed=0).eval()
            canaries = measuring.manifest.record_ids()
            own = [record for record in measuring.corpus.records("train") if record.id not in canaries]
            write_json(place, infer_attribute(model, measuring.encoder, own).to_json())
        found: dict[str, Any] = read_json(place)
        return found


def _without_authors(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key != "authors"}


def often(row: dict[str, Any], column: int = 1) -> list[float]:
    """Exposure of the canaries that are repeated often, by sample (1) or by fit (2)."""
    return [own[column] for own in row["exposure"]["each"] if own[0] >= OFTEN]


def table(rows: dict[str, dict[str, Any]]) -> str:
    columns = ["run", "epoch", "perplexity", f"exposure, {OFTEN}+ copies", "less than none", "by fit", "fewer copies"]
    columns += ["tab, planted", "tab, real", "probe above chance", "on mean state", "on test", "gap (5)", "gap (20)"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, row in rows.items():
        own, rare = often(row), [one[1] for one in row["exposure"]["each"] if one[0] < OFTEN]
        plain = often(rows["none"]) if "none" in rows else own
        low, high = mean_interval([b - a for a, b in zip(own, plain, strict=True)]) or (0.0, 0.0)
        probe, rates = row["probe"], row["tab"]["rates"]
        cells = [
            f"`{name}`",
            str(row["epoch"]),
            f"{row['test']:.1f}",
            _with_interval(own),
            "–" if name == "none" else f"{np.mean(plain) - np.mean(own):.2f} ({low:.2f} to {high:.2f})",
            f"{np.mean(often(row, 2)):.1f}",
            f"{np.mean(rare):.2f}",
            f"{rates['planted']['greedy']['exact']:.3f}",
            f"{rates['real']['greedy']['exact']:.3f}",
            _above(probe["last"]),
            _above(probe["mean"]),
            _above(probe["test"]),
            *(f"{row['disparity'][group]['gap']:.1f}" for group in ("5", "20")),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def reached(rows: dict[str, dict[str, Any]]) -> str:
    """One line a run: how it stands to `none` and to `dp-sgd`."""
    lines = []
    for name, row in rows.items():
        if name == "none":
            continue
        parts = []
        if "none" in rows:
            less = np.mean(often(rows["none"])) - np.mean(often(row))
            share = row["probe"]["last"]["above_chance"] / rows["none"]["probe"]["last"]["above_chance"]
            parts += [f"exposure of often repeated canaries {less:+.2f} bits below that of `none`"]
            parts += [f"the probe is {share:.2f} times as far above chance"]
        if "dp-sgd" in rows and name != "dp-sgd":
            ratio = row["disparity"]["5"]["gap"] / rows["dp-sgd"]["disparity"]["5"]["gap"]
            parts += [f"the gap between authors is {ratio:.2f} times that of `dp-sgd`"]
        lines.append(f"- `{name}`: {'; '.join(parts)}.")
    return "\n".join(lines)


def _with_interval(values: list[float]) -> str:
    low, high = mean_interval(values) or (0.0, 0.0)
    return f"{np.mean(values):.2f} ({low:.2f} to {high:.2f})"


def _above(probe: dict[str, Any]) -> str:
    low, high = probe["above_chance_interval"]
    return f"{probe['above_chance']:.3f} ({low:.3f} to {high:.3f})"


def exposure_plot(rows: dict[str, dict[str, Any]], level: str) -> str:
    """Mean exposure against the number of copies."""
    series = []
    for number, (name, row) in enumerate(rows.items()):
        parts = row["exposure"]["by_repetitions"]
        points = tuple((float(times), float(parts[str(times)]["mean"])) for times in sorted(map(int, parts)))
        series.append(Series(name, style_of(number), points))
    drawing = Drawing(f"Exposure by copies, {level} perplexity", "Lower is more discreet.", f"authors-exposure-{level}")
    x, y = Axis("copies of a canary", log=True), Axis("mean exposure (bits)", zero=True)
    return curves(drawing, series, x, y, [Guide(1.44, "no leak: 1.44")])


def training_plot(runs: dict[str, dict[str, Any]]) -> str:
    """Exposure of often repeated canaries against perplexity, epoch by epoch."""
    series = [
        Series(name, style_of(number), tuple((row["test"], float(np.mean(often(row)))) for row in run["epochs"]))
        for number, (name, run) in enumerate(runs.items())
    ]
    drawing = Drawing("Exposure against perplexity", "Every epoch is a point; bottom left is best.", "authors-training")
    y = Axis(f"exposure of canaries with {OFTEN}+ copies (bits)", zero=True)
    return curves(drawing, series, Axis("test perplexity", log=True), y, [Guide(1.44, "no leak: 1.44")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--authors", type=int, default=100)
    parser.add_argument("--place", type=Path, help="where runs are [runs/authors-AUTHORS]")
    parser.add_argument("--only", nargs="*", help="runs to compare [all]")
    parser.add_argument("--page", type=Path, help="write table, plots and what was reached as a page, plots beside it")
    options = parser.parse_args()
    comparing = Comparing(options.place or place_of(options.authors), options.only)
    levels = {level: comparing.at(perplexity) for level, perplexity in comparing.levels().items()}
    plots = {"authors-training": training_plot(comparing.runs)}
    said = []
    for level, rows in levels.items():
        plots[f"authors-exposure-{level}"] = exposure_plot(rows, level)
        said.append(
            f"### {level.capitalize()} perplexity: {comparing.levels()[level]:.0f}\n\n{table(rows)}\n\n{reached(rows)}"
        )
    said.append(f"A model of the same shape that has read nothing: probe above chance {_above(comparing.untrained())}.")
    said += [
        f"`{name}` has a proved epsilon of {run['epsilon']:,.0f} for an author."
        for name, run in comparing.runs.items()
        if run["epsilon"]
    ]
    text = "\n\n".join(said)
    print(text)
    if options.page:
        folder = options.page.parent / "plots"
        folder.mkdir(parents=True, exist_ok=True)
        for name, svg in plots.items():
            (folder / f"{name}.svg").write_text(standing_alone(svg), encoding="utf-8")
        drawn = "\n\n".join(f"![{name}](plots/{name}.svg)" for name in plots)
        options.page.write_text(f"{PAGE}\n{text}\n\n{drawn}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

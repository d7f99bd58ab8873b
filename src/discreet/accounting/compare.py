"""All mechanisms in one setting, side by side, and epsilon as it grows with the steps.

    comparison = compare(Setting(rate=0.01, steps=1000, noise=1.0, delta=1e-5, miss=0.1))
    for row in comparison.rows: print(row.name, row.epsilon)
    plot(comparison, Path("epsilon.svg"))

The numbers answer different questions: read each with its neighbours. Metric privacy is not in the table; its epsilon
is per unit of distance in an embedding and there is no sampling rate, noise or step to set against the others.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.accounting.budget import budget, maker
from discreet.accounting.calibrate import COARSE
from discreet.accounting.confidential import Confidentiality, bayesian
from discreet.accounting.jft import JustFineTuneTwice
from discreet.accounting.notion import Notion, finite
from discreet.accounting.samplers import compose_plans
from discreet.accounting.setting import Setting, completed

POINTS = 7


@dataclass(frozen=True)
class Row:
    """One mechanism's answer."""

    name: str
    epsilon: float | None
    delta: float
    noise: float | None
    notion: str
    neighbours: str
    protects: str


@dataclass(frozen=True)
class Comparison:
    rows: tuple[Row, ...]
    steps: tuple[int, ...]
    curves: dict[str, tuple[float, ...]]
    """Epsilon at each of `steps`, to about 1 %, on a coarse grid."""

    def to_json(self) -> dict[str, Any]:
        curves = {name: [finite(epsilon) for epsilon in curve] for name, curve in self.curves.items()}
        return {
            "mechanisms": [row.__dict__ for row in self.rows],
            "curve": {"steps": list(self.steps), "epsilon": curves},
        }


def compare(setting: Setting) -> Comparison:
    """Every mechanism at the same rate, steps, noise and delta (or each with the noise it needs for epsilon)."""
    solved = setting.epsilon is not None
    first = budget("dp-sgd", replace(setting, neighbours="add-remove", group=1)).notion
    second = budget("dp-sgd", replace(setting, neighbours="replace", group=1)).notion
    rows = [
        _row("dp-sgd, add-remove", first, f"one whole {first.unit}"),
        _row("dp-sgd, replace", second, f"one whole {second.unit}"),
    ]
    # What dp-sgd needs under replace, jft and crt need too; selective needs it once per root of its segments.
    found = second.plans()[0][1]
    setting = replace(setting, neighbours=None, group=1)
    same = replace(
        setting, epsilon=None, noise=found.noise, rate=found.rate, steps=found.steps, epochs=None, batch=None
    )
    spread = replace(same, noise=found.noise * math.sqrt(setting.segments) if solved else found.noise)
    selective = budget("selective", spread).notion
    rows.append(_row("selective", selective, "found secrets of one record"))
    paper = replace(same, epsilon=setting.epsilon, noise=None) if solved else same
    rows.append(_row("selective-paper", budget("selective-paper", paper).notion, "found secrets of one record"))
    twice, masked = budget("jft", same).notion, budget("crt", same).notion
    if isinstance(twice, JustFineTuneTwice):
        rows.append(_row("jft", twice, "a found secret"))
        rows.append(_row("jft, missed", twice, "a missed secret", twice.epsilon_missed))
        if twice.epsilon_average is not None:
            rows.append(_row("jft, average", twice, "a secret, on average over misses", twice.epsilon_average))
    if isinstance(masked, Confidentiality):
        rows.append(_row("crt", masked, "a secret that redaction left, against its mask"))
        if masked.epsilon_bayesian is not None:
            rows.append(_row("crt, Bayesian", masked, "a random secret, against its mask", masked.epsilon_bayesian))
    steps, curves = _curves(same)
    return Comparison(tuple(rows), steps, curves)


def _row(name: str, notion: Notion, protects: str, epsilon: float | None = None) -> Row:
    return Row(
        name=name,
        epsilon=finite(notion.epsilon if epsilon is None else epsilon),
        delta=notion.delta,
        noise=notion.noise,
        notion=notion.name,
        neighbours=notion.neighbours,
        protects=protects,
    )


def _curves(setting: Setting) -> tuple[tuple[int, ...], dict[str, tuple[float, ...]]]:
    """Epsilon against steps, up to those of the setting."""
    setting = completed("selective", setting)
    last = setting.steps or 1
    first = max(1, last // 1000)
    ratio = (last / first) ** (1 / (POINTS - 1))
    steps = tuple(sorted({round(first * ratio**i) for i in range(POINTS)}))
    lines: dict[str, Callable[[Setting], float]] = {
        "dp-sgd, add-remove": lambda s: maker("dp-sgd")(replace(s, neighbours="add-remove")).headline(COARSE),
        "dp-sgd, replace (also jft, crt)": lambda s: maker("dp-sgd")(replace(s, neighbours="replace")).headline(COARSE),
        "selective": lambda s: maker("selective")(s).headline(COARSE),
        "selective-paper": lambda s: maker("selective-paper")(s).headline(COARSE),
    }
    if setting.segments == 1:
        lines["selective, dp-sgd replace, jft, crt"] = lines.pop("selective")
        del lines["dp-sgd, replace (also jft, crt)"]
    if setting.miss is not None:
        lines["crt, Bayesian"] = _bayesian
    return steps, {name: tuple(line(replace(setting, steps=n)) for n in steps) for name, line in lines.items()}


def _bayesian(setting: Setting) -> float:
    plan = maker("crt")(setting).plans()[0][1]
    return bayesian(compose_plans([plan], COARSE), setting.delta or 0.0, setting.miss or 0.0, setting.conservative_miss)


def plot(comparison: Comparison, path: Path) -> None:
    """Epsilon against steps as a vector or pixel graphic, by the path's extension."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    for (name, curve), style in zip(comparison.curves.items(), ("-", "--", "-.", ":", "-"), strict=False):
        shown = [(n, e) for n, e in zip(comparison.steps, curve, strict=True) if 0 < e < math.inf]
        axes.plot([n for n, _ in shown], [e for _, e in shown], style, marker="o", markersize=3, label=name)
    axes.set(xscale="log", yscale="log", xlabel="private steps", ylabel="epsilon")
    axes.grid(visible=True, which="both", alpha=0.25)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)


def drawn(comparison: Comparison, width: int = 60, height: int = 14) -> str:
    """The same plot in letters, for a terminal: both axes logarithmic, one letter for each mechanism."""
    points = [
        (letter, n, e)
        for letter, curve in zip("ABCDE", comparison.curves.values(), strict=False)
        for n, e in zip(comparison.steps, curve, strict=True)
        if 0 < e < math.inf
    ]
    if not points:
        return ""
    low, high = math.log(min(e for *_, e in points)), math.log(max(e for *_, e in points))
    left, right = math.log(comparison.steps[0]), math.log(comparison.steps[-1])
    rows = [[" "] * (width + 1) for _ in range(height + 1)]
    for letter, n, e in points:
        x = round(width * (math.log(n) - left) / max(right - left, 1e-9))
        y = round(height * (math.log(e) - low) / max(high - low, 1e-9))
        rows[height - y][x] = letter
    edge = [f"{math.exp(high):9.3g} |", *["          |"] * (height - 1), f"{math.exp(low):9.3g} |"]
    lines = [start + "".join(row).rstrip() for start, row in zip(edge, rows, strict=True)]
    lines.append(" " * 10 + "+" + "-" * width)
    lines.append(f"{'steps':>9}  {comparison.steps[0]:<{width - 12},}{comparison.steps[-1]:>12,}")
    lines += [f"  {letter}  {name}" for letter, name in zip("ABCDE", comparison.curves, strict=False)]
    return "epsilon\n" + "\n".join(lines)

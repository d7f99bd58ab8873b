"""The plots of a report, each with the table of what it shows.

    for figure in figures(runs): figure.svg, figure.columns, figure.rows

A plot is made where there is something to draw: perplexity against exposure and against epsilon (as the papers draw
them), training curves, exposure and membership over the training, membership by run, disparity between authors.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from discreet.report import words
from discreet.report.charts import Axis, Guide, Row, Series, curves, rows, scatter
from discreet.report.facts import RunFacts
from discreet.report.svg import Drawing, style_of

NO_LEAK = 1.44
"""Mean exposure, in bits, of a secret the model knows nothing of."""
WIDE = 5
"""Perplexities that differ by more than this factor stand on a logarithmic axis."""


@dataclass(frozen=True)
class Figure:
    """A drawing with its words and its data."""

    name: str
    title: str
    caption: str
    svg: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def figures(runs: Sequence[RunFacts]) -> list[Figure]:
    """All plots that these runs have data for."""
    makers: tuple[Callable[[Sequence[RunFacts]], Figure | None], ...] = (
        against_exposure,
        perplexity_against_epsilon,
        accuracy_against_epsilon,
        membership,
        training_curves,
        exposure_over_time,
        membership_over_time,
        disparity,
    )
    return [figure for figure in (make(runs) for make in makers) if figure]


def against_exposure(runs: Sequence[RunFacts]) -> Figure | None:
    """Perplexity against the exposure of canaries."""
    series, table, highest = [], [], 0.0
    for number, facts in enumerate(runs):
        found = facts.findings.exposure if facts.findings else None
        perplexity = _score(facts, "perplexity")
        if found is None or perplexity is None:
            continue
        series.append(Series(facts.name, style_of(number), ((perplexity, found.mean),), (found.interval,)))
        highest = max(highest, found.most)
        low, high = found.interval or (found.mean, found.mean)
        interval = f"{low:.2f} to {high:.2f}"
        table.append((facts.name, f"{perplexity:,.2f}", f"{found.mean:.2f}", interval, f"{found.maximum:.2f}"))
    if not series:
        return None
    title = "Perplexity against exposure"
    drawing = Drawing(title, f"{len(series)} runs; the best model is at the bottom left.", "exposure")
    svg = scatter(
        drawing,
        series,
        Axis("perplexity on all test tokens", log=_wide(one.points[0][0] for one in series)),
        Axis("mean exposure of canaries (bits)", zero=True),
        [Guide(NO_LEAK, "no leak: 1.44")],
    )
    caption = (
        "Left is a better language model, down a more discreet one. Exposure says by how many bits the model makes a "
        f"planted secret easier to guess; {highest:.2f} would be its first guess. Bars: 95 % intervals of the mean."
    )
    columns = ("run", "perplexity", "mean exposure", "95 % interval", "highest exposure")
    return Figure("exposure", title, caption, svg, columns, tuple(table))


def perplexity_against_epsilon(runs: Sequence[RunFacts]) -> Figure | None:
    return _against_epsilon(runs, "perplexity", "perplexity on all test tokens", "Perplexity against ε", "lower")


def accuracy_against_epsilon(runs: Sequence[RunFacts]) -> Figure | None:
    return _against_epsilon(runs, "accuracy", "accuracy", "Accuracy against ε", "higher")


def _against_epsilon(runs: Sequence[RunFacts], key: str, label: str, title: str, better: str) -> Figure | None:
    series, guides, table = [], [], []
    for number, facts in enumerate(runs):
        value, epsilon = _score(facts, key), facts.epsilon
        if value is None:
            continue
        told = words.epsilon(facts)
        table.append((facts.name, told, words.protects(facts), f"{value:,.4g}"))
        if epsilon is None:
            guides.append(Guide(value, f"{facts.name} ({told})", style_of(number)))
        elif facts.guarantee.notion != "metric differential privacy":
            series.append(Series(facts.name, style_of(number), ((epsilon, value),)))
    if not series:
        return None
    name = f"epsilon-{key}"
    drawing = Drawing(title, f"{len(series)} runs with a proof, {len(guides)} without.", name)
    values = [one.points[0][1] for one in series] + [guide.value for guide in guides]
    epsilons = [one.points[0][0] for one in series]
    svg = scatter(
        drawing,
        series,
        Axis("ε proved (smaller: stronger)", log=_wide(epsilons), zero=not _wide(epsilons)),
        Axis(label, log=key == "perplexity" and _wide(values)),
        guides,
    )
    caption = (
        f"{better.capitalize()} is more useful, left is better protected. Dashed lines are runs without a finite ε. "
        "An ε is worth what its notion protects: a whole record, only the secrets that the policy finds, or a secret "
        "against its mask. Compare points of one notion; the table says which."
    )
    return Figure(name, title, caption, svg, ("run", "ε at most", "protects", key), tuple(table))


def membership(runs: Sequence[RunFacts]) -> Figure | None:
    """How well records trained on are told from others, by run."""
    entries, table = [], []
    for number, facts in enumerate(runs):
        found = facts.findings.membership.get("records") if facts.findings else None
        if found is None:
            continue
        entries.append(Row(facts.name, style_of(number), ((found.auc, "AUC"),), found.interval))
        low, high = found.interval or (found.auc, found.auc)
        table.append(
            (facts.name, f"{found.auc:.3f}", f"{low:.3f} to {high:.3f}", found.signal, f"{found.at_1_percent:.3f}")
        )
    if not entries:
        return None
    title = "Membership: can trained records be recognised?"
    drawing = Drawing(title, f"{len(entries)} runs; 0.5 is guessing.", "membership")
    svg = rows(drawing, entries, Axis("AUC of the best signal"), Guide(0.5, "guessing"))
    caption = (
        "The chance that a record the model was trained on looks more familiar to it than one it was not; 0.5 is "
        "guessing. The best of several signals is shown, which flatters the attacker. Bars: 95 % intervals."
    )
    columns = ("run", "AUC", "95 % interval", "signal", "recognised at 1 % false alarms")
    return Figure("membership", title, caption, svg, columns, tuple(table))


def training_curves(runs: Sequence[RunFacts]) -> Figure | None:
    """Loss of plain training and on the validation split, by step."""
    series, table = [], []
    for number, facts in enumerate(runs):
        style = style_of(number)
        trained = tuple((float(row["step"]), float(row["loss"])) for row in facts.curve if row.get("loss") is not None)
        for phase in dict.fromkeys(row.get("phase", "train") for row in facts.metrics):
            own = [row for row in facts.metrics if row.get("phase", "train") == phase]
            checked = tuple((float(r["step"]), float(r["valid_loss"])) for r in own if r.get("valid_loss") is not None)
            name = facts.name if phase == "train" else f"{facts.name}, {phase}"
            if checked:
                series.append(Series(name, style, checked))
            table += [(name, "validation", f"{step:,.0f}", f"{loss:.4f}") for step, loss in checked]
        if len(trained) > 1:
            known = any(one.style == style for one in series)
            series.append(Series(facts.name, style, trained, marks=False, faint=known))
            table += [(facts.name, "training", f"{step:,.0f}", f"{loss:.4f}") for step, loss in _some(trained)]
    if not series:
        return None
    title = "Training curves"
    drawing = Drawing(title, f"The losses of {len({one.name for one in series})} trainings.", "curves")
    svg = curves(drawing, series, Axis("step"), Axis("loss per target (nats)"))
    caption = (
        "Marked lines: loss on the validation split; thin lines: loss of plain training on the text it may read in "
        "clear. The losses of private steps are not kept, because they are not private."
    )
    return Figure("curves", title, caption, svg, ("run", "loss", "step", "value"), tuple(table))


def exposure_over_time(runs: Sequence[RunFacts]) -> Figure | None:
    return _over_time(
        runs, "exposure", "Exposure over the training", "mean exposure (bits)", Guide(NO_LEAK, "no leak: 1.44")
    )


def membership_over_time(runs: Sequence[RunFacts]) -> Figure | None:
    return _over_time(
        runs, "membership_auc", "Membership over the training", "AUC (signal: loss)", Guide(0.5, "guessing")
    )


def _over_time(runs: Sequence[RunFacts], key: str, title: str, label: str, guide: Guide) -> Figure | None:
    in_epochs = all(point.epoch is not None for facts in runs for point in facts.timeline)
    unit = "epoch" if in_epochs else "step"
    series, table = [], []
    for number, facts in enumerate(runs):
        points = tuple(
            (float(getattr(row, unit)), float(getattr(row, key)))
            for row in facts.timeline
            if getattr(row, key) is not None
        )
        if points:
            series.append(Series(facts.name, style_of(number), points))
        table += [(facts.name, f"{at:g}", f"{value:.3f}") for at, value in points]
    if not series:
        return None
    name = f"{key.replace('_', '-')}-over-time"
    svg = curves(Drawing(title, f"{len(series)} trainings.", name), series, Axis(unit), Axis(label), [guide])
    caption = "What attacks on checkpoints found while the model was trained."
    return Figure(name, title, caption, svg, ("run", unit, label), tuple(table))


def disparity(runs: Sequence[RunFacts]) -> Figure | None:
    """Authors with many records against authors with few."""
    known = [(number, facts, facts.disparity) for number, facts in enumerate(runs) if facts.disparity]
    if not known:
        return None
    increases = all(found["top_increase"] is not None for _, _, found in known)
    suffix, label = ("_increase", "increase of perplexity over the reference") if increases else ("", "perplexity")
    entries, table = [], []
    for number, facts, found in known:
        top, bottom = (found[f"{side}{suffix}"] for side in ("top", "bottom"))
        if top is None or bottom is None:
            continue
        points = ((float(top), "authors with most records"), (float(bottom), "authors with fewest records"))
        entries.append(Row(facts.name, style_of(number), points))
        table.append((facts.name, str(found["group"]), f"{top:,.2f}", f"{bottom:,.2f}", f"{bottom - top:+,.2f}"))
    if not entries:
        return None
    title = "Disparity between authors"
    svg = rows(Drawing(title, f"{len(entries)} runs.", "disparity"), entries, Axis(label))
    caption = (
        "Filled: the authors with the most records; hollow: those with the fewest. A mechanism that costs the small "
        "authors more has the hollow mark far to the right."
    )
    columns = ("run", "authors a side", f"most records: {label}", f"fewest records: {label}", "gap")
    return Figure("disparity", title, caption, svg, columns, tuple(table))


def _score(facts: RunFacts, key: str) -> float | None:
    value = (facts.scores or {}).get(key)
    return None if value is None else float(value)


def _wide(values: Iterable[float]) -> bool:
    found = list(values)
    return min(found) > 0 and max(found) / min(found) > WIDE


def _some(points: Sequence[tuple[float, float]], most: int = 25) -> list[tuple[float, float]]:
    """So many of the points, the last one among them: a table nobody reads to the end is no help."""
    every = max(1, -(-len(points) // most))
    return [*points[:-1][::every], points[-1]]

"""The three kinds of drawings a report has: points in a field, curves, and rows of points on one axis."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.report.labels import Box, label_points
from discreet.report.scales import Scale, scale_of, shown
from discreet.report.svg import FONT, LETTER, WIDTH, Drawing, Place, Style

LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 44
"""Room for the axes."""
FIELD = 290
"""Height of a field with axes."""
ROW = 34
"""Height of a row."""


@dataclass(frozen=True)
class Axis:
    """What an axis measures."""

    label: str
    log: bool = False
    zero: bool = False


@dataclass(frozen=True)
class Series:
    """Points of one run: with an interval each, or joined to a curve."""

    name: str
    style: Style
    points: tuple[Place, ...]
    intervals: tuple[tuple[float, float] | None, ...] = ()
    """Low and high of the vertical value of each point."""
    marks: bool = True
    """Whether points are marked; a long curve is a line only."""
    faint: bool = False


@dataclass(frozen=True)
class Guide:
    """A horizontal line with a name: a value to compare with."""

    value: float
    name: str
    style: Style | None = None


@dataclass(frozen=True)
class Row:
    """A run's points on the one axis, each with its marker, and an interval."""

    name: str
    style: Style
    points: tuple[tuple[float, str], ...]
    """Value, and what it is."""
    interval: tuple[float, float] | None = None


@dataclass
class Field:
    """A drawing with two axes."""

    drawing: Drawing
    x: Scale
    y: Scale
    frame: Box
    places: list[tuple[float, float, str]] = field(default_factory=list)


def scatter(drawing: Drawing, series: Sequence[Series], x: Axis, y: Axis, guides: Sequence[Guide] = ()) -> str:
    """Points with their names beside them."""
    opened = _field(drawing, series, x, y, guides)
    for one in series:
        for at, (across, up) in enumerate(one.points):
            place = opened.x(across), opened.y(up)
            interval = one.intervals[at] if at < len(one.intervals) else None
            if interval:
                drawing.bar((place[0], opened.y(interval[0])), (place[0], opened.y(interval[1])), one.style)
            drawing.marker(*place, one.style, f"{one.name}: {x.label} {across:.4g}, {y.label} {up:.4g}")
            opened.places.append((*place, one.name))
    label_points(drawing, opened.places, opened.frame, taken=_guides(opened, guides))
    return drawing.text()


def curves(drawing: Drawing, series: Sequence[Series], x: Axis, y: Axis, guides: Sequence[Guide] = ()) -> str:
    """Lines, with a legend below."""
    lines = _legend_lines([one for one in series if not one.faint])
    drawing.height = FIELD + (FONT + 8) * len(lines)
    opened = _field(drawing, series, x, y, guides)
    for one in series:
        places = [(opened.x(across), opened.y(up)) for across, up in one.points]
        opened.places += [(*place, one.name) for place in places]
        drawing.path(places, one.style, width=1.2 if one.faint else 2, opacity=0.55 if one.faint else 1)
        for place, (across, up) in zip(places, one.points, strict=True) if one.marks else ():
            drawing.marker(*place, one.style, f"{one.name}: {x.label} {across:g}, {y.label} {up:.4g}", size=4)
    _guides(opened, guides)
    for number, line in enumerate(lines):
        _legend(drawing, line, FIELD + (FONT + 8) * number + 8)
    return drawing.text()


def rows(drawing: Drawing, entries: Sequence[Row], axis: Axis, guide: Guide | None = None) -> str:
    """One line a run, its points on an axis that all share."""
    drawing.height = ROW * len(entries) + TOP + BOTTOM
    left = min(150.0, 16 + LETTER * max(len(row.name) for row in entries))
    values = [value for row in entries for value, _ in row.points]
    values += [edge for row in entries for edge in row.interval or ()] + ([guide.value] if guide else [])
    scale = scale_of(values, left, WIDTH - RIGHT - 8, log=axis.log, zero=axis.zero)
    base = drawing.height - BOTTOM
    for tick in scale.ticks:
        drawing.rule((scale(tick), TOP), (scale(tick), base))
        drawing.words(scale(tick), base + 16, shown(tick), anchor="middle", kind="tick")
    drawing.rule((left, base), (WIDTH - RIGHT, base), "axis")
    drawing.words((left + WIDTH) / 2, drawing.height - 8, axis.label, anchor="middle")
    if guide:
        drawing.rule((scale(guide.value), TOP), (scale(guide.value), base), "guide")
    for number, row in enumerate(entries):
        y = TOP + ROW * (number + 0.5)
        drawing.words(left - 10, y + 4, _cut(row.name, left), anchor="end", kind="name")
        if row.interval:
            drawing.bar((scale(row.interval[0]), y), (scale(row.interval[1]), y), row.style)
        elif len(row.points) > 1:
            ends = [scale(value) for value, _ in row.points]
            drawing.bar((min(ends), y), (max(ends), y), row.style)
        for place, (value, what) in enumerate(row.points):
            style = row.style if place == 0 else Style(row.style.colour, "hollow", "")
            drawing.marker(scale(value), y, style, f"{row.name}: {what} {value:.4g}")
    return drawing.text()


def _field(drawing: Drawing, series: Sequence[Series], x: Axis, y: Axis, guides: Sequence[Guide]) -> Field:
    """Axes around all points, drawn."""
    across = [point[0] for one in series for point in one.points]
    up = [point[1] for one in series for point in one.points] + [guide.value for guide in guides]
    up += [edge for one in series for interval in one.intervals if interval for edge in interval]
    base = FIELD - BOTTOM
    xs = scale_of(across, LEFT, WIDTH - RIGHT - 8, log=x.log, zero=x.zero)
    ys = scale_of(up, base, TOP, log=y.log, zero=y.zero)
    for tick in xs.ticks:
        drawing.rule((xs(tick), TOP), (xs(tick), base))
        drawing.words(xs(tick), base + 16, shown(tick), anchor="middle", kind="tick")
    for tick in ys.ticks:
        drawing.rule((LEFT, ys(tick)), (WIDTH - RIGHT, ys(tick)))
        drawing.words(LEFT - 6, ys(tick) + 4, shown(tick), anchor="end", kind="tick")
    drawing.rule((LEFT, base), (WIDTH - RIGHT, base), "axis")
    drawing.rule((LEFT, TOP), (LEFT, base), "axis")
    drawing.words((LEFT + WIDTH - RIGHT) / 2, FIELD - 8, x.label, anchor="middle")
    drawing.words(12, (TOP + base) / 2, y.label, anchor="middle", turn=True)
    return Field(drawing, xs, ys, Box(LEFT, 0, WIDTH, base))


def _guides(opened: Field, guides: Sequence[Guide]) -> list[Box]:
    """Draws the lines with their names, each at the end where it is in nobody's way; says where the names stand."""
    found = []
    for guide in guides:
        y = opened.y(guide.value)
        if guide.style:
            opened.drawing.path([(LEFT, y), (WIDTH - RIGHT, y)], Style(guide.style.colour, "", "6 4"), width=1.5)
        else:
            opened.drawing.rule((LEFT, y), (WIDTH - RIGHT, y), "guide")
        above = y - 5 if y > TOP + 2 * FONT else y + FONT + 2
        wide = LETTER * len(guide.name)
        right = Box(WIDTH - RIGHT - wide, above - FONT, WIDTH - RIGHT, above + 4)
        left = Box(LEFT + 4, above - FONT, LEFT + 4 + wide, above + 4)
        crowd = [sum(_near(box, x, up) for x, up, _ in opened.places) for box in (right, left)]
        on_left = crowd[1] < crowd[0]
        at, anchor = (LEFT + 4, "start") if on_left else (WIDTH - RIGHT - 2, "end")
        opened.drawing.words(at, above, guide.name, anchor=anchor, kind="note")
        found.append(left if on_left else right)
    return found


def _near(box: Box, x: float, y: float, margin: float = 12) -> bool:
    return box.left - margin < x < box.right + margin and box.top - margin < y < box.bottom + margin


def _legend_lines(series: Sequence[Series]) -> list[list[tuple[Series, float]]]:
    """Names side by side, as many as fit a line."""
    lines: list[list[tuple[Series, float]]] = [[]]
    x = float(LEFT)
    for one in series:
        wide = 40 + LETTER * len(one.name)
        if lines[-1] and x + wide > WIDTH:
            lines.append([])
            x = float(LEFT)
        lines[-1].append((one, x))
        x += wide
    return lines


def _legend(drawing: Drawing, line: Sequence[tuple[Series, float]], y: float) -> None:
    for one, x in line:
        drawing.path([(x, y), (x + 24, y)], one.style)
        drawing.marker(x + 12, y, one.style, size=4)
        drawing.words(x + 29, y + 4, one.name, kind="name")


def _cut(name: str, wide: float) -> str:
    most = int((wide - 14) / LETTER)
    return name if len(name) <= most else f"{name[: most - 1]}…"

"""Drawings: runs look different, names stand apart and inside."""

import random
import re

from discreet.report.charts import Axis, Guide, Row, Series, curves, rows, scatter
from discreet.report.labels import Box, label_points
from discreet.report.svg import LETTER, WIDTH, Drawing, style_of


def test_runs_differ_in_colour_marker_and_dashes():
    first = [style_of(number) for number in range(7)]
    assert len({one.colour for one in first}) == len({one.marker for one in first}) == 7
    assert len({one.dashes for one in first}) == 7
    assert len({style_of(number) for number in range(49)}) == 49


def boxes(svg):
    """Where the names of a drawing stand."""
    found = []
    for x, y, anchor, name in re.findall(
        r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)" class="name">([^<]*)<', svg
    ):
        wide = LETTER * len(name)
        left = float(x) - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        found.append(Box(left, float(y) - 10, left + wide, float(y) + 3))
    return found


def test_names_of_points_stand_apart_from_each_other_and_inside_the_drawing():
    draw = random.Random(4)
    for _ in range(30):
        drawing = Drawing("t", "d")
        points = [(draw.uniform(70, 420), draw.uniform(30, 230), f"run-{number}") for number in range(5)]
        label_points(drawing, points, Box(56, 0, WIDTH, 246))
        found = boxes("".join(drawing.shapes))
        assert len(found) == 5
        assert not any(one.meets(two) for at, one in enumerate(found) for two in found[:at])
        assert all(box.left >= 56 and box.right <= WIDTH for box in found)


def test_what_is_drawn_stays_inside_the_drawing():
    series = [
        Series(f"run {n}", style_of(n), ((10.0**n, 3.0 * n), (10.0**n * 2, 1.0)), ((1.0, 9.0), None)) for n in (1, 2)
    ]
    wide = [
        Row("a run with a very long name indeed", style_of(0), ((0.4, "x"), (0.9, "y"))),
        Row("b", style_of(1), ((0.6, "x"),), (0.5, 0.7)),
    ]
    drawn = [
        scatter(Drawing("t", "d"), series, Axis("x", log=True), Axis("y", zero=True), [Guide(1.44, "no leak")]),
        curves(Drawing("t", "d"), series, Axis("x"), Axis("y")),
        rows(Drawing("t", "d"), wide, Axis("x"), Guide(0.5, "guessing")),
    ]
    for svg in drawn:
        ((width, height),) = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
        for name, limit in (
            ("x1", width),
            ("x2", width),
            ("cx", width),
            ("y1", height),
            ("y2", height),
            ("cy", height),
        ):
            assert all(0 <= float(value) <= float(limit) for value in re.findall(rf' {name}="([^"]*)"', svg))


def test_one_point_alone_can_be_drawn():
    svg = scatter(Drawing("t", "d"), [Series("a", style_of(0), ((4.9, 20.0),))], Axis("x", zero=True), Axis("y"))
    assert "nan" not in svg
    assert ">a</text>" in svg

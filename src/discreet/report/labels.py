"""Names beside points, kept from standing on each other: the first free place of a few around the point is taken."""

from collections.abc import Sequence
from typing import NamedTuple

from discreet.report.svg import FONT, LETTER, Drawing


class Box(NamedTuple):
    """A rectangle that is taken."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def label_points(
    drawing: Drawing, points: list[tuple[float, float, str]], frame: Box, size: float = 7, taken: Sequence[Box] = ()
) -> None:
    """Writes the name of each point beside it, inside the frame, away from other points, names and what is `taken`."""
    taken = [*taken, *(Box(x - size, y - size, x + size, y + size) for x, y, _ in points)]
    for x, y, name in points:
        wide = LETTER * len(name)
        choices = [
            ("start", x + size + 3, y + 4),
            ("end", x - size - 3, y + 4),
            ("middle", x, y - size - 4),
            ("middle", x, y + size + FONT),
            *(("start", x + size + 3, y + 4 + shift) for shift in (-14, 16, -28, 30)),
            *(("end", x - size - 3, y + 4 + shift) for shift in (-14, 16, -28, 30)),
        ]
        boxes = [_box(anchor, at, base, wide) for anchor, at, base in choices]
        free = [
            (choice, box)
            for choice, box in zip(choices, boxes, strict=True)
            if not any(box.meets(other) for other in taken) and _inside(box, frame)
        ]
        (anchor, at, base), box = free[0] if free else (choices[0], boxes[0])
        drawing.words(at, base, name, anchor=anchor, kind="name")
        taken.append(box)


def _box(anchor: str, x: float, base: float, wide: float) -> Box:
    left = {"start": x, "end": x - wide, "middle": x - wide / 2}[anchor]
    return Box(left, base - FONT + 2, left + wide, base + 3)


def _inside(box: Box, frame: Box) -> bool:
    return box.left >= frame.left and box.right <= frame.right and box.top >= frame.top and box.bottom <= frame.bottom

"""Drawings as SVG: crisp at any size, a few kilobytes, text that stays text.

    drawing = Drawing("Perplexity against epsilon", "Five runs; lower is better.")
    drawing.line([(60, 40), (200, 90)], RUN_STYLES[0])
    drawing.marker(60, 40, RUN_STYLES[0], "none: 21.4")
    drawing.text()

Lines of the axes take the colour of the page's text, so a drawing fits light and dark pages. Series differ in colour
(Okabe and Ito's, which colour-blind people can tell apart), in marker and in dashes, so print in black is enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

WIDTH, HEIGHT = 440, 300
FONT = 12
LETTER = 6.4
"""Mean width of a letter at that size: enough to keep labels apart."""

Place = tuple[float, float]


@dataclass(frozen=True)
class Style:
    """How a run looks in every drawing."""

    colour: str
    marker: str
    dashes: str


COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "currentColor")
MARKERS = ("circle", "square", "triangle", "diamond", "cross", "down", "plus")
DASHES = ("", "7 3", "2 3", "8 3 2 3", "12 3", "4 2 1 2 1 2", "1 2")


def style_of(number: int) -> Style:
    """The style of a series by its number; the first seven differ in everything, the first 49 in something."""
    colour, turn = number % len(COLOURS), number // len(COLOURS)
    return Style(COLOURS[colour], MARKERS[(colour + turn) % len(MARKERS)], DASHES[(colour + turn) % len(DASHES)])


@dataclass
class Drawing:
    """Shapes that become one `<svg>` element with a title and a description for who cannot see it."""

    title: str
    description: str
    name: str = "drawing"
    """Unique on the page: what the title's id begins with."""
    width: float = WIDTH
    height: float = HEIGHT
    shapes: list[str] = field(default_factory=list)

    def path(self, places: Sequence[Place], style: Style, *, width: float = 2, opacity: float = 1) -> None:
        """A line through places."""
        steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dashes = f' stroke-dasharray="{style.dashes}"' if style.dashes else ""
        faint = f' stroke-opacity="{opacity:g}"' if opacity < 1 else ""
        self.shapes.append(
            f'<path d="M{steps}" fill="none" stroke="{style.colour}" stroke-width="{width:g}"{dashes}{faint}'
            ' stroke-linejoin="round"/>'
        )

    def rule(self, begin: Place, end: Place, kind: str = "grid") -> None:
        """A thin straight line of the kind `axis`, `grid` or `guide`."""
        (x1, y1), (x2, y2) = begin, end
        self.shapes.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def bar(self, begin: Place, end: Place, style: Style) -> None:
        """An interval around a marker."""
        (x1, y1), (x2, y2) = begin, end
        self.shapes.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{style.colour}" '
            'stroke-width="1.5" stroke-opacity="0.6"/>'
        )

    def marker(self, x: float, y: float, style: Style, told: str = "", size: float = 5) -> None:
        """A mark whose form is the run's; `told` is read out and shown when pointed at."""
        title = f"<title>{escape(told)}</title>" if told else ""
        self.shapes.append(f"<g>{title}{_form(x, y, style, size)}</g>")

    def words(
        self, x: float, y: float, text: str, *, anchor: str = "start", turn: bool = False, kind: str = ""
    ) -> None:
        """Text at a place; turned, it reads upwards."""
        turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
        named = f' class="{kind}"' if kind else ""
        self.shapes.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turned}{named}>{escape(text)}</text>')

    def text(self) -> str:
        """The element, ready to stand in a page."""
        labels = f"{self.name}-title {self.name}-description"
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" aria-labelledby={quoteattr(labels)} '
            f'font-size="{FONT}">'
            f"<title id={quoteattr(self.name + '-title')}>{escape(self.title)}</title>"
            f"<desc id={quoteattr(self.name + '-description')}>{escape(self.description)}</desc>"
            f"{''.join(self.shapes)}</svg>"
        )


def _form(x: float, y: float, style: Style, r: float) -> str:
    fill = f'fill="{style.colour}"'
    stroke = f'fill="none" stroke="{style.colour}" stroke-width="2.5"'
    match style.marker:
        case "hollow":
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}" class="hollow" stroke="{style.colour}"/>'
        case "circle":
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}" {fill}/>'
        case "square":
            return f'<rect x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r:g}" height="{2 * r:g}" {fill}/>'
        case "triangle":
            return _polygon([(x, y - 1.2 * r), (x + 1.15 * r, y + r), (x - 1.15 * r, y + r)], fill)
        case "down":
            return _polygon([(x, y + 1.2 * r), (x + 1.15 * r, y - r), (x - 1.15 * r, y - r)], fill)
        case "diamond":
            return _polygon([(x, y - 1.3 * r), (x + 1.3 * r, y), (x, y + 1.3 * r), (x - 1.3 * r, y)], fill)
        case "cross":
            return (
                f'<path d="M{x - r:.1f} {y - r:.1f}l{2 * r:g} {2 * r:g}m0 {-2 * r:g}l{-2 * r:g} {2 * r:g}" {stroke}/>'
            )
        case _:
            return f'<path d="M{x - 1.2 * r:.1f} {y:.1f}h{2.4 * r:g}M{x:.1f} {y - 1.2 * r:.1f}v{2.4 * r:g}" {stroke}/>'


def _polygon(places: Sequence[Place], fill: str) -> str:
    return f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}" {fill}/>'

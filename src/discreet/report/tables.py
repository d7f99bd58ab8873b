"""The tables of a report: all runs side by side, and the utility of one.

A cell has what is shown and what it is sorted by; a column that no run has anything for is left out.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from discreet.report import words
from discreet.report.facts import RunFacts


class Cell(NamedTuple):
    """What a cell shows, and the number it is sorted by (none: at the end); words are sorted as words."""

    text: str
    order: float | None = None
    is_number: bool = True


class Column(NamedTuple):
    title: str
    cell: Callable[[RunFacts], Cell]
    always: bool = False
    """Shown even where no run has a figure."""


class Comparison(NamedTuple):
    """The table of runs."""

    titles: tuple[str, ...]
    rows: tuple[tuple[RunFacts, tuple[Cell, ...]], ...]


MISSING = Cell("–")


def compared(runs: Sequence[RunFacts]) -> Comparison:
    """The runs side by side."""
    cells = {column.title: [column.cell(facts) for facts in runs] for column in COLUMNS}
    named = all(facts.mechanism == facts.name for facts in runs)  # then a second column would say it twice
    shown = [
        column
        for column in COLUMNS
        if (column.always or any(cell != MISSING for cell in cells[column.title]))
        and not (named and column is MECHANISM)
    ]
    rows = tuple((facts, tuple(cells[column.title][at] for column in shown)) for at, facts in enumerate(runs))
    return Comparison(tuple(column.title for column in shown), rows)


class UtilityRow(NamedTuple):
    tokens: str
    number: int
    perplexity: str
    top1: str


def utility(facts: RunFacts) -> tuple[UtilityRow, ...]:
    """Perplexity and first choices over all, public and secret tokens; empty for classifiers, or without them."""
    scores = facts.scores
    if scores is None or facts.is_classifier:
        return ()
    found = []
    for name, suffix in (("all", ""), ("public", "_public"), ("secret", "_secret")):
        number = int(scores.get(f"tokens{suffix}") or 0)
        if number:
            found.append(
                UtilityRow(
                    name,
                    number,
                    _figure(scores, f"perplexity{suffix}", ",.2f"),
                    _figure(scores, f"top1{suffix}", ".3f"),
                )
            )
    return tuple(found)


def _figure(scores: dict[str, Any], key: str, form: str) -> str:
    value = scores.get(key)
    return "beyond measure" if value is None else format(value, form)


def _score(key: str, form: str) -> Callable[[RunFacts], Cell]:
    def cell(facts: RunFacts) -> Cell:
        value = (facts.scores or {}).get(key)
        return MISSING if value is None else Cell(format(value, form), value)

    return cell


def _protects(facts: RunFacts) -> Cell:
    return Cell("nothing" if facts.problems else words.protects(facts), is_number=False)


def _epsilon(facts: RunFacts) -> Cell:
    return Cell(words.epsilon(facts), facts.epsilon)


def _delta(facts: RunFacts) -> Cell:
    delta = facts.guarantee.delta
    return Cell(f"{delta:.2g}", delta) if facts.claims and delta is not None else MISSING


def _lower_bound(facts: RunFacts) -> Cell:
    bound = facts.findings.lower_bound if facts.findings else None
    if bound is None:
        return MISSING
    copies = "" if bound.copies == 1 else f" (×{bound.copies})"
    return Cell(f"{words.at_least(bound.epsilon)}{copies}", bound.epsilon)


def _exposure(facts: RunFacts) -> Cell:
    found = facts.findings.exposure if facts.findings else None
    return MISSING if found is None else Cell(f"{found.mean:.2f}", found.mean)


def _membership(facts: RunFacts) -> Cell:
    found = facts.findings.membership.get("records") if facts.findings else None
    return MISSING if found is None else Cell(f"{found.auc:.3f}", found.auc)


def _attribute(facts: RunFacts) -> Cell:
    found = facts.findings.attribute if facts.findings else None
    return MISSING if found is None else Cell(f"{found.above_chance:.3f}", found.above_chance)


MECHANISM = Column("mechanism", lambda facts: Cell(facts.mechanism, is_number=False), always=True)
COLUMNS = (
    MECHANISM,
    Column("protects", _protects, always=True),
    Column("ε at most", _epsilon, always=True),
    Column("δ", _delta),
    Column("audit: ε at least", _lower_bound),
    Column("exposure (bits)", _exposure),
    Column("membership AUC", _membership),
    Column("attribute above chance", _attribute),
    Column("perplexity", _score("perplexity", ",.2f")),
    Column("public", _score("perplexity_public", ",.2f")),
    Column("secret", _score("perplexity_secret", ",.1f")),
    Column("top‑1", _score("top1", ".3f")),
    Column("bits per char", _score("bits_per_char", ".3f")),
    Column("accuracy", _score("accuracy", ".3f")),
    Column("F1", _score("f1", ".3f")),
    Column("training (s)", lambda facts: Cell(f"{facts.seconds:,.0f}", facts.seconds) if facts.seconds else MISSING),
)

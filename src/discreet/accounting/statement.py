"""A guarantee in plain words: for the person who signs, not for the one who computes.

    print(render(guarantee))                    # as text
    statement(guarantee).sections               # the same words in parts, for a page or a model card

Numbers are rounded to the safe side: what is printed as an upper bound is never below what is proved.
"""

import math
import textwrap
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NamedTuple

from discreet.accounting.guarantee import Bound, Guarantee

WIDTH = 100
SLACK = 1e-9
"""Relative: what floating point adds to a number by itself, and rounding need not carry into the last digit."""


class Section(NamedTuple):
    """A heading and what stands below it, a sentence a line."""

    title: str
    lines: tuple[str, ...]


class Statement(NamedTuple):
    """What is promised in a few sentences, and all that belongs to it."""

    title: str
    lead: str
    sections: tuple[Section, ...]


def statement(guarantee: Guarantee) -> Statement:
    """What is promised, to whom, under what assumptions, and what is not."""
    if guarantee.notion == "none":
        title, lead, bounds = "No privacy guarantee", guarantee.neighbours_in_words, []
    else:
        title = f"Privacy statement: {guarantee.notion} ({guarantee.mechanism})"
        lead = f"{_promise(guarantee)} {guarantee.neighbours_in_words}"
        bounds = [bound_in_words(bound) for bound in guarantee.bounds]
    sections = (
        Section("How much, for whom", tuple(bounds)),
        Section("Covered uses of private text", tuple(_access(guarantee, i) for i in range(len(guarantee.accesses)))),
        Section("What is released", guarantee.released),
        Section("What is not protected", guarantee.not_protected),
        Section("This rests on", tuple(f"{item.text} ({item.status})" for item in guarantee.assumptions)),
        Section("Misses of the policy", tuple(_misses(guarantee))),
        Section("How it was computed", tuple(_computed(guarantee))),
        Section("As the paper counts (not a guarantee)", tuple(_paper(guarantee))),
        Section("What was measured (not a guarantee)", tuple(_measured(guarantee))),
        Section("Warnings", guarantee.warnings),
    )
    return Statement(title, lead, tuple(section for section in sections if section.lines))


def render(guarantee: Guarantee) -> str:
    """The statement as text."""
    said = statement(guarantee)
    parts = [_title(said.title), textwrap.fill(said.lead, WIDTH), *(_section(*section) for section in said.sections)]
    return "\n\n".join(parts) + "\n"


def factor(epsilon: float) -> str:
    """e^epsilon as a number a reader can weigh, rounded up."""
    if epsilon > 20:
        return f"10^{math.ceil(epsilon / math.log(10))}"
    grown = math.exp(epsilon)
    return f"{math.ceil(grown):,}" if grown >= 100 else rounded_up(grown, 3)


def rounded_up(value: float, digits: int = 4) -> str:
    """A number with so many digits that is not below the value."""
    return _rounded(value * (1 - SLACK), digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = 3) -> str:
    """A number with so many digits that is not above the value: for lower bounds."""
    return _rounded(value * (1 + SLACK), digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, way: str) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(value)
    step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return f"{float((exact / step).to_integral_value(way) * step):.{digits}g}"


def bound_in_words(bound: Bound) -> str:
    """One bound and whom it is for."""
    label = "" if bound.standing == "proved" else " (an estimate, not a guarantee)"
    if bound.epsilon is None:
        return f"{bound.subject}: no finite bound{label}"
    delta = "" if bound.delta is None else f", delta {bound.delta:.3g}"
    return (
        f"{bound.subject}: epsilon {rounded_up(bound.epsilon)}{delta}, a factor of at most "
        f"{factor(bound.epsilon)}{label}"
    )


def _promise(guarantee: Guarantee) -> str:
    if guarantee.epsilon is None:
        return "No finite bound is proved for this setting."
    chance = "" if not guarantee.delta else f", apart from events of probability {guarantee.delta:g}"
    return (
        f"Whatever anyone learns or does with what is released is at most {factor(guarantee.epsilon)} times as likely "
        f"on one of two neighbouring corpora as on the other (epsilon {rounded_up(guarantee.epsilon)}){chance}."
    )


def _access(guarantee: Guarantee, index: int) -> str:
    access = guarantee.accesses[index]
    more = f" (planned were {access.planned_steps:,})" if access.steps != access.planned_steps else ""
    return f"{access.what}: {access.steps:,} steps{more}; {access.sampler}; plan {access.fingerprint[:12]}"


def _misses(guarantee: Guarantee) -> list[str]:
    rate = guarantee.miss_rate
    if rate is None:
        return []
    return [
        f"{rate.missed:,} of {rate.checked:,} checked secrets were missed: {rate.share:.2%}, with "
        f"{rate.confidence:.0%} confidence between {rate.low:.2%} and {rate.high:.2%}"
    ]


def _computed(guarantee: Guarantee) -> list[str]:
    if guarantee.accountant is None:
        return []
    accountant = guarantee.accountant
    lines = [f"{accountant.name} {accountant.version}, {accountant.method}"]
    check = guarantee.cross_check
    if check is not None:
        lines.append(f"cross-check by {check.method}: " + _epsilon(check.epsilon))
    return lines


def _paper(guarantee: Guarantee) -> list[str]:
    paper = guarantee.paper
    if paper is None:
        return []
    number = _epsilon(paper.epsilon)
    if paper.low is not None or paper.high is not None:
        number = f"between {_epsilon(paper.low)} and {_epsilon(paper.high)}"
    return [f"{number}, by {paper.recipe}. We do not claim it: {paper.why_not}."]


def _measured(guarantee: Guarantee) -> list[str]:
    return [
        f"{own.what}: {own.value:.3f} on {own.records:,} records, {own.chance:.3f} by chance"
        for own in guarantee.measured
    ]


def _epsilon(epsilon: float | None) -> str:
    return "no finite epsilon" if epsilon is None else f"epsilon {epsilon:.4g}"


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}"


def _section(title: str, lines: tuple[str, ...]) -> str:
    items = [textwrap.fill(line, WIDTH, initial_indent="- ", subsequent_indent="  ") for line in lines]
    return "\n".join([title, "-" * len(title), *items])

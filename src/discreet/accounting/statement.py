"""A guarantee in plain words: for the person who signs, not for the one who computes.

print(render(guarantee))
"""

import math
import textwrap
from collections.abc import Iterable

from discreet.accounting.guarantee import Bound, Guarantee

WIDTH = 100


def render(guarantee: Guarantee) -> str:
    """The statement: what is promised, to whom, under what assumptions, and what is not."""
    if guarantee.notion == "none":
        parts = [_title("No privacy guarantee"), _wrap(guarantee.neighbours_in_words)]
    else:
        parts = [
            _title(f"Privacy statement: {guarantee.notion} ({guarantee.mechanism})"),
            _wrap(f"{_promise(guarantee)} {guarantee.neighbours_in_words}"),
            _section("How much, for whom", [_bound(bound) for bound in guarantee.bounds]),
        ]
    parts += [
        _section("Covered uses of private text", [_access(guarantee, i) for i in range(len(guarantee.accesses))]),
        _section("What is released", guarantee.released),
        _section("What is not protected", guarantee.not_protected),
        _section("This rests on", [f"{item.text} ({item.status})" for item in guarantee.assumptions]),
        _section("Misses of the policy", _misses(guarantee)),
        _section("How it was computed", _computed(guarantee)),
        _section("As the paper counts (not a guarantee)", _paper(guarantee)),
        _section("Warnings", guarantee.warnings),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def factor(epsilon: float) -> str:
    """e^epsilon as a number a reader can weigh."""
    if epsilon > 20:
        return f"10^{epsilon / math.log(10):.0f}"
    grown = math.exp(epsilon)
    return f"{grown:,.0f}" if grown >= 100 else f"{grown:.3g}"


def _promise(guarantee: Guarantee) -> str:
    if guarantee.epsilon is None:
        return "No finite bound is proved for this setting."
    chance = "" if not guarantee.delta else f", apart from events of probability {guarantee.delta:g}"
    return (
        f"Whatever anyone learns or does with what is released is at most {factor(guarantee.epsilon)} times as likely "
        f"on one of two neighbouring corpora as on the other (epsilon {guarantee.epsilon:.4g}){chance}."
    )


def _bound(bound: Bound) -> str:
    label = "" if bound.standing == "proved" else " (an estimate, not a guarantee)"
    if bound.epsilon is None:
        return f"{bound.subject}: no finite bound{label}"
    delta = "" if bound.delta is None else f", delta {bound.delta:.3g}"
    return f"{bound.subject}: epsilon {bound.epsilon:.4g}{delta}, a factor of at most {factor(bound.epsilon)}{label}"


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


def _epsilon(epsilon: float | None) -> str:
    return "no finite epsilon" if epsilon is None else f"epsilon {epsilon:.4g}"


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}"


def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH)


def _section(title: str, lines: Iterable[str]) -> str:
    items = [textwrap.fill(line, WIDTH, initial_indent="- ", subsequent_indent="  ") for line in lines]
    return "\n".join([title, "-" * len(title), *items]) if items else ""

"""What attacks found on a run, as lines a person understands: a figure, and what it would be without a leak."""

from discreet.report.facts import RunFacts
from discreet.report.findings import Findings, Membership, Repeated
from discreet.report.words import Fact


def attacked(facts: RunFacts) -> list[Fact]:
    """One line an attack; none where the model, as it is, was not attacked."""
    found = facts.findings
    if found is None:
        return []
    return [
        *_exposure(found),
        *_memberships(found),
        *_extraction(found),
        *_tab(found),
        *_attribute(found),
        *_engine(found),
    ]


def _exposure(found: Findings) -> list[Fact]:
    if found.exposure is None:
        return []
    one = found.exposure
    between = f" (95 % interval {one.interval[0]:.2f} to {one.interval[1]:.2f})" if one.interval else ""
    return [
        Fact(
            "Exposure",
            f"mean {one.mean:.2f} bits{between}, highest {one.maximum:.2f}, over {one.canaries:,} planted canaries; "
            f"1.44 would be no leak, {one.most:.2f} the model’s first guess",
        ),
        *_by_repetitions(one.by_repetitions),
    ]


def _by_repetitions(parts: tuple[Repeated, ...]) -> list[Fact]:
    if len(parts) < 2:
        return []
    said = ", ".join(f"×{one.times} {one.mean:.2f} ({one.canaries:,})" for one in parts)
    return [Fact("Exposure by copies", f"mean bits (canaries): {said}")]


def _memberships(found: Findings) -> list[Fact]:
    return [Fact(f"Membership of {what}", _membership(one)) for what, one in found.membership.items()]


def _membership(one: Membership) -> str:
    between = f" (95 % interval {one.interval[0]:.3f} to {one.interval[1]:.3f})" if one.interval else ""
    best = f", the best of {one.signals} signals" if one.signals > 1 else ""
    return (
        f"AUC {one.auc:.3f}{between} by {one.signal}{best}; {one.at_1_percent:.1%} of {one.members:,} recognised at "
        "1 % false alarms; guessing would be 0.5 and 1 %"
    )


def _extraction(found: Findings) -> list[Fact]:
    return [
        Fact(
            f"Extraction, {one.what}",
            f"{one.came_out:g} of {one.tried:,} secrets came out"
            + (f"; of secrets it has not seen, {one.beside}" if one.beside else ""),
        )
        for one in found.extraction
    ]


def _tab(found: Findings) -> list[Fact]:
    return [
        Fact(f"Tab, {one.what}", f"{one.came_out:.1%} of {one.tried:,} were completed word for word")
        for one in found.tab
    ]


def _attribute(found: Findings) -> list[Fact]:
    one = found.attribute
    if one is None:
        return []
    between = f" (95 % interval {one.interval[0]:.3f} to {one.interval[1]:.3f})" if one.interval else ""
    return [
        Fact(
            f"Inferring the {one.label}",
            f"a fresh probe on the model’s states names {one.accuracy:.1%} of {one.asked:,} records right, "
            f"{one.above_chance:.3f}{between} above the commonest of {one.labels:,} values; 0 would be no leak",
        )
    ]


def _engine(found: Findings) -> list[Fact]:
    if found.engine_ok is None:
        return []
    return [Fact("Engine", "clips, noises and draws as the plan says" if found.engine_ok else "WRONG: see above")]

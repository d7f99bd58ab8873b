"""What a run's guarantee promises about a canary: the epsilon that an audit's lower bound is held against.

A canary stands in `copies` records, so the claim is that of a group. With little noise nothing can be proved for many
copies, and then nothing is promised: audits are sharpest with canaries that stand in one record. What world a canary's
coin chose between decides the neighbours: another secret or a mask in the same place is a replacement, in or out is one
record more or less.
"""

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from discreet.accounting.confidential import Confidentiality
from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.forms import notion_of
from discreet.accounting.group import Chained
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.jft import JustFineTuneTwice
from discreet.accounting.notion import Notion
from discreet.accounting.samplers import compose, compose_plans, profile_of
from discreet.accounting.selective import SelectivePaper, SelectivePrivacy
from discreet.engine.plan import Plan
from discreet.errors import RefusedError

NOTHING = "nothing is promised"
DELTA = 1e-5
"""At which lower bounds are stated where no guarantee names a delta."""


class Claim(NamedTuple):
    """The largest epsilon that the guarantee allows a canary; None where it promises nothing."""

    epsilon: float | None
    delta: float
    subject: str


def claim_of(guarantee: Guarantee | None, *, detected: bool, copies: int, world: str) -> Claim:
    """What is promised for a canary that the policy finds or misses, in so many records."""
    if guarantee is None or not guarantee.accesses or not guarantee.delta:
        return Claim(None, (guarantee.delta if guarantee else None) or DELTA, NOTHING)
    notion = notion_of(guarantee.basis)
    seen = _plans(notion, detected)
    if seen is None:
        return Claim(None, notion.delta, NOTHING)
    who = f"a secret the policy {'finds' if detected else 'misses'}, in {copies} records"
    replaces = world != "in-or-out"
    epsilon = group_epsilon(tuple(seen), copies, replaces, notion.delta) if seen else 0.0
    if isinstance(notion, SelectivePaper):
        epsilon = Chained(notion.profile(), copies).epsilon(notion.delta)
    return Claim(epsilon if math.isfinite(epsilon) else None, notion.delta, who)


def _plans(notion: Notion, detected: bool) -> list[Plan] | None:
    """The plans that have such a secret in their records: none where it is never read, None where nothing is said."""
    if isinstance(notion, DifferentialPrivacy):
        return [notion.counted(plan) for plan in notion.phases]
    if isinstance(notion, SelectivePrivacy | SelectivePaper):
        carries = isinstance(notion, SelectivePrivacy) and notion.state_noise is not None
        if not detected or carries:
            return None
        return [notion.effective()] if isinstance(notion, SelectivePrivacy) else [notion.plan]
    if isinstance(notion, JustFineTuneTwice):
        if detected or notion.screened:
            return [notion.counted(notion.phase2)]
        return None if notion.phase1 is None else [notion.counted(notion.phase1), notion.counted(notion.phase2)]
    if isinstance(notion, Confidentiality) and notion.plan is not None:
        return [] if detected else [notion.counted(notion.plan)]
    return None


@lru_cache(maxsize=32)
def group_epsilon(plans: tuple[Plan, ...], copies: int, replaces: bool, delta: float) -> float:
    """Epsilon of plans for `copies` records that are replaced, or put in or left out; the smaller of two proofs.

    Either from neighbour to neighbour, one record at a time, or all records out and all others in, each at once by the
    loss distribution of a group (`discreet.accounting.group.copies`).
    """
    steps = copies * (2 if replaces and any(plan.neighbours != "replace" for plan in plans) else 1)
    one = compose_plans(plans)
    found = [(Chained(one, steps) if steps > 1 else one).epsilon(delta)]
    if steps > 1 and all(plan.sampling == "poisson" for plan in plans):
        try:
            at_once = compose([profile_of(replace(plan, neighbours="add-remove"), number=copies) for plan in plans])
            found.append((Chained(at_once, 2) if replaces else at_once).epsilon(delta))
        except RefusedError:  # tables of different grids cannot be composed
            pass
    return min(found)

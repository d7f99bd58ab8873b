"""What a run's guarantee promises about a canary: the epsilon that an audit's lower bound is held against.

A canary stands in `copies` records, so the claim is that of a group. What world its coin chose between decides the
neighbours: another secret or a mask in the same place is a replacement, in or out is one record more or less.
"""

import math
from typing import NamedTuple

from discreet.accounting.confidential import Confidentiality
from discreet.accounting.dp import DifferentialPrivacy
from discreet.accounting.forms import notion_of
from discreet.accounting.group import Chained
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.jft import JustFineTuneTwice
from discreet.accounting.notion import Notion
from discreet.accounting.profile import Open, Profile, Unseen
from discreet.accounting.samplers import compose_plans
from discreet.accounting.selective import SelectivePaper, SelectivePrivacy

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
    profile = _profile(notion, detected)
    if profile is None:
        return Claim(None, notion.delta, NOTHING)
    who = f"a secret the policy {'finds' if detected else 'misses'}, in {copies} records"
    steps = copies * (2 if notion.neighbours != "replace" and world != "in-or-out" else 1)
    epsilon = (Chained(profile, steps) if steps > 1 else profile).epsilon(notion.delta)
    return Claim(epsilon if math.isfinite(epsilon) else None, notion.delta, who)


def _profile(notion: Notion, detected: bool) -> Profile | None:
    """The curve of the notion for such a secret; None where it says nothing of it."""
    if isinstance(notion, DifferentialPrivacy):
        return compose_plans([notion.counted(plan) for plan in notion.phases])
    if isinstance(notion, SelectivePrivacy | SelectivePaper):
        return notion.profile() if detected else None
    if isinstance(notion, JustFineTuneTwice):
        found, missed = notion.profiles
        chosen = found if detected else missed
        return None if isinstance(chosen, Open) else chosen
    if isinstance(notion, Confidentiality) and notion.plan is not None:
        return Unseen() if detected else notion.profile()
    return None

"""The profile of a plan: every way of drawing batches accounted as itself, never as another.

    >>> from discreet.engine.plan import Plan
    >>> plan = Plan(rate=0.01, steps=1000, noise=1.0, neighbours="replace")
    >>> round(profile_of(plan).epsilon(1e-5), 3)
    2.843
    >>> shuffled = Plan(rate=0.001, steps=1000, noise=0.7, sampling="shuffled", neighbours="zero-out")
    >>> round(profile_of(shuffled).epsilon(1e-5), 2)
    6.65

- poisson: loss distributions of the sampled step.
- truncated-poisson: the same with the rare cut batches mixed in.
- shuffled: no amplification is claimed; an epoch is one unsampled release (the Poisson number would be false, Chua et
  al. 2024: 0.61 where the truth is above 6.5).
- fixed-size: Renyi divergences of sampling without replacement, replace-one only.

A combination that nobody has proved raises and says why.
"""

import math
from collections.abc import Sequence

from discreet.accounting import pld, rdp
from discreet.accounting.gaussian import Gaussian
from discreet.accounting.group import Chained, copies
from discreet.accounting.pld import GRID, Losses
from discreet.accounting.profile import Open, Profile, Unseen
from discreet.accounting.rdp import Renyi
from discreet.engine.plan import Plan
from discreet.errors import RefusedError


def profile_of(plan: Plan, *, number: int = 1, grid: float | None = None) -> Profile:
    """The profile of a plan for one unit or a group of `number`, on a given grid or on the finest that fits."""
    check(plan)
    if grid is None:
        grid = grid_of(plan)
    if number > 1:
        return _of_group(plan, number, grid)
    if plan.sampling == "shuffled":
        return Gaussian(sensitivity(plan) * math.sqrt(plan.epochs) / plan.noise)
    if plan.sampling == "fixed-size":
        return rdp.fixed_size(plan.noise, plan.rate, plan.steps)
    if plan.sampling == "truncated-poisson":
        return pld.truncated_poisson(plan, _replaces(plan), grid)
    if plan.rate == 1:
        return Gaussian(sensitivity(plan) * math.sqrt(plan.steps) / plan.noise)
    return pld.poisson(plan.noise, plan.rate, plan.steps, _replaces(plan), grid)


def grid_of(plan: Plan, finest: float = GRID) -> float:
    """The finest grid on which the plan's loss table fits; plans without a table take any."""
    if plan.sampling == "truncated-poisson":
        return pld.grid_for(plan.noise / 2, plan.rate, plan.steps, True, finest)
    if plan.sampling == "poisson" and plan.rate < 1:
        return pld.grid_for(plan.noise, plan.rate, plan.steps, _replaces(plan), finest)
    return finest


def check(plan: Plan) -> None:
    """Refuses what has no proof."""
    if plan.sampling == "shuffled" and plan.neighbours == "add-remove":
        raise RefusedError(
            "Shuffled batches have no proved add/remove guarantee: one record more moves every later one into another "
            "batch. Use neighbours 'replace', 'zero-out', or Poisson sampling."
        )
    if plan.sampling == "fixed-size" and plan.neighbours != "replace":
        raise RefusedError(
            "Batches of fixed size are accounted for 'replace' only: with one record more or less the share drawn "
            "changes too. Use neighbours 'replace', or Poisson sampling."
        )
    if plan.sampling == "truncated-poisson" and plan.neighbours == "zero-out":
        raise RefusedError(
            "Truncated Poisson batches are accounted for 'add-remove' and 'replace'; a zeroed record would still take "
            "up a place in a full batch."
        )


def compose(profiles: Sequence[Profile]) -> Profile:
    """All phases one after the other, each free to depend on what the earlier ones released."""
    seen = [profile for profile in profiles if not isinstance(profile, Unseen)]
    if not seen:
        return Unseen()
    if any(isinstance(profile, Open) for profile in seen):
        return Open()
    if len(seen) == 1:
        return seen[0]
    gaussians = [profile for profile in seen if isinstance(profile, Gaussian)]
    others = [profile for profile in seen if not isinstance(profile, Gaussian)]
    together = Gaussian(math.sqrt(math.fsum(g.mu**2 for g in gaussians)))
    if not others:
        return together
    if all(isinstance(profile, Renyi) for profile in others) and not gaussians:
        return _sum_of_renyi([profile for profile in others if isinstance(profile, Renyi)])
    tables = [profile for profile in others if isinstance(profile, Losses)]
    if len(tables) < len(others):
        raise RefusedError(
            "These phases cannot be composed: fixed-size and revealed batches have no loss distribution. "
            "Use Poisson sampling in all phases."
        )
    grid = max(table.grid for table in tables)
    if gaussians:
        tables.append(pld.gaussian(together.mu, grid))
    if any(table.grid != grid for table in tables):
        raise RefusedError("These phases need grids of different width; compose them with the same `grid`.")
    total = tables[0]
    for table in tables[1:]:
        total = total.with_(table)
    return total


def compose_plans(plans: Sequence[Plan], finest: float = GRID, extra: Sequence[Profile] = ()) -> Profile:
    """The profile of several plans run one after the other, on one grid, with `extra` unsampled releases."""
    grid = max([grid_of(plan, finest) for plan in plans], default=finest)
    return compose([*(profile_of(plan, grid=grid) for plan in plans), *extra])


def sensitivity(plan: Plan) -> int:
    """How many clip norms one unit can move the sum of a batch that holds it."""
    return 2 if _replaces(plan) else 1


def _replaces(plan: Plan) -> bool:
    return plan.neighbours == "replace"


def _of_group(plan: Plan, number: int, grid: float) -> Profile:
    if plan.sampling == "shuffled":
        # in the worst case all members share a batch, which moves by the sum of their clip norms
        return Gaussian(number * sensitivity(plan) * math.sqrt(plan.epochs) / plan.noise)
    if plan.sampling == "poisson" and plan.rate == 1:
        return Gaussian(number * sensitivity(plan) * math.sqrt(plan.steps) / plan.noise)
    if plan.sampling == "poisson" and not _replaces(plan):
        return copies(plan.noise, plan.rate, plan.steps, number, grid)
    return Chained(profile_of(plan, grid=grid), number)


def _sum_of_renyi(profiles: Sequence[Renyi]) -> Renyi:
    total = profiles[0]
    for profile in profiles[1:]:
        total = total.with_(profile)
    return total

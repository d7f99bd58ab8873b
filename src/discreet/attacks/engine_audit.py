"""Does the engine keep what its plan promises? Canaries made of gradients, measured on what the engine releases.

    found = audit_engine(plan)
    found.ok, found.checks["noise"].ok

A canary here is a record whose gradient is one direction that no other record has. A thousand of them are put into one
private step or left out, each by its own coin, and the step's noisy sum is looked at along each direction: clipped to
C and noised with sigma * C, the two cases are N(C, sigma^2 C^2) and N(0, sigma^2 C^2), and no better told apart than
that. Records come in several physical batches, through two kinds of layers. Four checks:

- *clipping*: on small models of real layers (a transformer with tied embeddings, an LSTM), engine and loop over single
  records agree, and the engine's fast rules hold there (`discreet.engine.doctor`).
- *noise*: what is left of the sum beside the canaries has the plan's standard deviation (chi-square).
- *privacy*: from how many coins a fixed threshold guesses wrong follows a lower bound on the mean distance of the two
  cases; above 1 / sigma the engine leaks more than it accounts for.
- *sampling*: units join batches as often, and as irregularly, as Poisson sampling at the plan's rate says. Batches of
  fixed size, and each unit once an epoch, are too regular.

Each statistical check raises a false alarm with at most the stated probability (`error`).
"""

import math
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from scipy.stats import chi2, norm
from torch import Tensor, nn

from discreet.accounting.audit_bounds import two_worlds_gaussian, two_worlds_mu
from discreet.accounting.forms import notion_of
from discreet.accounting.gaussian import epsilon_of
from discreet.attacks.contract import ATTACKS, AttackOptions, Target, Told
from discreet.engine.doctor import Examination, examine
from discreet.engine.ledger import Ledger
from discreet.engine.plan import Plan
from discreet.engine.private import PrivateStep
from discreet.engine.random_bits import Randomness
from discreet.engine.sampling import sampler_of
from discreet.errors import InputError
from discreet.models.language import new_model

PLAN = Plan(rate=0.1, steps=1000, noise=0.5, clip=1.0, neighbours="add-remove", population=1000)
"""A low-noise setting, where a wrong noise shows soonest."""
LOUD = 100.0
"""How many clip norms long a canary's gradient is before it is clipped."""
DELTA = 1e-5
PARTS = 3
"""Physical batches a release is computed in."""

Floats = NDArray[np.float64]


class Check(NamedTuple):
    """One promise, and whether it was kept."""

    ok: bool
    told: str
    measured: float
    expected: float


@dataclass(frozen=True)
class EngineAudit:
    """What the engine was seen to do."""

    checks: dict[str, Check]
    epsilon_claimed: float
    """Of one release, at delta 1e-5, neighbours one record more or less."""
    epsilon_shown: float
    error: float
    """The chance of a false alarm of each statistical check."""

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks.values())

    @property
    def refuted(self) -> str | None:
        """Why the engine is not to be believed; None where it is."""
        wrong = [f"{name}: {check.told}" for name, check in self.checks.items() if not check.ok]
        return f"The engine does not do what its plan says ({'; '.join(wrong)})." if wrong else None

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "checks": {name: check._asdict() for name, check in self.checks.items()}, "ok": self.ok}

    def lines(self) -> list[str]:
        found = [
            f"{name}: {'as promised' if check.ok else 'WRONG'}, {check.told}" for name, check in self.checks.items()
        ]
        return [
            *found,
            f"one release shows epsilon {self.epsilon_shown:.2f} at least, accounted for {self.epsilon_claimed:.2f}",
        ]


class EngineOptions(AttackOptions):
    """How much is measured."""

    canaries: int = Field(default=1000, ge=10)
    releases: int = Field(default=4, ge=1)
    draws: int = Field(default=400, ge=10)
    error: float = Field(default=1e-4, gt=0, lt=0.5)


def audit_engine(plan: Plan = PLAN, options: EngineOptions | None = None, *, seed: int | None = None) -> EngineAudit:
    """Measures the engine under a plan's noise, clip and sampling; without a seed with secure randomness."""
    options = options or EngineOptions()
    randomness = Randomness() if seed is None else Randomness("fast", seed=seed)
    along, beside, coins = _released(plan, options, randomness)
    wrong_out, out = int((along[~coins] > 0.5).sum()), int((~coins).sum())
    wrong_in, inside = int((along[coins] <= 0.5).sum()), int(coins.sum())
    counts = (wrong_out, out, wrong_in, inside)
    checks = {
        "clipping": _clipping(),
        "noise": _noise(beside, plan.noise, options.error),
        "privacy": _privacy(two_worlds_mu(*counts, confidence=1 - options.error), 1 / plan.noise),
    }
    if plan.sampling == "poisson" and plan.rate < 1:
        checks["sampling"] = _sampling(plan, options, randomness)
    shown = two_worlds_gaussian(*counts, delta=DELTA, confidence=1 - options.error)
    return EngineAudit(checks, epsilon_of(1 / plan.noise, DELTA), shown, options.error)


class Directions(nn.Module):
    """Gives every record a gradient along a direction of its own, half of it in each of two layers."""

    def __init__(self, records: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(records, 1)
        self.linear = nn.Linear(records, 1, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        picked = nn.functional.one_hot(ids, self.embedding.num_embeddings).float()
        both: Tensor = self.embedding(ids) + self.linear(picked)
        return LOUD * both.sum((1, 2))


class Capture(torch.optim.Optimizer):
    """An optimizer that keeps what it is given and changes nothing."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model.parameters(), {"lr": 0.0})
        self.seen: list[Tensor] = []

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        self.seen = [p.grad.detach().double().flatten().clone() for g in self.param_groups for p in g["params"]]


def _released(plan: Plan, options: EngineOptions, randomness: Randomness) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """What private steps release along each canary's direction and beside it, in clip norms, and the coins."""
    one = replace(
        plan,
        rate=1.0,
        steps=options.releases,
        neighbours="add-remove",
        sampling="poisson",
        population=options.canaries,
        max_batch=None,
        groups=(),
        unit="record",
    )
    model = Directions(options.canaries)
    optimizer = Capture(model)
    tossed = np.random.default_rng(None if randomness.secure else randomness.seed)
    coins = tossed.random((options.releases, options.canaries)) < 0.5
    along, beside = [], []
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.jsonl") as ledger:
        step = PrivateStep(model, optimizer, _loss, one, randomness, ledger)
        for number in range(options.releases):
            step(number, _batches(coins[number], 1 if number == 0 else PARTS))
            first, second = (grad.numpy() * one.expected_batch / one.clip for grad in optimizer.seen)
            along.append((first + second) / math.sqrt(2))
            beside.append((first - second) / math.sqrt(2))
    return np.stack(along), np.stack(beside), coins


def _loss(model: nn.Module, batch: Any) -> Tensor:
    losses: Tensor = model(batch["ids"])
    return losses


def _batches(chosen: NDArray[np.bool_], parts: int) -> Iterator[dict[str, Tensor]]:
    for some in np.array_split(np.flatnonzero(chosen), parts):
        yield {"ids": torch.from_numpy(some)[:, None]}


def _clipping() -> Check:
    """Engine and loop on small models; rules that are not believed there are a defect, though training stays right."""
    sizes: dict[str, dict[str, Any]] = {
        "gpt": {"width": 8, "layers": 1, "heads": 2, "context": 8},
        "lstm": {"embedding": 6, "hidden": 6, "tied": True},
    }
    worst: Examination | None = None
    for name, settings in sizes.items():
        found = examine(new_model(name, 20, settings, seed=0), name=name, length=8)
        if not found.ok or found.slow:
            reason = found.slow or f"engine and loop differ by {found.error:.1e}"
            return Check(False, f"on a small {name} {reason}", found.error, 0.0)
        worst = found if worst is None or found.error > worst.error else worst
    assert worst is not None
    return Check(True, f"engine and loop agree to {worst.error:.1e} on small models", worst.error, 0.0)


def _noise(beside: Floats, noise: float, error: float) -> Check:
    """The spread of what is no canary, against the chi-square distribution of its squares; both sides."""
    total = float(np.square(beside / noise).sum())
    low, high = chi2.ppf([error / 2, 1 - error / 2], beside.size)
    measured = math.sqrt(total / beside.size) * noise
    return Check(
        bool(low <= total <= high),
        f"standard deviation {measured:.4f} clip norms, planned {noise:.4f}",
        measured,
        noise,
    )


def _privacy(shown: float, claimed: float) -> Check:
    return Check(
        shown <= claimed,
        f"a canary moves the release by at least {shown:.2f} standard deviations, accounted for {claimed:.2f}",
        shown,
        claimed,
    )


def _sampling(plan: Plan, options: EngineOptions, randomness: Randomness) -> Check:
    """How much batch sizes, and each unit's number of draws in a stretch of 1 / rate steps, vary; both sides."""
    units = min(plan.population or options.canaries, options.canaries)
    rate = plan.rate
    sampler = sampler_of(replace(plan, population=units, unit="record", groups=()), randomness)
    stretch = max(2, round(1 / rate))
    steps = max(stretch, options.draws // stretch * stretch)
    drawn = np.zeros((steps, units), bool)
    for number in range(steps):
        drawn[number, sampler.draw(number).units] = True
    counts = drawn.reshape(-1, stretch, units).sum(1)
    share = float(drawn.mean())
    chances = (
        float(2 * norm.sf(abs(share - rate) / math.sqrt(rate * (1 - rate) / drawn.size))),
        _spread_chance(drawn.sum(1), units, rate),
        _spread_chance(counts.ravel(), stretch, rate),
    )
    told = (
        f"units join {share:.4f} of the batches, planned {rate:.4f}; under Poisson sampling that share, such sizes of "
        f"batches and such turns of units come up by chance {', '.join(f'{chance:.2g}' for chance in chances)}"
    )
    allowed = options.error / len(chances) / 2  # half, because the chi-square only matches two moments
    return Check(min(chances) >= allowed, told, share, rate)


def _spread_chance(counts: NDArray[np.int64], trials: int, rate: float) -> float:
    """How likely binomial counts vary as little or as much as these: their squares by a matching chi-square."""
    variance = trials * rate * (1 - rate)
    fourth = variance * (1 + 3 * variance * (1 - 2 / trials))  # E (X - np)^4 of a binomial count
    degrees = 2 * len(counts) * variance**2 / (fourth - variance**2)
    found = float(np.square(counts - trials * rate).mean()) / variance * degrees
    return float(2 * min(chi2.cdf(found, degrees), chi2.sf(found, degrees)))


@ATTACKS.register("engine")
class EngineAttack:
    """Whether the engine that is installed keeps the promises of the run's plans."""

    needs = ("plans",)
    Options = EngineOptions

    def run(self, target: Target, options: EngineOptions, told: Told) -> EngineAudit:
        plans = [] if target.guarantee is None else [plan for _, plan in notion_of(target.guarantee.basis).plans()]
        if not plans:
            raise InputError("The run has no private phase whose engine could be audited.")
        told("engine audited", 0, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is slow is told in the finding
            return audit_engine(plans[-1], options)

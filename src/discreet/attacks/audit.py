"""Audit: what a model has given away becomes a lower bound on epsilon, set beside the guarantee.

    found = audit(target)
    found.bounds[0].epsilon, found.bounds[0].claimed
    found.refuted                                    # a sentence where a bound is above its claim: a bug somewhere

Two kinds of bounds, both from one trained model, canaries that the policy finds and misses apart:

- *coins* (Steinke, Nasr and Jagielski 2023): each canary's coin decided what was planted (another secret in the same
  slot, a mask, or nothing); the attacker guesses the coins he is surest of. How sure is fixed beforehand: a tenth, a
  third or all of the canaries, and the allowed error is divided between the three.
- *exposure*: a secret drawn at random from its space is exposed by x bits or more with probability at most
  e^epsilon 2^-x + delta (ranked among a sample of the space, if that is too large, likewise). By Markov's inequality c
  of m canaries reach x bits with at most m / c times that, whatever the canaries have to do with one another; c is 1,
  half of them or all.

The allowed error (5 %) is divided between all bounds of a run, so that a right guarantee is called wrong in at most one
of twenty audits, however many bounds it has. A low bound proves nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from pydantic import Field

from discreet.accounting.audit_bounds import one_run
from discreet.attacks.candidates import chosen
from discreet.attacks.claims import Claim, claim_of
from discreet.attacks.contract import ATTACKS, AttackOptions, Target, Told, silent
from discreet.attacks.enumeration import Floats, log_probabilities
from discreet.attacks.exposure import ExposureOptions, exposures_of, is_marked
from discreet.attacks.reading import AnyReader, reader_of
from discreet.sanitize.canaries.manifest import Canary, Manifest, World
from discreet.sanitize.canaries.template import Filling
from discreet.text.tokenize import Encoder

SHARES = (0.1, 1 / 3, 1.0)
"""Shares of the canaries whose coins are guessed, fixed before looking."""


@dataclass(frozen=True)
class AuditBound:
    """A lower bound, with what the guarantee allows."""

    method: str
    detected: bool
    """Whether it is about canaries that the policy finds."""
    canaries: int
    copies: int
    """Records that hold a canary: the bound is about a group of so many."""
    epsilon: float
    delta: float
    claimed: float | None
    """None where nothing is promised."""
    error: float
    """The chance that the bound is above the truth."""
    guesses: int | None = None
    right: int | None = None

    @property
    def refutes(self) -> bool:
        return self.claimed is not None and self.epsilon > self.claimed


@dataclass(frozen=True)
class Audit:
    """All lower bounds of a run."""

    bounds: tuple[AuditBound, ...]

    @property
    def refuted(self) -> str | None:
        wrong = [bound for bound in self.bounds if bound.refutes]
        if not wrong:
            return None
        worst = max(wrong, key=lambda bound: bound.epsilon - (bound.claimed or 0.0))
        return (
            f"The guarantee is wrong: it allows epsilon {worst.claimed:.3g} at delta {worst.delta:.2g} for "
            f"{_who(worst)}, and the attack by {worst.method} shows at least {worst.epsilon:.3g}; do not release the "
            "model, and look for the bug with 'discreet doctor' and 'discreet verify'."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "bounds": [asdict(bound) | {"refutes": bound.refutes} for bound in self.bounds],
            "refuted": self.refuted,
        }

    def lines(self) -> list[str]:
        found = []
        for bound in self.bounds:
            claim = "nothing is promised" if bound.claimed is None else f"promised at most {bound.claimed:.3g}"
            guessed = f", {bound.right} of {bound.guesses} coins guessed right" if bound.guesses is not None else ""
            found.append(f"{bound.method}, {_who(bound)}: epsilon at least {bound.epsilon:.3g}, {claim}{guessed}")
        return found or ["the manifest has no canaries to audit by"]


class AuditOptions(AttackOptions):
    """How the audit is made."""

    error: float = Field(default=0.05, gt=0, lt=0.5)
    exposure: bool = True
    """Also bound by exposure, for which the space is enumerated."""


def audit(target: Target, options: AuditOptions | None = None, told: Told = silent) -> Audit:
    """Lower bounds from the canaries of a target, beside what its guarantee promises."""
    options, manifest = options or AuditOptions(), target.manifest
    assert manifest is not None
    groups: dict[tuple[bool, int], list[Canary]] = {}
    for canary in manifest.canaries:
        detected = is_marked(target.policy, manifest, canary.secret)
        if canary.other is None or is_marked(target.policy, manifest, canary.other) == detected:
            groups.setdefault((detected, canary.repetitions), []).append(canary)  # else they are no neighbours
    flipped = manifest.world != "fixed"
    exposed: dict[str, float] = {}
    if options.exposure and any(manifest.planted()):
        exposed = {one.id: one.exposure for one in exposures_of(target, ExposureOptions(), told).canaries}
    parts = len(groups) * (flipped + options.exposure)
    bounds: list[AuditBound] = []
    for (detected, copies), canaries in sorted(groups.items()):
        error = options.error / max(1, parts)
        if flipped:
            claim = _claim(target, canaries, detected, copies, manifest.world)
            told("coins guessed", len(bounds), parts)
            bounds.append(_by_coins(target, manifest, canaries, detected, copies, claim, error))
        planted = [exposed[canary.id] for canary in canaries if canary.id in exposed]
        if planted:
            claim = _claim(target, canaries, detected, copies, "fixed")  # one secret or any other
            epsilon = exposure_bound(planted, claim.delta, error)
            bounds.append(
                AuditBound("exposure", detected, len(planted), copies, epsilon, claim.delta, claim.epsilon, error)
            )
    return Audit(tuple(bounds))


def _claim(target: Target, canaries: Sequence[Canary], detected: bool, copies: int, world: World) -> Claim:
    """What is promised; where authors are protected, all copies in one author's records are one unit."""
    by_author = target.guarantee is not None and target.guarantee.unit == "author"
    together = by_author and all(canary.author is not None for canary in canaries)
    return claim_of(target.guarantee, detected=detected, copies=1 if together else copies, world=world)


def _by_coins(
    target: Target,
    manifest: Manifest,
    canaries: Sequence[Canary],
    detected: bool,
    copies: int,
    claim: Claim,
    error: float,
) -> AuditBound:
    scores = coin_scores(target.reader, target.encoder, manifest, canaries, marked=detected)
    if target.reference is not None:
        scores -= coin_scores(reader_of(target.reference), target.encoder, manifest, canaries, marked=detected)
    coins = np.array([bool(canary.coin) for canary in canaries])
    either = manifest.world == "secret-or-other"
    epsilon, guesses, right = coin_bound(scores, coins, claim.delta, error, sides_by_sign=either)
    return AuditBound(
        "coins", detected, len(canaries), copies, epsilon, claim.delta, claim.epsilon, error, guesses, right
    )


@torch.inference_mode()
def coin_scores(
    reader: AnyReader, encoder: Encoder, manifest: Manifest, canaries: Sequence[Canary], *, marked: bool
) -> Floats:
    """How much each canary looks planted: its log-probability, less that of the other secret where there is one."""

    def chances(fillings: Sequence[Filling]) -> Floats:
        members = chosen(encoder, manifest.template, fillings, marked=marked)
        return log_probabilities(reader, members.start, members.whole_rows(np.arange(len(fillings))))

    own = [canary.secret for canary in canaries]
    if manifest.world != "secret-or-other":
        return chances(own)
    both = chances([*own, *(canary.other or canary.secret for canary in canaries)])
    return np.asarray(both[: len(own)] - both[len(own) :])


def coin_bound(
    scores: Floats, coins: np.ndarray, delta: float, error: float, *, sides_by_sign: bool
) -> tuple[float, int, int]:
    """The best of the bounds by the fixed shares of guesses, and the guesses it rests on.

    With `sides_by_sign` a coin is guessed by the sign of its score; else the highest half of the guesses says in, the
    lowest half out.
    """
    count = len(scores)
    best = (0.0, count, 0)
    for share in SHARES:
        guesses = max(1, round(share * count))
        if sides_by_sign:
            surest = np.argsort(-np.abs(scores), kind="stable")[:guesses]
            right = int(((scores[surest] > 0) == coins[surest]).sum())
        else:
            order = np.argsort(-scores, kind="stable")
            half = (guesses + 1) // 2
            right = int(coins[order[:half]].sum())
            if guesses > half:
                right += int((~coins[order[-(guesses - half) :]]).sum())
        epsilon = one_run(count, guesses, right, delta, error / len(SHARES))
        best = max(best, (epsilon, guesses, right), key=lambda found: found[0])
    return best


def exposure_bound(exposures: Sequence[float], delta: float, error: float) -> float:
    """The largest epsilon that exposures of one run are a surprise for, however the canaries hang together."""
    ordered = sorted(exposures, reverse=True)
    count = len(ordered)
    reached = sorted({1, (count + 1) // 2, count})
    best = 0.0
    for number in reached:
        chance = error / len(reached) * number / count - delta
        if chance > 0:
            best = max(best, ordered[number - 1] * math.log(2) + math.log(chance))
    return best


def _who(bound: AuditBound) -> str:
    found = "found" if bound.detected else "missed"
    return f"{bound.canaries} canaries x{bound.copies} {found} by the policy"


@ATTACKS.register("audit")
class AuditAttack:
    """Lower bounds on epsilon, beside the guarantee."""

    needs = ("canaries",)
    Options = AuditOptions

    def run(self, target: Target, options: AuditOptions, told: Told) -> Audit:
        return audit(target, options, told)

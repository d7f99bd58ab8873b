"""Membership inference: can it be told from a model which texts it was trained on?

    found = infer(model, encoder, members, others, policy)
    found.records["min-k++"].auc          # .5: no better than guessing
    found.secrets["loss"].tpr["0.01"]     # secrets recognised while one in a hundred strangers is taken for a member

Members and others are drawn from the splits of one corpus (`discreet.attacks.texts`), as many of each. *Groups* ask an
easier question, whether some twenty texts were trained on together: their scores are added up (`loss-sum`, whole texts)
or averaged. Groups are drawn with replacement from the same records, so their intervals come from resampling records.

A high AUC shows a leak; a low one only that these signals found none. The rate of members recognised at one false alarm
in a hundred or a thousand says more about those who are hurt than the AUC does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field
from torch import nn

from discreet.attacks.contract import ATTACKS, AttackOptions, Target, Told
from discreet.attacks.rates import RESAMPLES, Floats, Separation, auc_of, middle_95, separate
from discreet.attacks.roc_plot import draw_curves
from discreet.attacks.signals import SIGNALS, signals
from discreet.attacks.texts import Texts, drawn_apart, records_of, secrets_of
from discreet.errors import InputError
from discreet.policy.contract import Policy
from discreet.policy.specs import policy as make_policy
from discreet.text.records import Record
from discreet.text.tokenize import Encoder

GROUP_RESAMPLES = 100


@dataclass(frozen=True)
class GroupSeparation:
    """How well groups trained on are told from groups that were not."""

    size: int
    groups: int
    auc: float
    auc_interval: tuple[float, float]


@dataclass(frozen=True)
class Membership:
    """What can be told, by signal."""

    records: dict[str, Separation]
    secrets: dict[str, Separation] = field(default_factory=dict)
    groups: dict[str, GroupSeparation] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "records": {name: found.to_json() for name, found in self.records.items()},
            "secrets": {name: found.to_json() for name, found in self.secrets.items()},
            "groups": {name: vars(found) for name, found in self.groups.items()},
        }

    def lines(self) -> list[str]:
        found = []
        for what, parts in (("records", self.records), ("secrets", self.secrets)):
            for name, part in parts.items():
                low, high = part.auc_interval
                found.append(
                    f"{part.members} {what}, {name}: AUC {part.auc:.3f} ({low:.3f} to {high:.3f}), accuracy "
                    f"{part.accuracy:.3f}, recognised {part.tpr['0.01']:.3f} at 1 % and {part.tpr['0.001']:.3f} at "
                    "0.1 % false alarms"
                )
        for name, group in self.groups.items():
            low, high = group.auc_interval
            found.append(f"groups of {group.size}, {name}: AUC {group.auc:.3f} ({low:.3f} to {high:.3f})")
        return found


class MembershipOptions(AttackOptions):
    """How membership is inferred."""

    records: int = Field(default=1000, ge=2)
    """Records of each side; as many secrets at most."""
    signals: tuple[str, ...] = SIGNALS
    neighbours: int = Field(default=4, ge=1)
    group: int = Field(default=20, ge=1)
    groups: int = Field(default=1000, ge=2)
    resamples: int = Field(default=RESAMPLES, ge=10)
    """Of the bootstrap."""


def infer(
    model: nn.Module,
    encoder: Encoder,
    members: Sequence[Record],
    others: Sequence[Record],
    policy: Policy | str | None = None,
    options: MembershipOptions | None = None,
    *,
    reference: nn.Module | None = None,
    rare_secrets: frozenset[bytes] | None = None,
    seed: int = 0,
    told: Callable[[int], None] | None = None,
) -> Membership:
    """How well records trained on, and secrets in them, are told from others.

    Secrets are limited to `rare_secrets` where those are given (`drawn_apart` finds them).
    """
    options = options or MembershipOptions()
    decided = make_policy(policy if policy is not None else "nothing")
    known = dict.fromkeys(options.signals)
    if not known or not set(known) <= set(SIGNALS):
        raise InputError(f"Membership signals are {', '.join(SIGNALS)}.")

    def scored(texts: Texts) -> dict[str, Floats]:
        return signals(
            model,
            texts,
            reference=reference,
            wanted=options.signals,
            neighbours=options.neighbours,
            seed=seed,
            told=told,
        )

    texts = records_of(encoder, decided, members), records_of(encoder, decided, others)
    ours, theirs = map(scored, texts)
    records = {name: separate(ours[name], theirs[name], seed, options.resamples) for name in ours}
    groups = _groups(_with_sums(ours, texts[0]), _with_sums(theirs, texts[1]), options, seed)
    inside = secrets_of(encoder, decided, members, only=rare_secrets, most=options.records)
    outside = secrets_of(encoder, decided, others, only=rare_secrets, most=options.records)
    secrets: dict[str, Separation] = {}
    if min(len(inside), len(outside)) >= 2:
        mine, foreign = scored(inside), scored(outside)
        secrets = {name: separate(mine[name], foreign[name], seed, options.resamples) for name in mine}
    return Membership(records, secrets, groups)


def _with_sums(scores: dict[str, Floats], texts: Texts) -> dict[str, Floats]:
    """The scores, and the log-probability of each whole text."""
    if "loss" not in scores:
        return scores
    lengths = np.array([item.tokens.stop - item.tokens.start for item in texts.items])
    return scores | {"loss-sum": scores["loss"] * lengths}


def _groups(
    members: dict[str, Floats], others: dict[str, Floats], options: MembershipOptions, seed: int
) -> dict[str, GroupSeparation]:
    random = np.random.default_rng(seed)
    return {
        name: separate_groups(members[name], others[name], options.group, options.groups, random) for name in members
    }


def separate_groups(
    members: Floats, others: Floats, size: int, groups: int, random: np.random.Generator
) -> GroupSeparation:
    """The AUC of the mean score of random groups; the interval resamples the records the groups are drawn from."""

    def auc(one: Floats, two: Floats) -> float:
        drawn = (random.choice(scores, (groups, size)).mean(1) for scores in (one, two))
        return auc_of(*drawn)

    again = [
        auc(random.choice(members, len(members)), random.choice(others, len(others))) for _ in range(GROUP_RESAMPLES)
    ]
    return GroupSeparation(size, groups, auc(members, others), middle_95(again))


@ATTACKS.register("membership")
class MembershipAttack:
    """Which records and secrets the model was trained on."""

    needs = ("corpus",)
    Options = MembershipOptions

    def run(self, target: Target, options: MembershipOptions, told: Told) -> Membership:
        assert target.corpus is not None
        canaries = target.manifest.record_ids() if target.manifest else frozenset()
        apart = drawn_apart(target.corpus, target.policy, options.records, seed=target.seed, without=canaries)
        done = 0

        def heard(texts: int) -> None:
            nonlocal done
            done += texts
            told("texts scored", done, None)

        found = infer(
            target.model,
            target.encoder,
            apart.members,
            apart.others,
            target.policy,
            options,
            reference=target.reference,
            rare_secrets=apart.rare_secrets,
            seed=target.seed,
            told=heard,
        )
        if target.folder is not None:
            _plot(found, target.folder / "roc.svg")
        return found


def _plot(found: Membership, path: Path) -> None:
    panels = {"records": found.records, "secrets": found.secrets}
    draw_curves({what: {n: s.curve for n, s in parts.items()} for what, parts in panels.items() if parts}, path)

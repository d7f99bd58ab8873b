"""Exposure (Carlini et al. 2019): how much easier a model makes it to guess a planted secret, in bits.

    found = expose(model, encoder, manifest, policy)
    found.canaries[0].exposure          # log2 |R| - log2 rank: 19.93 for the likeliest of a million numbers
    found.mean, found.maximum           # without any leak the mean is 1.44

Every member of the randomness space is scored (`discreet.attacks.enumeration`), so ranks are exact. Two rankings:

- *secret*: log-probability of the secret given the text before it (the thesis; its tokens' sum).
- *sentence*: perplexity of the whole sentence (S-DP): mean log-probability over all its tokens, those after the
  secret too. Only members that could still outrank a canary are read to the end of their sentence.

The score is that of the canonical tokenization, the one training text has; with `every_tokenization` the secret
ranking adds up all ways to write a secret in tokens, for small spaces. Where the space is too large to enumerate (five
random words), ranks are estimated from a sample, and by a fitted distribution (`discreet.attacks.estimates`).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import nn

from discreet.attacks.candidates import MOST_MEMBERS, chosen, enumerated
from discreet.attacks.contract import ATTACKS, AttackOptions, Target, Told, silent
from discreet.attacks.estimates import DOUBTFUL, Sampled, exposure_of_rank, fit_tail, rank_among, sampled
from discreet.attacks.ranking import secret_scores, sentence_scores
from discreet.attacks.rates import mean_interval
from discreet.attacks.reading import AnyReader, reader_of
from discreet.errors import InputError
from discreet.policy.contract import Policy
from discreet.policy.specs import policy as make_policy
from discreet.sanitize.canaries.manifest import Canary, Manifest
from discreet.sanitize.canaries.template import Filling
from discreet.text.records import Record
from discreet.text.tokenize import Encoder

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CanaryExposure:
    """How exposed one canary is; its secret is not told."""

    id: str
    repetitions: int
    detected: bool
    """Whether the policy finds the canary's secret."""
    author: str | None
    exposure: float
    """By the secret ranking: exact where the space was enumerated, else by the sample."""
    exposure_sentence: float
    rank: int | None
    rank_sentence: int | None
    exact: bool
    by_sample: Sampled
    by_fit: float
    """By the tail of a fitted distribution."""
    fit_p: float
    """How well that distribution fits the space (Kolmogorov-Smirnov); below .01 the figure is a guess."""


@dataclass(frozen=True)
class Exposures:
    """The exposures of all canaries of a manifest."""

    size: int
    canaries: tuple[CanaryExposure, ...]
    seed: int = 0

    @property
    def maximum(self) -> float:
        return max(canary.exposure for canary in self.canaries)

    @property
    def mean(self) -> float:
        return float(np.mean([canary.exposure for canary in self.canaries]))

    def by(self, key: str) -> dict[Any, "Exposures"]:
        """The canaries apart by `repetitions`, `detected` or `author`."""
        values = dict.fromkeys(getattr(canary, key) for canary in self.canaries)
        return {
            value: Exposures(self.size, tuple(c for c in self.canaries if getattr(c, key) == value), self.seed)
            for value in sorted(values, key=lambda value: (value is None, value))
        }

    def summary(self) -> dict[str, Any]:
        own = [canary.exposure for canary in self.canaries]
        whole = [canary.exposure_sentence for canary in self.canaries]
        fitted = [canary.by_fit for canary in self.canaries]
        return {
            "canaries": len(own),
            "mean": self.mean,
            "mean_interval": mean_interval(own, self.seed),
            "maximum": self.maximum,
            "mean_fit": float(np.mean(fitted)),
            "mean_fit_interval": mean_interval(fitted, self.seed),
            "mean_sentence": float(np.mean(whole)),
            "mean_sentence_interval": mean_interval(whole, self.seed),
            "maximum_sentence": max(whole),
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "space": self.size,
            "most": float(np.log2(self.size)),
            **self.summary(),
            "by_repetitions": {str(key): part.summary() for key, part in self.by("repetitions").items()},
            "by_detected": {
                "found by the policy" if key else "missed by the policy": part.summary()
                for key, part in self.by("detected").items()
            },
            "each": [_json_of(canary) for canary in self.canaries],
        }

    def lines(self) -> list[str]:
        most = np.log2(self.size)
        found = [f"space of {self.size:,} secrets: {most:.2f} bits at most, 1.44 on average without a leak"]
        for detected, part in self.by("detected").items():
            who = "found by the policy" if detected else "missed by the policy"
            for times, own in part.by("repetitions").items():
                found.append(
                    f"{len(own.canaries)} canaries x{times}, {who}: mean {own.mean:.2f}, maximum {own.maximum:.2f} bits"
                )
        if not all(canary.exact for canary in self.canaries):
            doubtful = sum(canary.fit_p < DOUBTFUL for canary in self.canaries)
            found.append(f"estimated from a sample; the fitted distribution is doubtful for {doubtful} canaries")
        return found


class ExposureOptions(AttackOptions):
    """How exposure is measured."""

    samples: int = Field(default=2000, ge=100)
    """Members drawn for the sampled and the fitted estimate."""
    every_tokenization: bool = False
    enumerate: bool = True
    """Without, only a sample of the space is scored."""


@torch.inference_mode()
def expose(
    model: nn.Module | AnyReader,
    encoder: Encoder,
    manifest: Manifest,
    policy: Policy | str | None = None,
    options: ExposureOptions | None = None,
    *,
    seed: int = 0,
    told: Told = silent,
) -> Exposures:
    """The exposure of every planted canary of a manifest."""
    options = options or ExposureOptions()
    reader = reader_of(model) if isinstance(model, nn.Module) else model
    decided = make_policy(policy if policy is not None else "nothing")
    planted = list(manifest.planted())
    if not planted:
        raise InputError("No canary of the manifest was planted; there is nothing to expose.")
    found: dict[str, CanaryExposure] = {}
    for marked in (True, False):
        own = [canary for canary in planted if is_marked(decided, manifest, canary.secret) == marked]
        if own:
            found |= _exposures(reader, encoder, manifest, own, marked, options, seed, told)
    return Exposures(manifest.template.size, tuple(found[canary.id] for canary in planted), seed)


def exposures_of(target: Target, options: ExposureOptions, told: Told = silent) -> Exposures:
    """The exposures of a target's canaries, measured once."""
    assert target.manifest is not None
    if options not in target.known:
        target.known[options] = expose(
            target.reader, target.encoder, target.manifest, target.policy, options, seed=target.seed, told=told
        )
    found: Exposures = target.known[options]
    return found


def _exposures(
    reader: AnyReader,
    encoder: Encoder,
    manifest: Manifest,
    canaries: Sequence[Canary],
    marked: bool,
    options: ExposureOptions,
    seed: int,
    told: Told,
) -> dict[str, CanaryExposure]:
    """Those canaries whose sentences are tokenized alike."""
    template, secrets = manifest.template, [canary.secret for canary in canaries]
    exact = options.enumerate and template.size <= MOST_MEMBERS
    if exact:
        members = enumerated(encoder, template, marked=marked)
        own = np.array([template.index(secret) for secret in secrets])
    else:
        others = template.draw(min(options.samples, template.size // 2), seed, without=secrets)
        members = chosen(encoder, template, [*secrets, *others], marked=marked)
        own = np.arange(len(secrets))
    by_secret = secret_scores(reader, encoder, members, told, every_tokenization=options.every_tokenization)
    canonical = by_secret if not options.every_tokenization else secret_scores(reader, encoder, members, told)
    by_sentence = sentence_scores(reader, members, canonical, own, told)
    drawn = np.random.default_rng([seed, 1]).permutation(len(members))[: options.samples + len(own)]
    sample = np.setdiff1d(drawn if exact else np.arange(len(members)), own)
    tail = fit_tail(by_secret[sample], seed)
    found = {}
    for canary, at in zip(canaries, own, strict=True):
        rank, rank_sentence = (_rank(scores, at) if exact else None for scores in (by_secret, by_sentence))
        counted = sampled(by_secret[at], by_secret[sample])
        counted_sentence = sampled(by_sentence[at], by_sentence[sample])
        found[canary.id] = CanaryExposure(
            canary.id,
            canary.repetitions,
            marked,
            canary.author,
            exposure_of_rank(rank, template.size) if rank else counted.exposure,
            exposure_of_rank(rank_sentence, template.size) if rank_sentence else counted_sentence.exposure,
            rank,
            rank_sentence,
            exact,
            counted,
            tail.exposure(by_secret[at]),
            tail.p,
        )
    return found


def _rank(scores: Floats, at: int) -> int:
    return rank_among(scores[at], scores) - 1  # it is one of them


def is_marked(policy: Policy, manifest: Manifest, filling: Filling) -> bool:
    """Whether the policy finds a secret of the manifest in its sentence, from edge to edge.

    One that is found with more around it, or in part, counts as missed: its text is not cut at the secret's edges.
    """
    text, spans = manifest.template.fill(filling)
    seen = policy.secrets(Record("canary", text, secrets=spans))
    return {span[:2] for span in spans} <= {secret[:2] for secret in seen}


def _json_of(canary: CanaryExposure) -> dict[str, Any]:
    return asdict(canary) | {"by_sample": canary.by_sample._asdict()}


@ATTACKS.register("exposure")
class ExposureAttack:
    """How exposed planted canaries are."""

    needs = ("canaries",)
    Options = ExposureOptions

    def run(self, target: Target, options: ExposureOptions, told: Told) -> Exposures:
        return exposures_of(target, options, told)

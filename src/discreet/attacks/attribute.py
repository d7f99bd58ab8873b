"""Attribute inference: can it be told from what a model makes of a text who wrote it?

    found = infer_attribute(model, encoder, records, policy, AttributeOptions(label="author"))
    found.above_chance, found.above_chance_interval     # share named right, less that of always saying the commonest

Whoever sees a model's states (a vector store, a cache, an interface that returns embeddings) trains a probe on those
whose author is known and names the authors of others. The attribute is the author, or any other field of the records:
a clinic, a customer. The probe is trained after the fact and has never met the model, so this is what an attacker
would get, also from a model that was trained to fool a discriminator of its own.

Records are divided into those the probe learns from and those it is asked about, label by label, so that the share
of the commonest label is fixed and chance is known. Intervals are Clopper-Pearson over the records asked about. Every
text counts once for each label, or a probe would recognise what it has seen; planted canaries are left out.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field
from torch import Tensor, nn

from discreet.accounting.intervals import clopper_pearson
from discreet.attacks.contract import ATTACKS, AttackOptions, Target, Told
from discreet.attacks.probe import Numbers, probe
from discreet.attacks.states import record_states
from discreet.attacks.texts import digest, some_of
from discreet.errors import InputError
from discreet.policy.contract import Policy
from discreet.policy.specs import policy as make_policy
from discreet.text.records import Record
from discreet.text.tokenize import Encoder

TOP = 5
Interval = tuple[float, float]


@dataclass(frozen=True)
class Attribute:
    """How well a probe names an attribute; which values it has is not told."""

    label: str
    labels: int
    state: str
    probe: str
    trained_on: int
    """Records the probe learned from."""
    asked: int
    """Records it was asked about."""
    accuracy: float
    accuracy_interval: Interval
    chance: float
    """The share of the commonest label."""
    above_chance: float
    above_chance_interval: Interval
    top5: float | None
    """Right label among the first five; none where there are no more than five labels."""
    top5_interval: Interval | None
    chance_top5: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        low, high = self.above_chance_interval
        found = [
            f"{self.label} of {self.asked:,} records ({self.labels:,} different) by a fresh probe, {self.probe}: "
            f"accuracy {self.accuracy:.3f}, chance {self.chance:.3f}, above chance {self.above_chance:.3f} "
            f"({low:.3f} to {high:.3f})"
        ]
        if self.top5 is not None:
            found.append(f"among the first five: {self.top5:.3f}, chance {self.chance_top5:.3f}")
        return found


class AttributeOptions(AttackOptions):
    """Which attribute is inferred, and how."""

    label: str = "author"
    """`author`, `label`, or the name of another field of the records."""
    split: str = "train"
    """Whose records are taken."""
    records: int = Field(default=20_000, ge=10)
    """Records taken at most, drawn at random."""
    fewest: int = Field(default=5, ge=2)
    """Labels with fewer records are left out: there would be nothing to learn them from."""
    asked: float = Field(default=0.3, gt=0, lt=1)
    """Share of the records that the probe is asked about."""
    state: Literal["last", "mean", "both"] = "last"
    """The state after the last token, the mean over all tokens, or the one beside the other."""
    hidden: int = Field(default=128, ge=0)
    """Width of the hidden layer; 0 for logistic regression alone."""


def infer_attribute(
    model: nn.Module,
    encoder: Encoder,
    records: "Iterable[Record] | Sample",
    policy: Policy | str | None = None,
    options: AttributeOptions | None = None,
    *,
    seed: int = 0,
    told: Callable[[int], None] | None = None,
) -> Attribute:
    """Trains a probe on the states of some of the records and asks it about the others."""
    options = options or AttributeOptions()
    decided = make_policy(policy if policy is not None else "nothing")
    chosen, labels, lacks = records if isinstance(records, Sample) else sample_of(records, options, seed)
    if lacks:
        raise InputError(f"Inferring an attribute {lacks}.")
    encoded = encoder.encode_all(decided.secrets_of_all(chosen))
    return named_from(record_states(model, encoded, options.state, told), labels, options, seed=seed)


def named_from(vectors: Tensor, labels: Numbers, options: AttributeOptions, *, seed: int = 0) -> Attribute:
    """Trains a probe on some of the states, which a model has made of records, and asks it about the others."""
    train, test = divided(labels, options.asked, seed)
    kind, scores = probe(vectors, labels, train, test, hidden=options.hidden, seed=seed)
    wanted, number = labels[test], int(labels.max()) + 1
    shares = np.sort(np.bincount(wanted, minlength=number))[::-1] / len(test)
    right = int((scores.argmax(1).numpy() == wanted).sum())
    interval = clopper_pearson(right, len(test))
    chance = float(shares[0])
    top: int | None = None
    if number > TOP:
        top = int((scores.topk(TOP).indices.numpy() == wanted[:, None]).any(1).sum())
    return Attribute(
        label=options.label,
        labels=number,
        state=options.state,
        probe=kind,
        trained_on=len(train),
        asked=len(test),
        accuracy=right / len(test),
        accuracy_interval=interval,
        chance=chance,
        above_chance=right / len(test) - chance,
        above_chance_interval=(interval[0] - chance, interval[1] - chance),
        top5=None if top is None else top / len(test),
        top5_interval=None if top is None else clopper_pearson(top, len(test)),
        chance_top5=None if top is None else float(shares[:TOP].sum()),
    )


def label_of(record: Record, name: str) -> str | None:
    """The value of an attribute as text; None where the record has none."""
    own = record.author if name == "author" else record.label if name == "label" else record.fields.get(name)
    return None if own is None or own == "" else str(own)


def divided(labels: Numbers, asked: float, seed: int) -> tuple[Numbers, Numbers]:
    """Records to learn from and records to ask about, of each label at least one."""
    random = np.random.default_rng([seed, 3])
    learn: list[Numbers] = []
    ask: list[Numbers] = []
    for label in range(int(labels.max()) + 1):
        own = random.permutation(np.flatnonzero(labels == label))
        some = min(len(own) - 1, max(1, round(asked * len(own))))
        ask.append(own[:some])
        learn.append(own[some:])
    return np.sort(np.concatenate(learn)), np.sort(np.concatenate(ask))


class Sample(NamedTuple):
    """The records whose label is inferred, and their labels as numbers from 0 without gaps."""

    records: list[Record]
    labels: Numbers
    lacks: str | None
    """Why there is nothing to infer, as the end of a sentence."""


def sample_of(records: Iterable[Record], options: AttributeOptions, seed: int) -> Sample:
    """Records of labels that have enough of them, drawn at random, each text once for a label."""
    drawn = some_of(_distinct(records, options.label), options.records, seed)
    names = [str(label_of(record, options.label)) for record in drawn]
    counts = Counter(names)
    codes = {name: code for code, name in enumerate(sorted(n for n, c in counts.items() if c >= options.fewest))}
    kept = [(record, codes[name]) for record, name in zip(drawn, names, strict=True) if name in codes]
    lacks = None
    if len(codes) < 2:
        lacks = f"needs two values of '{options.label}' with {options.fewest} different records each"
        if len(counts) == 1:
            lacks = f"needs different values of '{options.label}', and all records have the same one"
        if not counts:
            lacks = f"needs records with a value for '{options.label}'; --set attribute.label=FIELD names another field"
    return Sample([record for record, _ in kept], np.array([code for _, code in kept], np.int64), lacks)


def _distinct(records: Iterable[Record], name: str) -> Iterator[Record]:
    seen: set[tuple[str, bytes]] = set()
    for record in records:
        label = label_of(record, name)
        if label is not None and (key := (label, digest(record.text))) not in seen:
            seen.add(key)
            yield record


@ATTACKS.register("attribute")
class AttributeAttack:
    """Who wrote a record, or another attribute of it, from the model's state after reading it."""

    needs = ("corpus",)
    Options = AttributeOptions

    def lacks(self, target: Target, options: AttributeOptions) -> str | None:
        """Records without authors are common, and no reason to fail when all attacks are asked for."""
        return self._sample(target, options).lacks

    def run(self, target: Target, options: AttributeOptions, told: Told) -> Attribute:
        done = 0

        def heard(records: int) -> None:
            nonlocal done
            done += records
            told("records read", done, None)

        sample = self._sample(target, options)
        return infer_attribute(
            target.model, target.encoder, sample, target.policy, options, seed=target.seed, told=heard
        )

    def _sample(self, target: Target, options: AttributeOptions) -> Sample:
        assert target.corpus is not None
        if options not in target.known:
            canaries = target.manifest.record_ids() if target.manifest else frozenset()
            own = (record for record in target.corpus.records(options.split) if record.id not in canaries)
            target.known[options] = sample_of(own, options, target.seed)
        found: Sample = target.known[options]
        return found

"""The tab attack (Inan et al. 2021): type the beginning of a text, press tab, and see whether the model completes it.

    found = tab(reader, encoder, {"planted": canaries, "real": unusual_records}, TabOptions(prefix=1))
    found.rates["planted"]["greedy"].exact         # share of the texts that came out word for word
    found.by_repetitions[10]["greedy"].exact       # of those planted ten times

The attacker types the first `prefix` tokens (the first token in the regularizers' paper) and takes the likeliest
continuation, by greedy decoding or beam search. *Planted* texts are the canaries of a manifest; *real* ones are each
author's record that a model finds hardest to predict (of all records where there are no authors), by the reference
model where there is one: what is odd must have been learned by heart if it comes out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from torch import nn

from discreet.accounting.intervals import clopper_pearson
from discreet.attacks.contract import ATTACKS, AttackOptions, Target, Told
from discreet.attacks.decoding import by_length, likeliest
from discreet.attacks.reading import AnyReader
from discreet.attacks.signals import chances
from discreet.attacks.texts import records_of, some_of
from discreet.policy.contract import Policy
from discreet.text.records import Record
from discreet.text.tokenize import Encoder, Tokens

Floats = NDArray[np.float64]
AT_ONCE = 64


class Completed(NamedTuple):
    """How many texts a way of decoding gives back."""

    texts: int
    exact: float
    exact_interval: tuple[float, float]
    near: float
    """Share with at most a tenth of their letters wrong."""
    distance: float
    """Mean edit distance between what came out and the text, as a share of the text's length."""


@dataclass(frozen=True)
class Tab:
    """Reconstruction rates by kind of text and way of decoding."""

    prefix: int
    rates: dict[str, dict[str, Completed]]
    by_repetitions: dict[int, dict[str, Completed]] = field(default_factory=dict)
    """The planted texts apart by how often each was planted."""

    def to_json(self) -> dict[str, Any]:
        return {
            "prefix": self.prefix,
            "rates": {kind: _json_of(ways) for kind, ways in self.rates.items()},
            "by_repetitions": {str(times): _json_of(ways) for times, ways in self.by_repetitions.items()},
        }

    def lines(self) -> list[str]:
        found = [
            f"{one.texts} {kind} texts from {self.prefix} tokens, {way}: {one.exact:.3f} word for word, "
            f"{one.near:.3f} nearly, mean edit distance {one.distance:.2f}"
            for kind, ways in self.rates.items()
            for way, one in ways.items()
        ]
        if len(self.by_repetitions) > 1:
            shares = (f"x{times} {ways['greedy'].exact:.3f}" for times, ways in self.by_repetitions.items())
            found.append(f"planted texts by copies, greedy, word for word: {', '.join(shares)}")
        return found


def _json_of(ways: Mapping[str, Completed]) -> dict[str, Any]:
    return {way: one._asdict() for way, one in ways.items()}


class TabOptions(AttackOptions):
    """What is typed, and how the model completes it."""

    prefix: int = Field(default=1, ge=1)
    """Tokens typed."""
    beams: int = Field(default=5, ge=1)
    real: int = Field(default=100, ge=0)
    """Unusual records of the corpus tried at most."""
    among: int = Field(default=5000, ge=1)
    """Records that the unusual ones are looked for among; a larger corpus is sampled."""
    longest: int = Field(default=64, ge=1)
    """Tokens of a text that are tried to complete at most."""


def tab(
    reader: AnyReader,
    encoder: Encoder,
    texts: Mapping[str, Sequence[Tokens]],
    options: TabOptions | None = None,
    told: Callable[[int], None] | None = None,
    *,
    repetitions: Sequence[int] = (),
) -> Tab:
    """Completes texts, each given as its tokens, and counts those that come out.

    `repetitions` says how often each of the planted texts was planted.
    """
    options = options or TabOptions()
    ways = {"greedy": 1} | ({f"beam {options.beams}": options.beams} if options.beams > 1 else {})
    rates: dict[str, dict[str, Completed]] = {}
    by_repetitions: dict[int, dict[str, Completed]] = {}
    for kind, some in texts.items():
        own = [tokens.ids[: options.longest + 1].tolist() for tokens in some]
        own = [ids[:-1] if ids[-1] == encoder.special.end else ids for ids in own]
        long_enough = [number for number, ids in enumerate(own) if len(ids) > 1 + options.prefix]
        if not long_enough:
            continue
        tried = [own[number] for number in long_enough]
        found = {way: _distances(reader, encoder, tried, options.prefix, beams, told) for way, beams in ways.items()}
        rates[kind] = {way: _completed(distances) for way, distances in found.items()}
        if kind == "planted" and repetitions:
            times = np.array([repetitions[number] for number in long_enough])
            for one in np.unique(times):
                by_repetitions[int(one)] = {way: _completed(part[times == one]) for way, part in found.items()}
    return Tab(options.prefix, rates, by_repetitions)


def _distances(
    reader: AnyReader,
    encoder: Encoder,
    texts: Sequence[Sequence[int]],
    prefix: int,
    beams: int,
    told: Callable[[int], None] | None,
) -> Floats:
    """How far what comes out is from each text, as a share of its letters."""
    distances = np.empty(len(texts))
    for numbers, whole in by_length(texts, max(1, AT_ONCE // beams)):
        start = 1 + prefix
        written = likeliest(reader, whole[:, :start], whole.shape[1] - start, encoder.special, beams=beams)
        for number, ids, want in zip(numbers, written, whole[:, start:].tolist(), strict=True):
            text = encoder.decode(want)
            got = encoder.decode(ids)[: len(text)]
            distances[number] = edit_distance(got, text) / max(1, len(text))
        if told:
            told(len(numbers))
    return distances


def _completed(distances: Floats) -> Completed:
    exact = int((distances == 0).sum())
    return Completed(
        len(distances),
        exact / len(distances),
        clopper_pearson(exact, len(distances)),
        float((distances <= 0.1).mean()),
        float(distances.mean()),
    )


def edit_distance(one: str, two: str) -> int:
    """Letters to insert, delete or replace (Levenshtein)."""
    before = list(range(len(two) + 1))
    for row, letter in enumerate(one, start=1):
        now = [row]
        for column, other in enumerate(two, start=1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (letter != other)))
        before = now
    return before[-1]


def planted_texts(target: Target) -> list[Tokens]:
    """The sentences of the canaries that were planted, as training read them."""
    manifest = target.manifest
    if manifest is None:
        return []
    found = []
    for canary in manifest.planted():
        spans = manifest.template.fill(canary.secret).secrets
        record = Record(canary.id, manifest.template.fill(canary.secret).text, secrets=spans)
        found.append(target.encoder.encode(record, target.policy.secrets(record)))
    return found


def unusual_texts(
    model: nn.Module, encoder: Encoder, policy: Policy, records: Sequence[Record], most: int
) -> list[Tokens]:
    """Each author's record of the highest perplexity, the most unusual first; any records where no author is named."""
    if not records or not most:
        return []
    texts = records_of(encoder, policy, records)
    chance = chances(model, texts.encoded)
    means = np.array([chance[item.tokens].mean() for item in texts.items])
    order = np.argsort(means)
    if any(record.author is not None for record in records):
        seen: set[str | None] = set()
        order = np.array([n for n in order if not (records[n].author in seen or seen.add(records[n].author))])  # type: ignore[func-returns-value]
    return [texts.encoded[int(number)] for number in order[:most]]


@ATTACKS.register("tab")
class TabAttack:
    """Whether the model completes planted and unusual texts."""

    needs = ("canaries or corpus",)
    Options = TabOptions

    def run(self, target: Target, options: TabOptions, told: Told) -> Tab:
        texts = {"planted": planted_texts(target)}
        if target.corpus is not None and options.real:
            canaries = target.manifest.record_ids() if target.manifest else frozenset()
            trained_on = (record for record in target.corpus.records("train") if record.id not in canaries)
            records = some_of(trained_on, options.among, target.seed)
            model = target.reference if target.reference is not None else target.model
            texts["real"] = unusual_texts(model, target.encoder, target.policy, records, options.real)
        done = 0

        def heard(some: int) -> None:
            nonlocal done
            done += some
            told("texts completed", done, None)

        times = [canary.repetitions for canary in target.manifest.planted()] if target.manifest else []
        return tab(target.reader, target.encoder, texts, options, heard, repetitions=times)

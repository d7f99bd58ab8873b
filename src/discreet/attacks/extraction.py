"""Extraction: give a model the public words before a secret and count how often the secret comes out.

    found = extract(reader, encoder, policy, records, ExtractionOptions(samples=10))
    found.kinds["PHONE"].regurgitated      # distinct secrets that came out at least once
    found.others["PHONE"].regurgitated     # the same for secrets never trained on: what guessing gives

The attacker knows what stands before the secret (its context in the record) and lets the model write on several
times. A secret counts as regurgitated when its text stands in one of the continuations. Counts are reported, and the
secrets themselves only when asked for (`show`): a file with them would be the leak.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from pydantic import Field

from discreet.attacks.contract import ATTACKS, AttackOptions, Target, Told
from discreet.attacks.decoding import by_length, drawn
from discreet.attacks.reading import AnyReader
from discreet.attacks.texts import Texts, drawn_apart, secrets_of
from discreet.errors import SettingError
from discreet.text.records import Record

AT_ONCE = 256


class Regurgitated(NamedTuple):
    """Of one kind: secrets asked for, those that came out, and how many continuations held theirs."""

    secrets: int
    regurgitated: int
    continuations: int
    with_secret: int


@dataclass(frozen=True)
class Extraction:
    """Secrets that came out, by kind: of the records trained on, and of others for comparison."""

    kinds: dict[str, Regurgitated]
    others: dict[str, Regurgitated]
    shown: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {
            "trained_on": {kind: one._asdict() for kind, one in self.kinds.items()},
            "not_trained_on": {kind: one._asdict() for kind, one in self.others.items()},
        }
        return value | ({"secrets": list(self.shown)} if self.shown is not None else {})

    def lines(self) -> list[str]:
        found = []
        for kind, one in self.kinds.items():
            other = self.others.get(kind)
            beside = f"; of secrets not trained on {other.regurgitated} of {other.secrets}" if other else ""
            found.append(f"{kind}: {one.regurgitated} of {one.secrets} secrets came out{beside}")
        return [*found, *(f"came out: {text}" for text in self.shown or ())] or [
            "the policy finds no secrets to ask for"
        ]


class ExtractionOptions(AttackOptions):
    """How the model is asked."""

    secrets: int = Field(default=200, ge=1)
    samples: int = Field(default=10, ge=1)
    context: int = Field(default=32, ge=1)
    """Tokens before the secret that the attacker knows at most."""
    temperature: float = Field(default=1.0, gt=0)
    show: bool = False
    """Put the secrets that came out into the finding, in clear."""


def extract(
    reader: AnyReader,
    texts: Texts,
    options: ExtractionOptions | None = None,
    *,
    seed: int = 0,
    told: Callable[[int], None] | None = None,
) -> tuple[dict[str, Regurgitated], list[str]]:
    """Asks for every secret of some texts; counts by kind, and those that came out."""
    options = options or ExtractionOptions()
    random = torch.Generator().manual_seed(seed)
    special, items = texts.encoder.special, texts.items
    prompts, lengths = [], []
    for item in items:
        begin = int(texts.encoded.starts[item.record])
        known = texts.encoded.ids[max(begin + 1, item.tokens.start - options.context) : item.tokens.start]
        prompts.append([special.begin, *known.tolist()])
        lengths.append(item.tokens.stop - item.tokens.start)
    hits = [0] * len(items)
    longest = max(lengths, default=0) + 2  # a secret may come out in a token or two more than it went in
    for numbers, ids in by_length(prompts, max(1, AT_ONCE // options.samples)):
        tokens = longest if reader.context is None else min(longest, reader.context - ids.shape[1])
        if tokens < 1:
            raise SettingError(
                f"The context of {options.context} tokens leaves the model no room to write; shorten it."
            )
        written = drawn(
            reader, ids, tokens, special, number=options.samples, random=random, temperature=options.temperature
        )
        for number, continuations in zip(numbers, written, strict=True):
            whole = _whole(items[number].text)
            hits[number] = sum(bool(whole.search(texts.encoder.decode(one))) for one in continuations)
        if told:
            told(len(numbers))
    kinds: dict[str, Regurgitated] = {}
    for kind in sorted({item.kind for item in items}):
        own = [hit for hit, item in zip(hits, items, strict=True) if item.kind == kind]
        kinds[kind] = Regurgitated(len(own), sum(map(bool, own)), len(own) * options.samples, sum(own))
    return kinds, [item.text for hit, item in zip(hits, items, strict=True) if hit]


def _whole(secret: str) -> re.Pattern[str]:
    """The secret as words of its own: "Ann" is not in "Annex"."""
    return re.compile(rf"(?<!\w){re.escape(secret.strip())}(?!\w)")


@ATTACKS.register("extraction")
class ExtractionAttack:
    """Whether secrets come out when the model is given their context."""

    needs = ("corpus",)
    Options = ExtractionOptions

    def run(self, target: Target, options: ExtractionOptions, told: Told) -> Extraction:
        assert target.corpus is not None
        canaries = target.manifest.record_ids() if target.manifest else frozenset()
        apart = drawn_apart(target.corpus, target.policy, 4 * options.secrets, seed=target.seed, without=canaries)
        done = 0

        def heard(some: int) -> None:
            nonlocal done
            done += some
            told("secrets asked for", done, None)

        def asked(records: Sequence[Record]) -> tuple[dict[str, Regurgitated], list[str]]:
            texts = secrets_of(target.encoder, target.policy, records, only=apart.rare_secrets, most=options.secrets)
            return extract(target.reader, texts, options, seed=target.seed, told=heard)

        (kinds, shown), (others, _) = asked(apart.members), asked(apart.others)
        return Extraction(kinds, others, tuple(shown) if options.show else None)

r"""How good a policy is: what it finds, set against the secrets that a labelled file marks (gold).

    result = measure(discreet.read("labelled.jsonl").all(), discreet.policy("digits"))
    print(result.recall, result.recall_interval)

- A marked secret is **found** when the policy covers *every* character of it: the rest of a name half covered still
  leaks. `recall` is the share found; kinds need not agree.
- A secret the policy names is **right** when at least half of its characters are marked. `precision` is the share
  right; `f1` is the harmonic mean of both.
- `characters` holds precision, recall and F1 of single characters, with intervals that draw whole records; so do the
  measures of kinds.
- `recall_interval` and `precision_interval` are 95 % Clopper-Pearson intervals, which take secrets for independent.
  Secrets of one record rarely are; `recall_interval_by_record` is a 95 % percentile bootstrap that draws whole records
  (1,000 times, seeded), and is the one to quote for long records.
- `by_kind` is by the kinds of the marks; `by_named_kind` says for each kind that the policy gives how much of it is
  right.
- `token_share` is the share of tokens (`\w+` or a run of other visible characters) with a character the policy calls
  secret; `token_share_gold` that of the marks.

A ratio with nothing below the line is None. The pair text of a record counts where the file marks its secrets. Records
stream by: what is kept is counts, plus the bootstrap's count of each distinct (found, marked) pair and the totals of
its replicates for characters (see `discreet.policy.intervals`).
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from discreet.errors import InputError
from discreet.policy.algebra import Run, runs
from discreet.policy.contract import Policy
from discreet.policy.gold import marked
from discreet.policy.intervals import Interval, Replicates, bootstrap, clopper_pearson, f1, ratio
from discreet.policy.miss_rate import MissRate
from discreet.text.records import Record, Secret

TOKEN = re.compile(r"\w+|[^\w\s]+")
MOST_MISSES = 100_000
"""Distinct missed texts remembered when asked for; more of them are only counted."""
EVERY = None
"""In the place of a kind: all of them together."""
Counted = tuple[str, str | None]
"""What is counted in characters (`marked`, `found` of those; `named`, `right` of those), and of which kind."""


@dataclass(frozen=True)
class Miss:
    """A marked secret that the policy left uncovered, how often, and where first."""

    kind: str
    text: str
    times: int
    place: str


@dataclass(frozen=True)
class KindMeasure:
    """How the secrets of one marked kind fared."""

    recall: float
    recall_interval: Interval
    support: int
    characters: float
    """The share of their characters that is covered."""
    characters_interval: Interval | None
    """95 %, drawing whole records; None where only one record has this kind."""


@dataclass(frozen=True)
class NamedKindMeasure:
    """How right the secrets are that the policy gives one kind."""

    precision: float
    precision_interval: Interval
    named: int
    characters: float
    """The share of their characters that is marked."""
    characters_interval: Interval | None


@dataclass(frozen=True)
class Measure:
    """A policy's score against marked secrets; the module says what each number means."""

    records: int
    precision: float | None
    recall: float | None
    f1: float | None
    precision_interval: Interval | None
    recall_interval: Interval | None
    recall_interval_by_record: Interval | None
    secrets_marked: int
    secrets_found: int
    secrets_named: int
    secrets_right: int
    token_share: float | None
    token_share_gold: float | None
    characters: dict[str, float | None]
    character_intervals: dict[str, Interval | None]
    by_kind: dict[str, KindMeasure]
    by_named_kind: dict[str, NamedKindMeasure]
    misses: tuple[Miss, ...] = ()

    def miss_rate(self, policy: Policy) -> MissRate:
        """How many of the marked secrets the policy missed, in whole or in part."""
        if not self.secrets_marked:
            raise InputError("The file marks no secrets, so there is no miss rate; measure on a file that marks some.")
        kinds = {kind: (round(one.support * (1 - one.recall)), one.support) for kind, one in self.by_kind.items()}
        missed = self.secrets_marked - self.secrets_found
        return MissRate(missed, self.secrets_marked, policy.fingerprint(), records=self.records, by_kind=kinds)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; misses, which are secrets in clear, only where they were asked for."""
        plain = asdict(self)
        if not self.misses:
            del plain["misses"]
        return plain


def measure(records: Iterable[Record], policy: Policy, *, misses: int = 0, seed: int = 0) -> Measure:
    """Scores a policy against the secrets the records mark, keeping the `misses` most frequent missed ones if asked."""
    return measure_answers(policy.secrets_of_all(records), policy, misses=misses, seed=seed)


def only_kinds(records: Iterable[Record], kinds: Collection[str]) -> Iterator[Record]:
    """The records with only the marks of these kinds left."""
    for record in records:
        pair = record.pair_secrets
        yield replace(
            record,
            secrets=tuple(secret for secret in marked(record) if secret.kind in kinds),
            pair_secrets=None if pair is None else tuple(secret for secret in pair if secret.kind in kinds),
        )


def measure_answers(
    answers: Iterable[tuple[Record, tuple[Secret, ...]]], policy: Policy, *, misses: int = 0, seed: int = 0
) -> Measure:
    """As `measure`, of answers that the policy has given already; it is asked about pair texts only."""
    tally = _Tally(keep_misses=misses > 0, replicates=Replicates(seed))
    for record, secrets in answers:
        found, total = tally.add(record, marked(record), secrets)
        if record.pair is not None and record.pair_secrets is not None:
            pair = record.of_pair()
            more = tally.add(pair, record.pair_secrets, policy.secrets(pair))
            found, total = found + more[0], total + more[1]
        tally.per_record[found, total] += 1
        tally.draw()
    return tally.measure(misses, seed)


@dataclass
class _Tally:
    """Counts that grow record by record."""

    keep_misses: bool
    replicates: Replicates
    found: int = 0
    named: int = 0
    right: int = 0
    tokens: int = 0
    marked_tokens: int = 0
    named_tokens: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    kinds_found: Counter[str] = field(default_factory=Counter)
    characters: Counter[Counted] = field(default_factory=Counter)
    characters_of_record: Counter[Counted] = field(default_factory=Counter)
    named_kinds: Counter[str] = field(default_factory=Counter)
    right_kinds: Counter[str] = field(default_factory=Counter)
    per_record: Counter[tuple[int, int]] = field(default_factory=Counter)
    missed: Counter[tuple[str, str]] = field(default_factory=Counter)
    places: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, record: Record, gold: Sequence[Secret], secrets: Sequence[Secret]) -> tuple[int, int]:
        """Counts one text; says how many of its marked secrets were found, and how many there are."""
        gold_runs, runs_named = runs(gold), runs(secrets)
        found, counts = 0, self.characters_of_record
        for secret, inside in zip(gold, covered(gold, runs_named), strict=True):
            length = secret.end - secret.start
            self.kinds[secret.kind] += 1
            for kind in (EVERY, secret.kind):
                counts["marked", kind] += length
                counts["found", kind] += inside
            if inside == length:
                found += 1
                self.kinds_found[secret.kind] += 1
            elif self.keep_misses:
                self._remember(record, secret)
        for secret, inside in zip(secrets, covered(secrets, gold_runs), strict=True):
            length = secret.end - secret.start
            self.named_kinds[secret.kind] += 1
            for kind in (EVERY, secret.kind):
                counts["named", kind] += length
                counts["right", kind] += inside
            if 2 * inside >= length:
                self.right += 1
                self.right_kinds[secret.kind] += 1
        self.found += found
        self.named += len(secrets)
        edges = [match.span() for match in TOKEN.finditer(record.text)]
        self.tokens += len(edges)
        self.marked_tokens += tokens_touched(edges, gold_runs)
        self.named_tokens += tokens_touched(edges, runs_named)
        return found, len(gold)

    def draw(self) -> None:
        """Ends a record: its characters go into the totals and the replicates."""
        self.characters.update(self.characters_of_record)
        self.replicates.add(self.characters_of_record)
        self.characters_of_record = Counter()

    def _remember(self, record: Record, secret: Secret) -> None:
        key = (secret.kind, record.text[secret.start : secret.end])
        if key in self.missed or len(self.missed) < MOST_MISSES:
            self.missed[key] += 1
            self.places.setdefault(key, record.place or record.id)

    def measure(self, misses: int, seed: int) -> Measure:
        marks = sum(self.kinds.values())
        precision, recall = ratio(self.right, self.named), ratio(self.found, marks)
        character_precision, precision_range = self._of_characters("right", "named", EVERY)
        character_recall, recall_range = self._of_characters("found", "marked", EVERY)
        return Measure(
            records=self.per_record.total(),
            precision=precision,
            recall=recall,
            f1=f1(precision, recall),
            precision_interval=clopper_pearson(self.right, self.named),
            recall_interval=clopper_pearson(self.found, marks),
            recall_interval_by_record=bootstrap(self.per_record, seed),
            secrets_marked=marks,
            secrets_found=self.found,
            secrets_named=self.named,
            secrets_right=self.right,
            token_share=ratio(self.named_tokens, self.tokens),
            token_share_gold=ratio(self.marked_tokens, self.tokens),
            characters={
                "precision": character_precision,
                "recall": character_recall,
                "f1": f1(character_precision, character_recall),
            },
            character_intervals={"precision": precision_range, "recall": recall_range},
            by_named_kind={kind: self._of_named_kind(kind) for kind in sorted(self.named_kinds)},
            by_kind={kind: self._of_kind(kind) for kind in sorted(self.kinds)},
            misses=tuple(
                Miss(kind, text, times, self.places[kind, text])
                for (kind, text), times in self.missed.most_common(misses)
            ),
        )

    def _of_characters(self, part: str, whole: str, kind: str | None) -> tuple[float | None, Interval | None]:
        share = ratio(self.characters[part, kind], self.characters[whole, kind])
        return share, self.replicates.interval((part, kind), (whole, kind))

    def _of_kind(self, kind: str) -> KindMeasure:
        found, support = self.kinds_found[kind], self.kinds[kind]
        interval = clopper_pearson(found, support)
        share, drawn = self._of_characters("found", "marked", kind)
        assert interval is not None  # a kind is only known from a secret of it
        assert share is not None
        return KindMeasure(found / support, interval, support, share, drawn)

    def _of_named_kind(self, kind: str) -> NamedKindMeasure:
        right, named = self.right_kinds[kind], self.named_kinds[kind]
        interval = clopper_pearson(right, named)
        share, drawn = self._of_characters("right", "named", kind)
        assert interval is not None
        assert share is not None
        return NamedKindMeasure(right / named, interval, named, share, drawn)


def covered(secrets: Sequence[Secret], others: Sequence[Run]) -> Iterator[int]:
    """For each secret, how many of its characters are in the runs."""
    first = 0
    for start, end, _, _ in secrets:
        while first < len(others) and others[first][1] <= start:
            first += 1
        inside, at = 0, first
        while at < len(others) and others[at][0] < end:
            inside += min(end, others[at][1]) - max(start, others[at][0])
            at += 1
        yield inside


def tokens_touched(edges: Sequence[Run], others: Sequence[Run]) -> int:
    """How many tokens have a character in the runs."""
    starts, ends = [start for start, _ in edges], [end for _, end in edges]
    touched = counted = 0
    for start, end in others:
        first, last = max(bisect_right(ends, start), counted), bisect_left(starts, end)
        if last > first:
            touched += last - first
            counted = last
    return touched

"""What a screening found: how much the policy missed, with intervals, and the two files that `jft` takes.

A secret that the person marked is **missed** unless the policy covers every character of it: the rest of a name half
covered still leaks. The miss rate is the share of secrets that are missed, recall is the rest. Each has two 95 %
intervals: Clopper-Pearson, which is exact but takes secrets for independent, and a bootstrap that draws whole records,
which does not. Where nothing was missed the bootstrap has nothing to draw from and says 0; Clopper-Pearson then says
what so few secrets can show.

`tokens` is the share of all tokens that belong to a missed secret, as JFT counts it (Shi et al. 2022; ACCOUNTING.md,
section 3). It is shown for comparison; the guarantee is computed from the secrets.
"""

from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from discreet.accounting.intervals import clopper_pearson
from discreet.errors import InputError, SettingError
from discreet.policy.algebra import outside, runs
from discreet.policy.intervals import bootstrap
from discreet.policy.measure import TOKEN, covered, tokens_touched
from discreet.policy.miss_rate import MissRate, write_miss_rate
from discreet.screen.marking import secrets_of, texts_of
from discreet.screen.screening import Screening, beside
from discreet.text.formats.contract import FORMATS, format_of
from discreet.text.records import Record, Secret
from discreet.text.writing import write

Interval = tuple[float, float]
Text = tuple[str, tuple[Secret, ...], tuple[Secret, ...]]
"""A text, what the person marked in it, and what the policy found."""


@dataclass(frozen=True)
class Share:
    """So many of so many, with 95 % intervals; all None where there is nothing to count."""

    count: int
    total: int
    share: float | None
    interval: Interval | None
    """Clopper-Pearson."""
    interval_by_record: Interval | None
    """Percentiles of a bootstrap that draws whole records."""

    def rest(self) -> "Share":
        """The share of what is not counted."""
        return Share(
            self.total - self.count,
            self.total,
            None if self.share is None else 1 - self.share,
            _mirrored(self.interval),
            _mirrored(self.interval_by_record),
        )


@dataclass(frozen=True)
class Result:
    """The figures of a screening; the module says what each means."""

    screened: int
    """Records that a person has screened."""
    sample: int
    """Records that were drawn."""
    population: int
    seed: int
    split: str
    miss_rate: Share
    recall: Share
    precision: Share
    """Of the secrets that the policy names, those that the person agrees with (by at least half of the characters)."""
    tokens: Share
    by_kind: dict[str, tuple[int, int]]
    """Kind -> (missed, secrets), as the person named them."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; counts, and no text."""
        return asdict(self)


def result_of(screening: Screening) -> Result:
    """The figures of what has been screened so far."""
    seed = screening.sample.seed
    screened = [_texts(*one) for one in _screened(screening)]
    if not screened:
        raise InputError(
            f"{screening.store.path}: no record has been screened yet; screen some with discreet screen, "
            "without --finish."
        )
    missed: Counter[tuple[int, int]] = Counter()
    right: Counter[tuple[int, int]] = Counter()
    tokens: Counter[tuple[int, int]] = Counter()
    kinds: Counter[str] = Counter()
    kinds_missed: Counter[str] = Counter()
    for texts in screened:
        lost = [secret for _, marked, named in texts for secret in _uncovered(marked, named)]
        missed[len(lost), sum(len(marked) for _, marked, _ in texts)] += 1
        wrong = sum(_is_wrong(secret, marked) for _, marked, named in texts for secret in named)
        all_named = sum(len(named) for _, _, named in texts)
        right[all_named - wrong, all_named] += 1
        counts = [_missed_tokens(*text) for text in texts]
        tokens[sum(count for count, _ in counts), sum(total for _, total in counts)] += 1
        kinds.update(secret.kind for _, marked, _ in texts for secret in marked)
        kinds_missed.update(secret.kind for secret in lost)
    rate = _share(missed, seed)
    return Result(
        screened=len(screened),
        sample=len(screening.sample.records),
        population=screening.sample.population,
        seed=seed,
        split=screening.sample.split,
        miss_rate=rate,
        recall=rate.rest(),
        precision=_share(right, seed),
        tokens=_share(tokens, seed),
        by_kind={kind: (kinds_missed[kind], kinds[kind]) for kind in sorted(kinds)},
    )


def write_results(
    screening: Screening, screened: str | Path | None = None, miss_rate: str | Path | None = None
) -> tuple[Result, Path, Path | None]:
    """Writes the screened subset and the miss rate; says what they hold and where they are.

    There is no miss rate, and no file of it, where the sample holds no secret at all.
    """
    records_path, rate_path = result_paths(screening, screened, miss_rate)
    result = result_of(screening)
    write(records_path, [plain(record) for record, _ in _screened(screening)])
    if not result.miss_rate.total:
        return result, records_path, None
    rate = MissRate(
        result.miss_rate.count,
        result.miss_rate.total,
        screening.policy.fingerprint(),
        how="screened",
        records=result.screened,
        by_kind=result.by_kind,
        screening={
            "sample": result.sample,
            "population": result.population,
            "seed": result.seed,
            "split": result.split,
            "interval": result.miss_rate.interval,
            "interval_by_record": result.miss_rate.interval_by_record,
        },
    )
    write_miss_rate(rate_path, rate)
    return result, records_path, rate_path


def result_paths(
    screening: Screening, screened: str | Path | None = None, miss_rate: str | Path | None = None
) -> tuple[Path, Path]:
    """Where the results go, checked before anybody has worked for them."""
    records_path = Path(screened) if screened is not None else beside(screening.path, ".screened.jsonl")
    rate_path = Path(miss_rate) if miss_rate is not None else beside(screening.path, ".miss-rate.json")
    name = format_of(records_path)
    if name is None or FORMATS[name].text_only:
        raise SettingError(f"{records_path}: this kind of file cannot hold marks; name a .jsonl file.")
    places = [records_path.resolve(), rate_path.resolve(), screening.path.resolve(), screening.store.path.resolve()]
    if len(set(places)) < len(places):
        raise SettingError("The input, the work file and the two results are four files; give each its own name.")
    return records_path, rate_path


def plain(record: Record) -> Record:
    """The record under the usual field names, with nothing but what training reads: so `jft` takes it as it is."""
    return replace(record, fields={}, place="")


def _screened(screening: Screening) -> list[tuple[Record, tuple[tuple[Secret, ...], ...]]]:
    """Each screened record with the person's secrets, and the policy's answers for its texts."""
    policy = screening.store.policy_marks()
    found = []
    for number, marks in screening.store.done().items():
        record = screening.record(number)
        pair = None if record.pair is None else secrets_of(marks, part=1)
        marked = replace(record, secrets=secrets_of(marks), pair_secrets=pair)
        found.append((marked, tuple(secrets_of(policy[number], part) for part in range(len(texts_of(record))))))
    return found


def _texts(record: Record, answers: tuple[tuple[Secret, ...], ...]) -> list[Text]:
    """The texts of a record, each with the person's secrets and the policy's."""
    marks = (record.secrets or (), record.pair_secrets or ())
    return list(zip(texts_of(record), marks, answers, strict=False))  # a record without a pair text has one


def _uncovered(marked: tuple[Secret, ...], named: tuple[Secret, ...]) -> list[Secret]:
    """The secrets of which the policy leaves a character or more."""
    inside = covered(marked, runs(named))
    return [secret for secret, count in zip(marked, inside, strict=True) if count < secret.end - secret.start]


def _is_wrong(secret: Secret, marked: tuple[Secret, ...]) -> bool:
    """Whether the person agrees with less than half of what the policy names."""
    (inside,) = covered([secret], runs(marked))
    return 2 * inside < secret.end - secret.start


def _missed_tokens(text: str, marked: tuple[Secret, ...], named: tuple[Secret, ...]) -> tuple[int, int]:
    """How many tokens of a text hold a part of a secret that the policy does not cover, and how many there are."""
    edges = [match.span() for match in TOKEN.finditer(text)]
    return tokens_touched(edges, runs(outside(marked, runs(named)))), len(edges)


def _share(per_record: Counter[tuple[int, int]], seed: int) -> Share:
    count = sum(part * times for (part, _), times in per_record.items())
    total = sum(whole * times for (_, whole), times in per_record.items())
    if not total:
        return Share(0, 0, None, None, None)
    return Share(count, total, count / total, clopper_pearson(count, total), bootstrap(per_record, seed))


def _mirrored(interval: Interval | None) -> Interval | None:
    return None if interval is None else (1 - interval[1], 1 - interval[0])

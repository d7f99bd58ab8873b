"""Detecting, redacting and perturbing on a cluster: what the local engine does to each record, shard by shard.

with connect() as cluster:
    tally, skipped = redact_file(cluster, open_records("mail.jsonl"), "clean.jsonl", policy, Redaction())
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from discreet.errors import InputError
from discreet.files import canonical_json
from discreet.policy.contract import Policy
from discreet.policy.specs import policy as make_policy
from discreet.sanitize import redact as local
from discreet.sanitize.cluster.engine import Cluster
from discreet.sanitize.cluster.shards import Shard, Walk, cut_for
from discreet.sanitize.perturb.noise import Draws
from discreet.sanitize.perturb.run import Perturbation, Perturber, perturb_all
from discreet.sanitize.perturb.run import Tally as PerturbTally
from discreet.sanitize.redact import Redaction, redact_all
from discreet.text.formats.contract import Fields, Row
from discreet.text.identity import SeenIds
from discreet.text.reading import RecordFile
from discreet.text.records import Record, Secret
from discreet.text.writing import row_of, write_rows

T = TypeVar("T")
Found = tuple[Record, tuple[Secret, ...], tuple[Secret, ...] | None]


class Done(NamedTuple):
    """What became of a shard."""

    rows: list[Row]
    ids: list[str]
    """The ids of all its records, also of those that are gone."""
    tally: Any
    skipped: int


def rows_of(
    shard: Shard, on_bad: str, fields: Fields, change: Callable[[Iterable[Record]], Iterable[Record]], tally: Any
) -> Done:
    """A shard with its records changed."""
    walk = Walk(shard, on_bad)
    rows = [row_of(record, fields) for record in change(walk)]
    return Done(rows, walk.ids, tally, sum(walk.skipped.values()))


@dataclass
class Joined:
    """Puts shards together in order, and counts."""

    where: Path
    merge: Callable[[Any], None]
    skipped: int = 0
    seen: SeenIds = field(default_factory=SeenIds)

    def rows(self, results: Iterable[Done]) -> Iterator[Row]:
        """The rows of all shards; ids are looked at here, since no shard knows those of the others."""
        empty = True
        for done in results:
            for identity in done.ids:
                if not self.seen.first_time(identity):
                    raise InputError(
                        f"{self.where}: two records have the same id; make them unique, or read the file with "
                        "--engine local, which says which they are."
                    )
            self.merge(done.tally)
            self.skipped += done.skipped
            empty = empty and not done.tally.records
            yield from done.rows
        if empty:
            raise InputError(f"{self.where}: there are no records in it that could be read.")


@lru_cache(maxsize=4)
def policy_of(spec: str) -> Policy:
    """The policy of a spec, made once in every worker."""
    import json

    return make_policy(json.loads(spec))


def detect_file(cluster: Cluster, records: RecordFile, policy: Policy, skipped: list[int]) -> Iterator[Found]:
    """Every record with its secrets, in order; what was left out is added to `skipped`."""
    spec, on_bad = canonical_json(policy.spec()), records.on_bad

    def work(shard: Shard) -> tuple[list[Found], int]:
        walk = Walk(shard, on_bad)
        chosen = policy_of(spec)
        found = [
            (record, secrets, None if record.pair is None else chosen.secrets(record.of_pair()))
            for record, secrets in chosen.secrets_of_all(walk)
        ]
        return found, sum(walk.skipped.values())

    for found, left_out in cluster.map(cut_for(records, cluster.cores), work):
        skipped.append(left_out)
        yield from found


def redact_file(
    cluster: Cluster, records: RecordFile, output: str | Path, policy: Policy, redaction: Redaction
) -> tuple[local.Tally, int]:
    """Writes a redacted copy; returns what was done, and how many bad rows were skipped."""
    spec, on_bad, fields = canonical_json(policy.spec()), records.on_bad, records.fields

    def work(shard: Shard) -> Done:
        tally = local.Tally()
        return rows_of(shard, on_bad, fields, lambda r: redact_all(r, policy_of(spec), redaction, tally), tally)

    total = local.Tally()
    joined = Joined(records.path, total.merge)
    write_rows(output, joined.rows(cluster.map(cut_for(records, cluster.cores), work)), records)
    return total, joined.skipped


@lru_cache(maxsize=1)
def perturber_of(embedding: str, settings: Perturbation, draws: Draws) -> Perturber:
    """The index of an embedding, made once in every worker."""
    from discreet.sanitize.perturb.embedding import load_embedding

    return Perturber(load_embedding(embedding), settings, draws)


def perturb_file(
    cluster: Cluster,
    records: RecordFile,
    output: str | Path,
    settings: Perturbation,
    embedding: str,
    policy: Policy | None,
) -> tuple[PerturbTally, int]:
    """Writes a perturbed copy; the workers share one key, so a secret becomes the same word in every shard."""
    spec = canonical_json(policy.spec()) if policy is not None else None
    on_bad, fields, draws = records.on_bad, records.fields, Draws.of_seed(settings.seed)
    chosen = replace(settings)

    def work(shard: Shard) -> Done:
        tally = PerturbTally()
        perturber = perturber_of(embedding, chosen, draws)
        policy = policy_of(spec) if spec is not None else None
        return rows_of(shard, on_bad, fields, lambda r: perturb_all(r, policy, perturber, tally), tally)

    total = PerturbTally()
    joined = Joined(records.path, total.merge)
    write_rows(output, joined.rows(cluster.map(cut_for(records, cluster.cores), work)), records)
    return total, joined.skipped

"""`discreet measure`: how much of what a file marks as secret a policy finds."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from discreet.cli import app, console
from discreet.cli.options import (
    DataFile,
    Encoding,
    FileFormat,
    IdField,
    Json,
    OnBad,
    PolicyName,
    RecordsAre,
    TextField,
    TurnsField,
)

if TYPE_CHECKING:
    from discreet.policy.intervals import Interval
    from discreet.policy.measure import Measure
    from discreet.text.records import Record

WORST = 20
"""So many of the most frequent misses are listed."""


@app.command()
def measure(
    file: DataFile,
    policy: PolicyName,
    corpus: Annotated[
        str | None, typer.Option(help="FILE is the folder of this public corpus (discreet corpora).")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Only this split: train, valid or test.")] = None,
    kinds: Annotated[
        str | None,
        typer.Option(help="Only marks of these kinds count, as in NAME,PHONE; what is found elsewhere is wrong."),
    ] = None,
    miss_rate: Annotated[
        Path | None, typer.Option(help="Write the miss rate here, for JFT's guarantee to read.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 is one for each core.")] = 1,
    show_secrets: Annotated[
        bool, typer.Option("--show-secrets", help="List the most frequent misses, in clear.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the bootstrap by record.")] = 0,
    json_output: Json = False,
    on_bad: OnBad = "stop",
    text_field: TextField = "text",
    id_field: IdField = "id",
    turns_field: TurnsField = "turns",
    records_are: RecordsAre = "line",
    encoding: Encoding = "utf-8",
    file_format: FileFormat = None,
) -> None:
    """Score a policy against the secrets that a file marks: precision, recall and F1 with 95 % intervals."""
    from discreet.policy.many import secrets_on_all_cores
    from discreet.policy.measure import measure_answers, only_kinds
    from discreet.policy.miss_rate import write_miss_rate
    from discreet.policy.specs import policy as make_policy
    from discreet.text.formats.contract import Fields
    from discreet.text.reading import open_records

    chosen = make_policy(policy)
    fields = Fields(text=text_field, id=id_field, turns=turns_field)
    if corpus is not None:
        records: Any = _of_corpus(corpus, file, split)
    else:
        records = open_records(
            file, fields=fields, records=records_are, encoding=encoding, on_bad=on_bad, format=file_format
        )
    walk = console.track_file(_of_split(records, split if corpus is None else None), file, "measuring")
    if kinds is not None:
        walk = only_kinds(walk, [kind.strip() for kind in kinds.split(",")])
    answers = secrets_on_all_cores(chosen, walk, workers or None)
    result = measure_answers(answers, chosen, misses=WORST if show_secrets else 0, seed=seed)
    skipped = sum(getattr(records, "skipped", {}).values())
    if miss_rate is not None:
        write_miss_rate(miss_rate, result.miss_rate(chosen))
    if json_output:
        console.emit(result.as_dict() | {"skipped": skipped})
        return
    console.out.print(_table(result))
    _print_shares(result)
    for miss in result.misses:
        typer.echo(f"missed {miss.times} times, first in {miss.place}: {miss.kind} {miss.text!r}")
    if skipped:
        console.say(f"Bad rows skipped: {skipped:,}.")


def _of_corpus(name: str, folder: Path, split: str | None) -> Iterable["Record"]:
    from discreet.text.corpora import named

    opened = named(name, folder)
    return opened.all() if split is None else opened.records(split)


def _of_split(records: Iterable["Record"], split: str | None) -> Iterable["Record"]:
    from discreet.text.corpus import split_of

    return records if split is None else (record for record in records if split_of(record) == split)


def _table(result: "Measure") -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for heading in ("share", "95 % interval", "secrets"):
        table.add_column(heading, justify="right")
    precision, recall = result.precision_interval, result.recall_interval
    table.add_row("precision", _percent(result.precision), _interval(precision), f"{result.secrets_named:,}")
    table.add_row("recall", _percent(result.recall), _interval(recall), f"{result.secrets_marked:,}")
    table.add_row("  drawn by record", "", _interval(result.recall_interval_by_record), "")
    table.add_row("F1", _percent(result.f1), "", "")
    for name in ("precision", "recall"):
        shown = _interval(result.character_intervals[name])
        table.add_row(f"{name} of characters", _percent(result.characters[name]), shown, "")
    for kind, of_kind in result.by_kind.items():
        interval = _interval(of_kind.recall_interval)
        table.add_row(f"recall {kind}", _percent(of_kind.recall), interval, f"{of_kind.support:,}")
        table.add_row("  of characters", _percent(of_kind.characters), _interval(of_kind.characters_interval), "")
    for kind, named in result.by_named_kind.items():
        interval = _interval(named.precision_interval)
        table.add_row(f"precision {kind}", _percent(named.precision), interval, f"{named.named:,}")
        table.add_row("  of characters", _percent(named.characters), _interval(named.characters_interval), "")
    return table


def _print_shares(result: "Measure") -> None:
    share, gold = _percent(result.token_share), _percent(result.token_share_gold)
    typer.echo(f"{result.records:,} records; {share} of tokens secret under the policy, {gold} as the file marks them.")


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{share:.2%}"


def _interval(interval: "Interval | None") -> str:
    return "" if interval is None else f"{interval[0]:.2%} to {interval[1]:.2%}"

"""`discreet measure`: how much of what a file marks as secret a policy finds."""

from typing import TYPE_CHECKING, Annotated

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
    from discreet.policy.measure import Interval, Measure

WORST = 20
"""So many of the most frequent misses are listed."""


@app.command()
def measure(
    file: DataFile,
    policy: PolicyName,
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
    from discreet.policy.measure import measure as measure_policy
    from discreet.policy.specs import policy as make_policy
    from discreet.text.formats.contract import Fields
    from discreet.text.reading import open_records

    chosen = make_policy(policy)
    fields = Fields(text=text_field, id=id_field, turns=turns_field)
    records = open_records(
        file, fields=fields, records=records_are, encoding=encoding, on_bad=on_bad, format=file_format
    )
    walk = console.track_file(records, file, "measuring")
    result = measure_policy(walk, chosen, misses=WORST if show_secrets else 0, seed=seed)
    skipped = sum(records.skipped.values())
    if json_output:
        console.emit(result.as_dict() | {"skipped": skipped})
        return
    console.out.print(_table(result))
    _print_shares(result)
    for miss in result.misses:
        typer.echo(f"missed {miss.times} times, first in {miss.place}: {miss.kind} {miss.text!r}")
    if skipped:
        console.say(f"Bad rows skipped: {skipped:,}.")


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
    for kind, of_kind in result.by_kind.items():
        interval = _interval(of_kind.recall_interval)
        table.add_row(f"recall {kind}", _percent(of_kind.recall), interval, f"{of_kind.support:,}")
    return table


def _print_shares(result: "Measure") -> None:
    share, gold = _percent(result.token_share), _percent(result.token_share_gold)
    typer.echo(f"{result.records:,} records; {share} of tokens secret under the policy, {gold} as the file marks them.")


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{share:.2%}"


def _interval(interval: "Interval | None") -> str:
    return "" if interval is None else f"{interval[0]:.2%} to {interval[1]:.2%}"

"""`discreet screen`: a page in the browser where a person checks what a policy missed."""

import contextlib
import os
import sys
from pathlib import Path
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
from discreet.errors import InputError

if TYPE_CHECKING:
    from discreet.screen.result import Interval, Result, Share
    from discreet.screen.screening import Screening


@app.command()
def screen(
    file: DataFile,
    policy: PolicyName,
    sample: Annotated[int | None, typer.Option(min=1, help="Records to draw at random; 200 unless said.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the draw; 0 unless said.")] = None,
    split: Annotated[str | None, typer.Option(help="Draw from train, valid, test or all; train unless said.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The screened records; FILE.screened.jsonl unless said.")
    ] = None,
    miss_rate: Annotated[
        Path | None, typer.Option(help="The miss rate for JFT; FILE.miss-rate.json unless said.")
    ] = None,
    work: Annotated[
        Path | None, typer.Option("--work", "--db", help="Where the work is kept; FILE.screen.sqlite unless said.")
    ] = None,
    kinds: Annotated[str | None, typer.Option(help="More kinds to choose from, as in NAME,PHONE.")] = None,
    finish: Annotated[
        bool, typer.Option("--finish", help="Write the results of what is screened already; serve nothing.")
    ] = False,
    host: Annotated[str, typer.Option(help="The address to serve on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 is any free one.")] = 0,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines in, unencrypted; the token is all that guards.")
    ] = False,
    open_browser: Annotated[
        bool | None, typer.Option("--open/--no-browser", help="Open the page; by default where there is a screen.")
    ] = None,
    json_output: Json = False,
    on_bad: OnBad = "stop",
    text_field: TextField = "text",
    id_field: IdField = "id",
    turns_field: TurnsField = "turns",
    records_are: RecordsAre = "line",
    encoding: Encoding = "utf-8",
    file_format: FileFormat = None,
) -> None:
    """Check by hand what a policy missed in a random sample: miss rate with intervals, and both files JFT takes."""
    from discreet.screen import open_screening, serve
    from discreet.screen.screening import work_file
    from discreet.screen.serving import browser_opened
    from discreet.text.formats.contract import Fields
    from discreet.text.reading import open_records

    fields = Fields(text=text_field, id=id_field, turns=turns_field)
    records = open_records(
        file, fields=fields, records=records_are, encoding=encoding, on_bad=on_bad, format=file_format
    )
    if finish and not (work or work_file(file)).exists():
        raise InputError(f"{work or work_file(file)}: no record has been screened yet; leave --finish out to begin.")
    more = [kind.strip() for kind in kinds.split(",") if kind.strip()] if kinds else []
    walk = console.track_file(records, file, "drawing")
    with contextlib.ExitStack() as stack:
        screening = open_screening(
            records, policy, sample=sample, seed=seed, split=split, work=work, kinds=more, walk=walk
        )
        stack.callback(screening.close)
        if not finish:

            def ready(url: str) -> None:
                _greet(screening, url)
                if _should_open(open_browser):
                    stack.enter_context(browser_opened(url))

            options = {"host": host, "port": port, "allow_remote": allow_remote}
            all_done = serve(screening, **options, screened=output, miss_rate=miss_rate, on_ready=ready)  # type: ignore[arg-type]
            if not all_done:
                progress = screening.store.progress()
                console.say(
                    f"Stopped with {progress.done:,} of {progress.total:,} records screened. The same command goes on; "
                    "with --finish it writes the results of these."
                )
                return
        _write(screening, output, miss_rate, json_output)


def _greet(screening: "Screening", url: str) -> None:
    drawn, progress = screening.sample, screening.store.progress()
    begun = f"; {progress.done:,} are screened already" if screening.resumed else ""
    console.say(
        f"{progress.total:,} records drawn from {drawn.population:,} with seed {drawn.seed}{begun}. "
        f"Every click is kept in {screening.store.path}."
    )
    console.say(f"Open this address, and in as many windows as there are people (Ctrl-C stops):\n\n    {url}\n")


def _should_open(asked: bool | None) -> bool:
    if asked is not None:
        return asked
    screen = sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return screen and console.err.is_terminal


def _write(screening: "Screening", output: Path | None, miss_rate: Path | None, as_json: bool) -> None:
    from discreet.screen import write_results

    result, records_path, rate_path = write_results(screening, output, miss_rate)
    if as_json:
        paths = {"screened": str(records_path), "miss_rate": None if rate_path is None else str(rate_path)}
        console.emit(result.as_dict() | {"paths": paths})
        return
    console.out.print(_table(result))
    part = "" if result.screened == result.sample else f" of the {result.sample:,} drawn"
    typer.echo(f"{result.screened:,} records screened{part}, from {result.population:,}; seed {result.seed}.")
    typer.echo(f"{records_path}: the screened records, for jft's 'screened'.")
    if rate_path is not None:
        typer.echo(f"{rate_path}: the miss rate, for jft's 'miss_rate'.")
    else:
        console.say("There is no secret in these records, so there is no miss rate; screen a larger sample.")


def _table(result: "Result") -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for heading in ("share", "95 % interval", "drawn by record", "of"):
        table.add_column(heading, justify="right")
    _row(table, "miss rate", result.miss_rate, "secrets")
    _row(table, "recall", result.recall, "secrets")
    _row(table, "precision", result.precision, "found")
    _row(table, "missed tokens", result.tokens, "tokens")
    for kind, (missed, total) in result.by_kind.items():
        table.add_row(f"miss rate {kind}", f"{missed / total:.2%}", "", "", f"{missed:,} of {total:,}")
    return table


def _row(table: Table, name: str, share: "Share", what: str) -> None:
    shown = "none" if share.share is None else f"{share.share:.2%}"
    intervals = _interval(share.interval), _interval(share.interval_by_record)
    table.add_row(name, shown, *intervals, f"{share.count:,} of {share.total:,} {what}")


def _interval(interval: "Interval | None") -> str:
    return "" if interval is None else f"{interval[0]:.2%} to {interval[1]:.2%}"

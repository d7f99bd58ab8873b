"""`discreet dedup`: a copy of a file in which nothing stands twice."""

from typing import Annotated, Any

import typer

from discreet.cli import app, console
from discreet.cli.options import (
    Address,
    DataFile,
    Encoding,
    Engine,
    FileFormat,
    IdField,
    Json,
    OnBad,
    Out,
    RecordsAre,
    TextField,
    TurnsField,
)


@app.command()
def dedup(
    file: DataFile,
    output: Out,
    level: Annotated[str, typer.Option(help="What is compared: 'sentence', 'turn' or 'record'.")] = "sentence",
    method: Annotated[str, typer.Option(help="'exact', 'bloom' (bounded memory) or 'near' (similar too).")] = "exact",
    copies: Annotated[str, typer.Option(help="Later copies: 'remove' them, or 'mask' them as CRT does.")] = "remove",
    mask: Annotated[str, typer.Option(help="The mask token.")] = "<MASK>",
    on_literal: Annotated[str, typer.Option(help="A mask already in the text: 'refuse' or 'escape'.")] = "refuse",
    min_words: Annotated[int, typer.Option(min=1, help="Leave parts with fewer words alone.")] = 1,
    split: Annotated[str, typer.Option(help="Only records of this split; 'all' for every record.")] = "train",
    threshold: Annotated[float, typer.Option(help="near: similarity from which on two parts are copies.")] = 0.8,
    shingle: Annotated[str, typer.Option(help="near: words:N or characters:N.")] = "words:3",
    permutations: Annotated[int, typer.Option(help="near: hashes a part; more are more exact.")] = 128,
    expected: Annotated[int, typer.Option(help="bloom: for how many different parts.")] = 10_000_000,
    error: Annotated[float, typer.Option(help="bloom: how often a new part may be taken for a copy.")] = 1e-6,
    policy: Annotated[
        str | None, typer.Option("--policy", "-p", help="Count how often each secret it finds still appears.")
    ] = None,
    engine: Engine = "local",
    address: Address = None,
    json_output: Json = False,
    on_bad: OnBad = "stop",
    text_field: TextField = "text",
    id_field: IdField = "id",
    turns_field: TurnsField = "turns",
    records_are: RecordsAre = "line",
    encoding: Encoding = "utf-8",
    file_format: FileFormat = None,
) -> None:
    """Write a copy of a file in which later copies of a sentence, turn or record are removed or masked."""
    from discreet.policy.specs import policy as make_policy
    from discreet.sanitize.dedup.run import Dedup, Tally, dedup_all
    from discreet.text.formats.contract import Fields
    from discreet.text.reading import open_records
    from discreet.text.writing import write

    chosen = make_policy(policy) if policy else None
    settings = Dedup(
        level,
        method,
        copies,
        mask,
        on_literal,
        min_words,
        None if split == "all" else split,
        expected,
        error,
        threshold,
        shingle,
        permutations,
    )
    fields = Fields(text=text_field, id=id_field, turns=turns_field)
    records = open_records(
        file, fields=fields, records=records_are, encoding=encoding, on_bad=on_bad, format=file_format
    )
    tally = Tally()
    if engine == "local":
        kept = dedup_all(console.track_file(records, file, "deduplicating"), settings, tally, chosen)
        write(output, kept, fields=fields, like=records)
        skipped = sum(records.skipped.values())
    else:
        from discreet.sanitize.cluster.dedup import dedup_file

        with console.cluster(engine, address) as cluster:
            tally, skipped = dedup_file(cluster, records, output, settings, chosen)
    if tally.overfull:
        console.say(f"There were more than {expected:,} different parts: more than {error:g} of new ones were lost.")
    _say(tally, skipped, str(output), json_output)


def _say(tally: Any, skipped: int, path: str, json_output: bool) -> None:
    counts = {name: getattr(tally, name) for name in ("records", "parts", "copies", "changed", "dropped")}
    if json_output:
        secrets = {"secrets": tally.secrets.summary()} if tally.secrets.used else {}
        console.emit({**counts, "skipped": skipped, **secrets, "path": path})
        return
    typer.echo(
        f"{path}: {tally.records - tally.dropped:,} of {tally.records:,} records; copies among {tally.parts:,} parts: "
        f"{tally.copies:,}; records changed: {tally.changed:,}, dropped: {tally.dropped:,}"
        + (f"; bad rows skipped: {skipped:,}." if skipped else ".")
    )
    if tally.secrets.used:
        found = tally.secrets.summary()
        typer.echo(
            f"{found['distinct']:,} different secrets; the most frequent stood in {found['most_before']:,} parts and "
            f"now stands in {found['most_after']:,}."
        )
        for often in tally.secrets.most(5):
            typer.echo(f"  {often.kind}: in {often.before:,} parts before, in {often.after:,} after")

"""`discreet redact`: a copy of a file with its secrets replaced."""

from pathlib import Path
from typing import Annotated

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
    PolicyName,
    RecordsAre,
    TextField,
    TurnsField,
)


@app.command()
def redact(
    file: DataFile,
    policy: PolicyName,
    output: Out,
    style: Annotated[
        str,
        typer.Option(
            help="By one 'mask', by 'kind' (<PERSON>), by a keyed 'pseudonym', by a made-up 'surrogate', or 'remove'."
        ),
    ] = "mask",
    key_file: Annotated[Path | None, typer.Option(help="A file that holds the key of style 'pseudonym'.")] = None,
    mask: Annotated[str, typer.Option(help="The mask token of style 'mask'.")] = "<MASK>",
    on_literal: Annotated[str, typer.Option(help="A mask already in the text: 'refuse' or 'escape'.")] = "refuse",
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 is one for each core.")] = 1,
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
    """Write a copy of a file with the secrets a policy finds replaced; all other fields are kept as they are."""
    from discreet.policy.specs import policy as make_policy
    from discreet.sanitize.redact import Redaction, Tally, read_key, redact_all
    from discreet.text.formats.contract import Fields
    from discreet.text.reading import open_records
    from discreet.text.writing import write

    chosen = make_policy(policy)
    key = None if key_file is None else read_key(key_file)
    redaction = Redaction(style=style, mask=mask, on_literal=on_literal, key=key)
    fields = Fields(text=text_field, id=id_field, turns=turns_field)
    records = open_records(
        file, fields=fields, records=records_are, encoding=encoding, on_bad=on_bad, format=file_format
    )
    tally = Tally()
    if engine == "local":
        tracked = console.track_file(records, file, "redacting")
        redacted = redact_all(tracked, chosen, redaction, tally, workers or None)
        write(output, redacted, fields=fields, like=records)
        skipped = sum(records.skipped.values())
    else:
        from discreet.sanitize.cluster.rows import redact_file

        with console.cluster(engine, address) as cluster:
            tally, skipped = redact_file(cluster, records, output, chosen, redaction)
    if tally.kept:
        console.say(f"Kept as they are, not redacted: {', '.join(sorted(tally.kept))}.")
    if json_output:
        counts = {"records": tally.records, "redacted": tally.redacted, "secrets": tally.secrets}
        console.emit({**counts, "kinds": tally.kinds, "skipped": skipped, "path": str(output)})
        return
    done = f"{output}: {tally.records:,} records; secrets redacted: {tally.secrets:,}, in {tally.redacted:,} of them"
    typer.echo(done + (f"; bad rows skipped: {skipped:,}." if skipped else "."))

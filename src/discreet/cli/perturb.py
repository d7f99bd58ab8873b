"""`discreet perturb`: a copy of a file with words exchanged under metric differential privacy."""

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
    RecordsAre,
    TextField,
    TurnsField,
)

Embedded = Annotated[
    str, typer.Option("--embedding", help="glove-50d, spacy:MODEL, a .txt file of vectors, or a .npy matrix.")
]


@app.command()
def perturb(
    file: DataFile,
    output: Out,
    epsilon: Annotated[float, typer.Option(help="Per unit of distance; `discreet calibrate` shows what it does.")],
    policy: Annotated[str | None, typer.Option("--policy", "-p", help="What is secret (needed by smdp).")] = None,
    form: Annotated[str, typer.Option(help="'smdp' perturbs secrets, 'mdp' every word.")] = "smdp",
    embedding: Embedded = "glove-50d",
    unknown: Annotated[
        str, typer.Option(help="Words outside of the vocabulary: 'fixed-vector', 'pieces' or 'mask'.")
    ] = "fixed-vector",
    draws: Annotated[
        str | None, typer.Option(help="One draw for each different 'secret', or for each 'occurrence'.")
    ] = None,
    index: Annotated[str, typer.Option(help="'exact', or 'approximate' for very large vocabularies.")] = "exact",
    mask: Annotated[str, typer.Option(help="The mask of --unknown mask.")] = "<MASK>",
    guarantee: Annotated[Path | None, typer.Option(help="Where to write what is proved, as privacy.json.")] = None,
    seed: Annotated[int | None, typer.Option(help="Repeatable noise, for experiments only.")] = None,
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
    """Write a copy of a file in which secrets (or all words) are exchanged for others near them in an embedding."""
    from discreet.accounting.perturbed import metric_privacy
    from discreet.policy.specs import policy as make_policy
    from discreet.sanitize.perturb.embedding import load_embedding
    from discreet.sanitize.perturb.run import Perturbation, Perturber, Tally, perturb_all
    from discreet.text.formats.contract import Fields
    from discreet.text.reading import open_records
    from discreet.text.writing import write

    settings = Perturbation(epsilon, form, unknown, draws, index, mask, seed)
    chosen = make_policy(policy) if policy else None
    fields = Fields(text=text_field, id=id_field, turns=turns_field)
    records = open_records(
        file, fields=fields, records=records_are, encoding=encoding, on_bad=on_bad, format=file_format
    )
    loaded = load_embedding(embedding)
    tally = Tally()
    if engine == "local":
        tracked = console.track_file(records, file, "perturbing")
        write(output, perturb_all(tracked, chosen, Perturber(loaded, settings), tally), fields=fields, like=records)
        skipped = sum(records.skipped.values())
    else:
        from discreet.sanitize.cluster.rows import perturb_file

        with console.cluster(engine, address) as cluster:
            tally, skipped = perturb_file(cluster, records, output, settings, embedding, chosen)
    proved = metric_privacy(settings, loaded, tally).guarantee()
    if guarantee:
        proved.write(guarantee)
    if tally.kept:
        console.say(f"Kept as they are, not perturbed: {', '.join(sorted(tally.kept))}.")
    if seed is not None:
        console.say("The noise repeats with its seed: whoever knows the seed can take it away.")
    counts = {name: getattr(tally, name) for name in ("records", "perturbed", "words", "unknown")}
    if json_output:
        console.emit({**counts, "skipped": skipped, "guarantee": proved.to_json(), "path": str(output)})
        return
    typer.echo(
        f"{output}: {tally.records:,} records; words exchanged: {tally.words:,} in {tally.perturbed:,} of them, "
        f"{tally.unknown:,} not in the vocabulary" + (f"; bad rows skipped: {skipped:,}." if skipped else ".")
    )
    typer.echo(
        f"Epsilon {epsilon:g} for each unit of distance; {proved.bounds[1].epsilon:.4g} for one word drawn once, "
        f"{proved.epsilon:.4g} for the record with the most, whatever the words are exchanged for."
    )

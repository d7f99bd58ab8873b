"""`discreet canaries`: a copy of a file with made-up secrets put in, and the manifest of them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from discreet.cli import app, console
from discreet.cli.options import DataFile, Encoding, FileFormat, IdField, Json, Out, RecordsAre, TextField, TurnsField
from discreet.errors import SettingError
from discreet.text.corpus import Stream
from discreet.text.records import Record

if TYPE_CHECKING:
    from discreet.sanitize.canaries.manifest import World


@app.command()
def canaries(
    file: DataFile,
    output: Out,
    manifest: Annotated[Path, typer.Option(help="Where to write what was put in: attacks read it.")],
    template: Annotated[str, typer.Option(help="The canary's text, with slots as in docs/canaries.md.")] = (
        "My ID is {digits:6}."
    ),
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many canaries (for each author).")] = 10,
    repetitions: Annotated[str, typer.Option(help="How often each; several numbers are taken in turn: 1,5,10.")] = "10",
    secret: Annotated[list[str] | None, typer.Option(help="A secret to use first instead of drawing one.")] = None,
    world: Annotated[
        str,
        typer.Option(help="What coins decide, for audits: fixed, secret-or-other, secret-or-mask or in-or-out."),
    ] = "fixed",
    placement: Annotated[str, typer.Option(help="'even' or 'random' places.")] = "even",
    per_author: Annotated[bool, typer.Option("--per-author", help="Canaries for each author, in their name.")] = False,
    authors: Annotated[int | None, typer.Option(min=1, help="Only so many authors, the most active first.")] = None,
    words: Annotated[Path | None, typer.Option(help="What {words:5} draws from: a file with a word a line.")] = None,
    mask: Annotated[str, typer.Option(help="The mask of world secret-or-mask.")] = "<MASK>",
    kind: Annotated[str, typer.Option(help="The kind canaries are marked with.")] = "CANARY",
    prefix: Annotated[str, typer.Option(help="What the ids of canaries begin with.")] = "canary",
    split: Annotated[str, typer.Option(help="The split they go into.")] = "train",
    seed: Annotated[int, typer.Option(min=0, help="The same seed, the same canaries, coins and places.")] = 0,
    corpus: Annotated[
        str | None, typer.Option(help="FILE is the folder of this public corpus (see `discreet corpora`).")
    ] = None,
    json_output: Json = False,
    text_field: TextField = "text",
    id_field: IdField = "id",
    turns_field: TurnsField = "turns",
    records_are: RecordsAre = "line",
    encoding: Encoding = "utf-8",
    file_format: FileFormat = None,
) -> None:
    """Write a copy of a file with canaries between its records, and a manifest that attacks read."""
    from discreet.sanitize.canaries.insert import Canaries, Insertion
    from discreet.sanitize.canaries.template import read_template
    from discreet.text.formats.contract import FORMATS, Fields, format_of
    from discreet.text.reading import open_records
    from discreet.text.writing import write

    name = format_of(output)
    if name and FORMATS[name].text_only:
        raise SettingError(f"{output}: plain text keeps no ids, so canaries could not be found again; write .jsonl.")
    listed = words.read_text(encoding="utf-8").split() if words else ()
    made = read_template(template, listed, kind)
    if secret and len(made.slots) > 1:
        raise SettingError("Secrets can be given for templates with one slot only.")
    plan = Insertion(
        made,
        number,
        _numbers(repetitions),
        cast("World", world),  # checked by the plan, with the nearest name
        placement,
        per_author or authors is not None,
        authors,
        mask,
        split,
        seed,
        prefix,
        given=tuple((one,) for one in secret or ()),
    )
    fields = Fields(text=text_field, id=id_field, turns=turns_field)
    options: dict[str, Any] = {"fields": fields}
    records: Iterable[Record]
    if corpus:
        records = _of_corpus(corpus, file)
    else:
        records = open_records(file, fields=fields, records=records_are, encoding=encoding, format=file_format)
        options["like"] = records
    mixed = Canaries(records, plan)
    write(output, console.track_file(mixed, file, "canaries for"), **options)
    found = mixed.manifest()
    found.write(manifest)
    copies = sum(len(canary.places) for canary in found.canaries)
    if json_output:
        counts = {"canaries": len(found.canaries), "copies": copies, "records": found.records, "size": made.size}
        console.emit({**counts, "bits": made.bits, "path": str(output), "manifest": str(manifest)})
        return
    typer.echo(
        f"{output}: {found.records:,} records, {copies:,} of them copies of {len(found.canaries):,} canaries from a "
        f"space of {made.size:,} ({made.bits:.2f} bits); {manifest} says which."
    )


def _of_corpus(name: str, folder: Path) -> Iterable[Record]:
    """All splits of a public corpus, one after the other."""
    from discreet.text.corpora.contract import named

    opened = named(name, folder)

    def start() -> Iterator[Record]:
        for split in opened.splits:
            for record in opened.records(split):
                yield replace(record, split=split)

    return Stream(start)


def _numbers(text: str) -> tuple[int, ...]:
    """`1,2,10` or `1-10,20` as numbers."""
    found: list[int] = []
    for piece in text.split(","):
        low, dash, high = piece.strip().partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise SettingError(f"'{text}' is not a list of numbers such as 1,5,10 or 1-10,20.")
        found += range(int(low), int(high or low) + 1)
    return tuple(found)

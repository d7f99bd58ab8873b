"""Options that several commands share, so that they are spelled and explained once."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
DataFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="Text to read: .txt .jsonl .csv .tsv .parquet, or a folder.")
]
PolicyName = Annotated[
    str,
    typer.Option("--policy", "-p", help="A policy's name, NAME:ARGUMENT (regex:PATTERN, words:FILE), or a .yaml file."),
]
OnBad = Annotated[str, typer.Option("--on-bad", help="A bad row: 'stop' with its place, or 'skip' and count it.")]
Out = Annotated[Path, typer.Option("--output", "-o", help="Where to write.")]
TextField = Annotated[str, typer.Option(help="The field or column that holds the text.")]
IdField = Annotated[str, typer.Option(help="The field or column that holds the id.")]
TurnsField = Annotated[str, typer.Option(help="The field that holds a dialog's turns.")]
RecordsAre = Annotated[
    str, typer.Option("--records", help="For .txt: a record is a 'line', a 'paragraph' or a 'file'.")
]
FileFormat = Annotated[
    str | None, typer.Option("--format", help="The format of files whose extension does not say it (see docs/data.md).")
]
Encoding = Annotated[str, typer.Option(help="The encoding of the file.")]
Engine = Annotated[
    str, typer.Option("--engine", help="Where the work is done: 'local', or 'ray' on many processes or machines.")
]
Address = Annotated[
    str | None, typer.Option("--address", help="ray: the address of a running cluster; without one, a local cluster.")
]

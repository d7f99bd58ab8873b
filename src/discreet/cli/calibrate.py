"""`discreet calibrate`: what an epsilon of metric privacy does to words."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from discreet.cli import app, console
from discreet.cli.options import Json
from discreet.cli.perturb import Embedded
from discreet.errors import SettingError


@app.command()
def calibrate(
    embedding: Embedded = "glove-50d",
    epsilon: Annotated[str, typer.Option(help="Epsilons to try.")] = "1,3,6,12,17,23,29,35,41,47,52",
    words: Annotated[int, typer.Option(min=1, help="How many frequent words of the vocabulary.")] = 100,
    draws: Annotated[int, typer.Option(min=1, help="How often each is perturbed.")] = 10,
    example: Annotated[list[str] | None, typer.Option(help="A word to show the outcomes of; can be repeated.")] = None,
    index: Annotated[str, typer.Option(help="'exact' or 'approximate'.")] = "exact",
    plot: Annotated[Path | None, typer.Option(help="Where to draw the table: a .png, .svg or .pdf file.")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    json_output: Json = False,
) -> None:
    """Show what each epsilon does to words of a public vocabulary; no data is touched."""
    from discreet.sanitize.perturb import calibrate as table
    from discreet.sanitize.perturb.embedding import load_embedding

    try:
        epsilons = [float(one) for one in epsilon.split(",")]
    except ValueError:
        raise SettingError(f"'{epsilon}' is not a list of numbers such as 1,10,20.") from None
    loaded = load_embedding(embedding)
    rows = table.calibrate(loaded, epsilons, words=words, draws=draws, examples=example or (), index=index, seed=seed)
    if plot:
        table.plot(rows, str(plot))
    if json_output:
        console.emit({"embedding": loaded.name, "dimension": loaded.dimension, "rows": [row.to_json() for row in rows]})
        return
    shown = Table("epsilon", "noise", "noise / neighbour", "unchanged", "mean distance", "different words")
    for row in rows:
        shown.add_row(
            f"{row.epsilon:g}",
            f"{row.radius:.2f}",
            f"{row.scale:.2f}",
            f"{row.unchanged:.1%}",
            f"{row.distance:.2f}",
            f"{row.candidates:.1f} of {draws}",
        )
    console.out.print(shown)
    for row in rows:
        for outcome in row.examples:
            became = ", ".join(f"{word} {share:.0%}" for word, share in outcome.becomes)
            typer.echo(f"epsilon {row.epsilon:g}: {outcome.word} -> {became}")

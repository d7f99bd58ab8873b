"""`discreet evaluate`: perplexity over all, public and secret tokens."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from discreet.cli import app, console
from discreet.cli.options import Json


@app.command()
def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run.")],
    data: Annotated[Path | None, typer.Option(help="Records to score [the run's own test split].")] = None,
    split: Annotated[str, typer.Option(help="Which split; a file that has only one is scored whole.")] = "test",
    policy: Annotated[str | None, typer.Option("--policy", "-p", help="What is secret [the run's policy].")] = None,
    json_output: Json = False,
) -> None:
    """Score a run on text: perplexity, bits per character and first-choice accuracy."""
    from discreet.mechanisms.run import open_run
    from discreet.text.reading import read

    opened = open_run(run)
    corpus = None
    if data is not None:
        settings = opened.recipe.data
        corpus = read(data, fields=settings.fields.fields()) if settings else read(data)
        if split not in corpus and len(corpus.splits) == 1:
            (split,) = corpus.splits
    from discreet.evaluate.perplexity import evaluate as evaluate_run  # loads torch: after the run is known to be there

    with console.progress() as bar:
        task = bar.add_task("evaluate", total=None)
        result = evaluate_run(opened, corpus, split=split, policy=policy, on_batch=lambda n: bar.advance(task, n))
    if json_output:
        console.emit({"run": str(run), "split": split, **result.to_json()})
        return
    table = Table(title=f"{run}, {split}")
    for column in ("tokens", "number", "perplexity", "top-1"):
        table.add_column(column, justify="left" if column == "tokens" else "right")
    rows = [
        ("all", result.tokens, result.perplexity, result.top1),
        ("public", result.tokens_public, result.perplexity_public, result.top1_public),
        ("secret", result.tokens_secret, result.perplexity_secret, result.top1_secret),
    ]
    for name, number, perplexity, top1 in rows:
        shown = ("-", "-") if perplexity is None or top1 is None else (f"{perplexity:,.2f}", f"{top1:.3f}")
        table.add_row(name, f"{number:,}", *shown)
    console.out.print(table)
    console.out.print(f"{result.bits_per_char:.3f} bits per character over {result.records:,} records")

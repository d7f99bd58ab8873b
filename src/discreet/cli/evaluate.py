"""`discreet evaluate`: perplexity over all, public and secret tokens, or how often a classifier is right.

On the run's own data and policy the figures are kept in the run (`evaluation.json`), for `discreet report`.
"""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from discreet.cli import app, console
from discreet.cli.options import Json
from discreet.errors import SettingError


@app.command()
def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run.")],
    data: Annotated[Path | None, typer.Option(help="Records to score [the run's own test split].")] = None,
    split: Annotated[str, typer.Option(help="Which split; a file that has only one is scored whole.")] = "test",
    policy: Annotated[str | None, typer.Option("--policy", "-p", help="What is secret [the run's policy].")] = None,
    disparity: Annotated[
        bool, typer.Option("--disparity", help="Also compare authors with many and with few records.")
    ] = False,
    reference: Annotated[
        Path | None, typer.Option(help="With --disparity: the run whose perplexities are subtracted, e.g. of 'none'.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Score a run on text: perplexity and bits per character, or, for a classifier, accuracy and F1."""
    from discreet.mechanisms.run import open_run
    from discreet.text.reading import read

    if reference is not None and not disparity:
        raise SettingError("--reference belongs to --disparity.")
    opened = open_run(run)
    corpus = None
    if data is not None:
        settings = opened.recipe.data
        corpus = read(data, fields=settings.fields.fields()) if settings else read(data)
        if split not in corpus and len(corpus.splits) == 1:
            (split,) = corpus.splits
    by_label = opened.recipe.task == "classification"
    if by_label:  # both load torch: after the run is known to be there
        from discreet.evaluate.classification import evaluate as evaluate_run
    else:
        from discreet.evaluate.perplexity import evaluate as evaluate_run  # type: ignore[assignment]
    with console.progress() as bar:
        task = bar.add_task("evaluate", total=None)
        result = evaluate_run(opened, corpus, split=split, policy=policy, on_batch=lambda n: bar.advance(task, n))
    between = _disparity(opened, corpus, reference, split, policy) if disparity else None
    if json_output:
        more = {"disparity": between.to_json()} if between else {}
        console.emit({"run": str(run), "split": split, **result.to_json(), **more})
        return
    if by_label:
        _print_classes(f"{run}, {split}", result)
    else:
        _print_tokens(f"{run}, {split}", result)
    if between:
        _print_disparity(between)


def _disparity(run: Any, corpus: Any, reference: Path | None, split: str, policy: str | None) -> Any:
    from discreet.evaluate.disparity import disparity

    return disparity(run, corpus, reference=reference, split=split, policy=policy)


def _print_classes(title: str, result: Any) -> None:
    table = Table(title=title)
    table.add_column("label")
    table.add_column("F1", justify="right")
    for label, f1 in result.f1_by_label.items():
        table.add_row(label, f"{f1:.3f}")
    console.out.print(table)
    console.out.print(f"accuracy {result.accuracy:.3f}, F1 {result.f1:.3f} over {result.records:,} records")


def _print_tokens(title: str, result: Any) -> None:
    table = Table(title=title)
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


def _print_disparity(found: Any) -> None:
    table = Table(
        title=f"{len(found.authors):,} authors: {found.group} with the most and {found.group} with the fewest"
    )
    for column in ("records", "perplexity", "increase"):
        table.add_column(column, justify="left" if column == "records" else "right")
    for name, perplexity, increase in (
        ("most", found.top, found.top_increase),
        ("fewest", found.bottom, found.bottom_increase),
    ):
        table.add_row(name, f"{perplexity:,.2f}", "-" if increase is None else f"{increase:+,.2f}")
    console.out.print(table)
    console.out.print(f"gap: {found.gap:+,.2f} points of perplexity to the disadvantage of authors with few records")

"""`discreet demo`: the whole idea on simulated dialogs, in a few minutes."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from discreet.cli import app, console
from discreet.cli.options import Json

MECHANISMS = {"none": "the text as it is", "redacted": "secrets masked"}


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where dialogs and runs go.")] = Path("demo"),
    dialogs: Annotated[int, typer.Option("-n", help="How many dialogs to simulate.")] = 3600,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change the recipe, e.g. training.epochs=2.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Simulate dialogs with secrets, find the secrets, train with and without them, and compare."""
    from discreet.cli.detect import marked
    from discreet.evaluate.perplexity import evaluate
    from discreet.mechanisms.recipe import read_recipe
    from discreet.mechanisms.train import train_recipe
    from discreet.policy.specs import policy as make_policy
    from discreet.recipes import recipe_path
    from discreet.text.customersim import simulate
    from discreet.text.reading import open_records
    from discreet.text.writing import write

    path = output / "dialogs.jsonl"
    console.say(f"1. Simulating {dialogs:,} customer dialogs into {path}")
    write(path, console.track(simulate(dialogs, seed=0), "simulate", dialogs))

    console.say("2. What the policy 'customersim' calls secret in the first of them:")
    policy = make_policy("customersim")
    first = next(iter(open_records(path)))
    console.err.print(marked(first.text, policy.secrets(first)))

    rows: list[dict[str, Any]] = []
    for number, (name, what) in enumerate(MECHANISMS.items(), start=3):
        console.say(f"{number}. Training an LSTM on {what} (mechanism '{name}')")
        recipe = read_recipe(recipe_path("demo"), [f"data={path}", f"mechanism.name={name}", *(changes or [])])
        run = train_recipe(recipe, output / "runs" / name, overwrite=True)
        scores = evaluate(run, split="test")
        seconds = sum(row["seconds"] for row in run.metrics)
        rows.append({"mechanism": name, "run": str(run.path), "seconds": seconds, **scores.to_json()})
    if json_output:
        console.emit(rows)
    else:
        _print_table(rows, output)


def _print_table(rows: list[dict[str, Any]], output: Path) -> None:
    table = Table(title="Perplexity on dialogs the models have not seen (lower: predicts better)")
    for column in ("mechanism", "all tokens", "public tokens", "secret tokens", "top-1", "training"):
        table.add_column(column, justify="left" if column == "mechanism" else "right")
    for row in rows:
        table.add_row(
            row["mechanism"],
            f"{row['perplexity']:,.2f}",
            f"{row['perplexity_public']:,.2f}",
            f"{row['perplexity_secret']:,.1f}",
            f"{row['top1']:.3f}",
            f"{row['seconds']:.0f} s",
        )
    console.out.print(table)
    console.out.print(
        "Trained on the text as it is, the model has learned what secrets look like, and perhaps some of them;\n"
        "trained on redacted text it talks nearly as well in public and knows nothing of the secrets that were found.\n"
        f"The runs are in {output / 'runs'}: try  discreet evaluate {output / 'runs' / 'redacted'}"
    )

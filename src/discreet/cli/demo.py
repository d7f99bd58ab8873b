"""`discreet demo`: the whole idea on simulated dialogs, in a few minutes."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from discreet.cli import app, console
from discreet.cli.options import Json

MECHANISMS = {
    "none": "the text as it is",
    "dp-sgd": "the text as it is, every dialog clipped and noised",
    "selective": "redacted text, and on secrets through noised updates",
    "jft": "redacted text, then on all text privately",
    "crt": "what two policies clear, and on the rest privately",
}


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where dialogs and runs go.")] = Path("demo"),
    dialogs: Annotated[int, typer.Option("-n", help="How many dialogs to simulate.")] = 2400,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change the recipe, e.g. training.epochs=2.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Simulate dialogs with secrets, find the secrets, train with five mechanisms, and compare."""
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
        own = "demo" if name == "none" else f"demo-{name}"
        recipe = read_recipe(recipe_path(own), [f"data={path}", *(changes or [])])
        run = train_recipe(recipe, output / "runs" / name, overwrite=True)
        scores = evaluate(run, split="test")
        seconds = sum(row["seconds"] for row in run.metrics)
        proved = {"epsilon": run.guarantee.epsilon, "delta": run.guarantee.delta, "notion": run.guarantee.notion}
        rows.append({"mechanism": name, "run": str(run.path), "seconds": seconds, **scores.to_json(), **proved})
    if json_output:
        console.emit(rows)
    else:
        _print_table(rows, output)


def _print_table(rows: list[dict[str, Any]], output: Path) -> None:
    table = Table(title="Perplexity on dialogs the models have not seen (lower: predicts better), and what is proved")
    for column in ("mechanism", "all tokens", "public", "secret", "top-1", "epsilon", "of", "training"):
        table.add_column(column, justify="left" if column in ("mechanism", "of") else "right")
    for row in rows:
        open_ended = row["epsilon"] is None
        table.add_row(
            row["mechanism"],
            f"{row['perplexity']:,.2f}",
            f"{row['perplexity_public']:,.2f}",
            f"{row['perplexity_secret']:,.1f}",
            f"{row['top1']:.3f}",
            "none" if open_ended else f"{row['epsilon']:.2f}",
            "nothing is proved" if open_ended else row["notion"],
            f"{row['seconds']:.0f} s",
        )
    console.out.print(table)
    console.out.print(
        "Trained on the text as it is, the model has learned what secrets look like, and perhaps some of them.\n"
        "The others come with a proof; what each protects, and what not, is in the privacy.json of its run:\n"
        f"try  discreet verify {output / 'runs' / 'selective'}"
    )

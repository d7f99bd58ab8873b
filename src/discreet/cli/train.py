"""`discreet train`: a recipe, or flags, become a run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import app, console
from discreet.cli.options import Json


@app.command()
def train(
    recipe: Annotated[
        Path | None,
        typer.Argument(metavar="[RECIPE]", help="A YAML recipe, or the name of a shipped one; flags change its keys."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The run's folder [runs/NAME].")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="key=value, e.g. training.epochs=3.")] = None,
    data: Annotated[str | None, typer.Option(help="A file or folder of records.")] = None,
    corpus: Annotated[str | None, typer.Option(help="The public corpus whose layout --data has.")] = None,
    policy: Annotated[str | None, typer.Option("--policy", "-p", help="What is secret.")] = None,
    mechanism: Annotated[str | None, typer.Option(help="How to learn: none, redacted, ...")] = None,
    model: Annotated[str | None, typer.Option(help="Which model: lstm, or a folder.")] = None,
    tokenizer: Annotated[str | None, typer.Option(help="gpt2, a folder, or bpe to train one on redacted text.")] = None,
    epochs: Annotated[int | None, typer.Option(help="How often to go through the records.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Records a step.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="The optimizer's rate.")] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same weights.")] = None,
    keep_epochs: Annotated[
        bool, typer.Option("--keep-epochs", help="Keep each epoch's weights, for 'discreet attack --over-time'.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a run that is there already.")] = False,
    json_output: Json = False,
) -> None:
    """Train a model and make a run folder; started again after a kill, it goes on where it stopped."""
    from discreet.mechanisms.recipe import make_recipe, read_recipe

    flags: dict[str, Any] = {
        "data.path": data,
        "data.corpus": corpus,
        "policy": policy,
        "mechanism.name": mechanism,
        "model.name": model,
        "training.epochs": epochs,
        "training.batch_size": batch_size,
        "training.learning_rate": learning_rate,
        "training.keep_epochs": keep_epochs or None,
        "seed": seed,
    }
    if tokenizer is not None:
        flags |= {"tokenizer": '{"train": "bpe"}' if tokenizer == "bpe" else f'{{"name": "{tokenizer}"}}'}
    texts = [f"{key}={value}" for key, value in flags.items() if value is not None] + (changes or [])
    chosen = read_recipe(_place(recipe), texts) if recipe else make_recipe({}, texts, where="options")
    place = output or Path("runs") / (recipe.stem if recipe else chosen.mechanism.name)
    from discreet.mechanisms.train import train_recipe  # loads torch: after the recipe is known to be right

    run = train_recipe(chosen, place, overwrite=overwrite)
    for reason, count in run.manifest["skipped"].items():
        console.say(f"Bad rows skipped: {count:,} ({reason}).")
    if json_output:
        guarantee = run.guarantee
        privacy = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "notion": guarantee.notion}
        last = run.metrics[-1] if run.metrics else None
        console.emit({"run": str(run.path), "metrics": last, **privacy, **run.manifest})
        return
    console.out.print(f"{run.path}: {_told(run)}")


def _place(recipe: Path) -> Path:
    """The file itself, or that of a shipped recipe where a bare name is given and no such file is there."""
    from discreet.recipes import recipe_path

    return recipe_path(str(recipe)) if not recipe.exists() and str(recipe) == recipe.stem else recipe


def _told(run: Any) -> str:
    """The last losses that may be told, and what is proved."""
    parts = []
    for row in run.metrics[-1:]:
        parts += [f"{row['epoch'] + 1} epochs, loss {row['train_loss']:.4f}"] if "train_loss" in row else []
        parts += [f"validation {row['valid_loss']:.4f}"] if row.get("valid_loss") is not None else []
    epsilon, delta = run.guarantee.epsilon, run.guarantee.delta
    if epsilon is not None:
        parts.append(f"{run.guarantee.notion}, epsilon {epsilon:.3f} at delta {delta:.2g}")
    return ", ".join(parts) or "trained"

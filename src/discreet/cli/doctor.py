"""`discreet doctor`: does the engine clip this model's gradients right?"""

from collections import Counter
from typing import Annotated

import typer
from rich.table import Table

from discreet.cli import app, console
from discreet.cli.options import Json


@app.command()
def doctor(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model's folder, a run, or a name such as 'lstm'.")],
    task: Annotated[str, typer.Option(help="What the model is for: 'causal-lm' or 'classification'.")] = "causal-lm",
    batch: Annotated[int, typer.Option(help="Records in the batch.")] = 4,
    length: Annotated[int, typer.Option(help="Tokens in a record.")] = 16,
    vocabulary: Annotated[int, typer.Option(help="The vocabulary of a model that is given by name.")] = 1000,
    json_output: Json = False,
) -> None:
    """Compare the engine with a loop over single records on one random batch of a model."""
    from discreet.engine.doctor import TOLERANCE, examine, load
    from discreet.errors import RefusedError

    loaded, loss = load(model, task=task, vocabulary=vocabulary)
    loaded.train()  # what would be refused in training is refused here
    found = examine(loaded, loss=loss, name=model, records=batch, length=length)
    if json_output:
        console.emit(found.to_json())
    else:
        table = Table(title=f"{model}: {found.trainable:,} of {found.parameters:,} parameters are trained")
        for column in ("layers", "kind", "rule", "norms by", "for instance"):
            table.add_column(column, justify="right" if column == "layers" else "left")
        kinds = Counter((layer.kind, layer.rule, layer.norms) for layer in found.layers)
        example = {(layer.kind, layer.rule, layer.norms): layer.name for layer in reversed(found.layers)}
        for kind, count in kinds.items():
            table.add_row(f"{count:,}", *kind, example[kind])
        console.out.print(table)
        for same in found.tied:
            console.out.print(f"tied: {' = '.join(same)}")
        if found.slow:
            console.out.print(f"every record gets a backward pass of its own: {found.slow}")
        console.out.print(f"relative error of norms {found.norm_error:.1e}, of the clipped sum {found.sum_error:.1e}")
    if not found.ok:
        raise RefusedError(
            f"{model}: engine and loop differ by {found.error:.1e}, more than {TOLERANCE:g}; do not train this model "
            "privately, and report it with the output of --json."
        )
    console.say("The engine is right for this model.")

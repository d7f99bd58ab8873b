"""`discreet report`: one page over runs, or the model card of one."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import app, console
from discreet.cli.options import Json


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN [RUN...]", help="Finished runs.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write [RUN/report.html, report.html for several, RUN/model/README.md]."
        ),
    ] = None,
    form: Annotated[str, typer.Option("--format", help="'html', or 'md' for a model card.")] = "html",
    evaluate: Annotated[bool, typer.Option("--evaluate", help="First evaluate runs that have not been.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Compute every guarantee again before printing it.")
    ] = True,
    miss_rate: Annotated[
        Path | None, typer.Option(help="A file of 'discreet measure --miss-rate' for the runs' policy.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a model card that is there.")] = False,
    json_output: Json = False,
) -> None:
    """Write what is proved about runs, what attacks found and how useful they are: a page, or a model card."""
    from discreet.report import report as write

    if evaluate:
        _evaluate(runs)
    place = write(
        runs,
        output,
        format=form,  # type: ignore[arg-type]  # checked there, with a sentence
        verify=verify,
        miss_rate=miss_rate,
        overwrite=overwrite,
    )
    if json_output:
        console.emit({"report": str(place), "runs": [str(run) for run in runs], "format": form})
    else:
        console.out.print(f"Written to {place}.", markup=False)


def _evaluate(runs: list[Path]) -> None:
    """Evaluates the runs whose models, as they are, have no evaluation yet."""
    from discreet.evaluate.stored import read_evaluation
    from discreet.mechanisms.run import open_run

    for path in runs:
        run = open_run(path)
        if read_evaluation(run) is not None:
            continue
        console.say(f"Evaluating {path}")
        if run.recipe.task == "classification":
            from discreet.evaluate.classification import evaluate as evaluate_run
        else:
            from discreet.evaluate.perplexity import evaluate as evaluate_run  # type: ignore[assignment]
        evaluate_run(run)
        if read_evaluation(run) is None:
            console.say(f"{path}: not kept, because the data is not what it was trained on.")

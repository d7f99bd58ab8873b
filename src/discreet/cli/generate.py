"""`discreet generate`: what a run's model writes after a prompt."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import app, console
from discreet.cli.options import Json


@app.command()
def generate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run, a model's folder, or mini.")],
    prompt: Annotated[str, typer.Option(help="What the text begins with.")] = "",
    count: Annotated[int, typer.Option("-n", help="How many continuations.")] = 1,
    tokens: Annotated[int, typer.Option(help="The most tokens of one.")] = 100,
    temperature: Annotated[float, typer.Option(help="0 always takes the likeliest token.")] = 1.0,
    top_p: Annotated[float, typer.Option(help="Draw from the likeliest tokens with this much probability.")] = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed writes the same text.")] = 0,
    json_output: Json = False,
) -> None:
    """Let a model write: continuations of a prompt."""
    from discreet.models.generate import generate as write
    from discreet.models.language import load_model
    from discreet.models.pretrained import place_of
    from discreet.text.tokenize import Encoder
    from discreet.text.vocabulary import load_tokenizer

    place = Path(place_of(str(run)))
    folder = place if (place / "config.json").is_file() else open_model_folder(run)
    encoder = Encoder(load_tokenizer(folder))
    texts = write(
        load_model(folder),
        encoder,
        prompt,
        count=count,
        tokens=tokens,
        temperature=temperature,
        top_p=top_p,
        seed=seed,
    )
    if json_output:
        console.emit({"run": str(run), "prompt": prompt, "texts": texts})
        return
    for text in texts:
        console.out.print(f"{prompt}{text}", markup=False, highlight=False, soft_wrap=True)


def open_model_folder(run: Path) -> Path:
    from discreet.mechanisms.run import open_run

    return open_run(run).model_folder

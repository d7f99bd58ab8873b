"""`discreet simulate`: dialogs whose secrets are known, to try policies and mechanisms on."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Annotated

import typer

from discreet.cli import app, console
from discreet.cli.options import Json, Out
from discreet.errors import UnknownNameError
from discreet.registry import nearest
from discreet.text import customersim
from discreet.text.records import Record

SIMULATORS: dict[str, Callable[[int, int], Iterator[Record]]] = {"customersim": customersim.simulate}


@app.command()
def simulate(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to simulate: customersim.")],
    output: Out,
    n: Annotated[int, typer.Option("-n", min=1, help="How many dialogs; ten twelfths of them are for train.")] = 12_000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same dialogs.")] = 0,
    json_output: Json = False,
) -> None:
    """Write simulated dialogs with their true secrets, in any number.

    Fields: id, text, secrets (start, end, kind), split (train, valid, test), turns.
    """
    from discreet.text.writing import write

    if name not in SIMULATORS:
        raise UnknownNameError(f"There is no simulator called '{name}'; {nearest(name, SIMULATORS)}")
    splits: Counter[str] = Counter()
    kinds: Counter[str] = Counter()

    def counted() -> Iterator[Record]:
        for record in console.track(SIMULATORS[name](n, seed), f"simulate {name}", n):
            splits[record.split or "train"] += 1
            kinds.update(secret.kind for secret in record.secrets or ())
            yield record

    records = write(output, counted())
    parts = ", ".join(f"{count:,} {split}" for split, count in splits.items())
    console.say(f"{output}: {records:,} dialogs ({parts}) with {kinds.total():,} secrets.")
    if json_output:
        found = {"secrets": kinds.total(), "by_kind": kinds}
        console.emit({"records": records, "splits": splits, **found, "path": str(output)})

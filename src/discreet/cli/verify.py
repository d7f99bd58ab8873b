"""`discreet verify`: compute a run's guarantee again and compare."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import app, console
from discreet.cli.options import Json


@app.command()
def verify(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder with privacy.json and ledger.jsonl.")],
    json_output: Json = False,
) -> None:
    """Check that a run's privacy statement follows from the run's own records."""
    from discreet.accounting.guarantee import Guarantee
    from discreet.accounting.verify import verify as checks_of

    checks = checks_of(run)
    problems = [check.problem for check in checks if check.problem]
    if json_output:
        guarantee = None if checks[0].problem else Guarantee.read(run / "privacy.json")
        console.emit(
            {
                "run": str(run),
                "ok": not problems,
                "epsilon": guarantee.epsilon if guarantee else None,
                "delta": guarantee.delta if guarantee else None,
                "notion": guarantee.notion if guarantee else None,
                "checks": [{"what": check.what, "ok": check.problem is None} for check in checks],
                "problems": problems,
            }
        )
    for problem in problems:
        console.error(problem)
    if problems:
        raise typer.Exit(1)
    if not json_output:
        console.out.print(f"{run}: the guarantee follows from the run's records ({len(checks)} checks).", markup=False)

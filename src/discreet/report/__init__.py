"""What a person reads: one page over several runs, and the model card of one.

    discreet.report(["runs/a", "runs/b"], "report.html")
    discreet.report("runs/a", format="md")                   # runs/a/model/README.md

Everything comes from the files of the runs; nothing is trained, and no secret is printed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from discreet.callable_module import make_callable

if TYPE_CHECKING:
    from discreet.mechanisms.run import Run


def report(
    runs: "Run | str | Path | Sequence[Run | str | Path]",
    output: str | Path | None = None,
    *,
    format: Literal["html", "md"] = "html",
    verify: bool = True,
    miss_rate: str | Path | None = None,
    overwrite: bool = False,
) -> Path:
    """Writes the report of runs, or the model card of one (`format="md"`), and returns where it is.

    `verify` computes every guarantee again before it is printed. `miss_rate` is a file of `discreet measure
    --miss-rate` for the policy of the runs. A model card that is there already is kept unless `overwrite` says else.
    """
    from discreet.report.write import write_report

    return write_report(runs, output, format=format, verify=verify, miss_rate=miss_rate, overwrite=overwrite)


make_callable(__name__, __name__)

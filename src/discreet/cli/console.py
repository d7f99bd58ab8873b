"""Where output goes: results to stdout, talk and progress to stderr."""

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    FileSizeColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from discreet.errors import SettingError

if TYPE_CHECKING:
    from discreet.sanitize.cluster.engine import Cluster

T = TypeVar("T")

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False)


def emit(value: Any) -> None:
    """One JSON document on one line of stdout."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS).decode())


def say(message: str) -> None:
    """A remark for the person at the terminal."""
    err.print(escape(message), soft_wrap=True)


def error(message: str) -> None:
    err.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)


def progress(*columns: Any) -> Progress:
    """A progress display on stderr that leaves nothing behind; silent where stderr is not a terminal."""
    shown = columns or (MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(
        TextColumn("{task.description}"), BarColumn(), *shown, console=err, transient=True, disable=not err.is_terminal
    )


def track(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Walks through items with a progress bar."""
    with progress() as bar:
        task = bar.add_task(what, total=total)
        for item in items:
            yield item
            bar.advance(task)


def track_file(items: Iterable[T], path: Path, what: str) -> Iterator[T]:
    """Walks through the records of a file or folder with a bar that counts records (their number is not known)."""
    with progress(MofNCompleteColumn(), FileSizeColumn(), TimeElapsedColumn()) as bar:
        task = bar.add_task(f"{what} {path.name}", total=None)
        for item in items:
            yield item
            bar.advance(task)


@contextlib.contextmanager
def cluster(engine: str, address: str | None) -> Iterator["Cluster"]:
    """The cluster of `--engine ray`, with a bar that counts its tasks."""
    from discreet.sanitize.cluster.engine import connect

    if engine != "ray":
        raise SettingError(f"There is no engine '{engine}'; it is 'local' or 'ray'.")
    with progress() as bar:
        task = bar.add_task("ray", total=None)
        with connect(address, on_progress=lambda done, total: bar.update(task, completed=done, total=total)) as found:
            yield found

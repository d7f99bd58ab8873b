"""Progress on stderr for what takes long; silent where stderr is not a terminal."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

stderr = Console(stderr=True, highlight=False)


def bar(*columns: ProgressColumn | str) -> Progress:
    """A progress display that leaves nothing behind."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *columns,
        console=stderr,
        transient=True,
        disable=not stderr.is_terminal,
    )


class TrainingBar:
    """Steps done, loss, tokens a second and time left, while a model trains."""

    def __init__(self, shown: bool = True) -> None:
        self._bar = bar(
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.3f}  {task.fields[rate]:,.0f} tokens/s"),
            TimeRemainingColumn(),
        )
        self._bar.disable = self._bar.disable or not shown
        self._task = self._bar.add_task("train", total=None, loss=float("nan"), rate=0.0)
        self._loss: float | None = None
        self._rate = 0.0
        self._last = time.monotonic()

    def __enter__(self) -> "TrainingBar":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def step(self, description: str, done: int, total: int, loss: float, tokens: int) -> None:
        """Shows a step; loss and speed are smoothed over about fifty steps."""
        now = time.monotonic()
        speed = tokens / max(now - self._last, 1e-6)
        self._last = now
        self._loss = loss if self._loss is None else 0.98 * self._loss + 0.02 * loss
        self._rate = speed if not self._rate else 0.98 * self._rate + 0.02 * speed
        self._bar.update(
            self._task, description=description, completed=done, total=total, loss=self._loss, rate=self._rate
        )

    def say(self, message: str) -> None:
        """A line above the bar."""
        if not self._bar.disable:
            self._bar.console.print(message, markup=False)

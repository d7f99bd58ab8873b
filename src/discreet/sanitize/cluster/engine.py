"""A Ray cluster: one of your own by its address, or a local one with a process for each core.

    with connect() as cluster:
        for result in cluster.map(items, work): ...         # in the order of the items, as they are done

Work is handed out by Ray Data, one task for each item. A task whose worker dies is done again elsewhere; work must
therefore give the same result each time and leave nothing behind. A refusal of ours (`DiscreetError`) comes back as
itself; anything else as Ray reports it.

Items and results travel inside the cluster as Python objects, so the cluster must be one you trust. Files are read by
the workers: on several machines they must see the same paths.
"""

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet import errors
from discreet.errors import DiscreetError, MissingPackageError, RunError

T = TypeVar("T")
R = TypeVar("R")
Columns = Mapping[str, NDArray[Any]]
Progress = Callable[[int, int], None]
"""Told how many tasks are done, and of how many."""


class Refusal(NamedTuple):
    """A refusal of ours on its way back from a worker."""

    kind: str
    sentence: str


def _import() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingPackageError("The engine 'ray' needs Ray; install it with: pip install 'discreet[ray]'.") from None
    return ray


class Cluster:
    """A connection to Ray."""

    def __init__(self, ray: Any, on_progress: Progress | None = None) -> None:
        self._ray, self._on_progress = ray, on_progress
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = True
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)

    @property
    def cores(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 1))

    def map(self, items: Sequence[T], work: Callable[[T], R]) -> Iterator[R]:
        """The result of each item, in order."""
        data = self._tasks(items, _boxed(work))
        for done, row in enumerate(self._safely(data.iter_rows()), 1):
            if self._on_progress:
                self._on_progress(done, len(items))
            yield row["result"]

    def shuffle(
        self, items: Sequence[T], emit: Callable[[T], Columns], reduce: Callable[[Columns], Columns]
    ) -> list[Columns]:
        """Columns that the items emit, brought together by their `bucket` and reduced bucket by bucket.

        `emit` and `reduce` must name the same columns for every item and every bucket.
        """
        data = self._tasks(items, lambda item: dict(emit(item)), refusals=False)
        grouped = data.groupby("bucket", num_partitions=2 * self.cores)
        reduced = grouped.map_groups(lambda group: dict(reduce(group)), batch_format="numpy")
        try:
            return list(self._safely(reduced.iter_batches(batch_size=None, batch_format="numpy", prefetch_batches=0)))
        except RunError:
            for _ in self.map(items, lambda item: emit(item) is None):  # a refusal of ours? then it comes back here
                pass
            raise

    def _tasks(self, items: Sequence[T], work: Callable[[Any], Any], *, refusals: bool = True) -> Any:
        """One Ray Data task for each item; the items themselves travel through the object store.

        With `refusals` a refusal takes the place of the result, in a column of its own.
        """
        shared, ray, folder = self._ray.put(list(items)), self._ray, str(Path.cwd())

        def task(batch: Any) -> Any:
            if os.path.isdir(folder):
                os.chdir(folder)  # relative paths mean what they mean here
            try:
                return work(ray.get(shared)[int(batch["number"][0])])
            except DiscreetError as error:
                if not refusals:
                    raise
                return {"refused": np.array([Refusal(type(error).__name__, str(error))], dtype=object)}

        numbers = [{"number": number} for number in range(len(items))]
        data = self._ray.data.from_items(numbers, override_num_blocks=max(1, len(items)))
        return data.map_batches(task, batch_size=1, batch_format="numpy")

    def _safely(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Rows or batches as they come; a refusal among them is raised."""
        try:
            for row in rows:
                if "refused" in row:
                    kind, sentence = row["refused"]
                    raise getattr(errors, kind, DiscreetError)(sentence)
                yield row
        except self._ray.exceptions.RayError as error:
            raise RunError(
                f"Ray gave up on a task ({type(error).__name__}); look into its logs, or use --engine local."
            ) from error


def _boxed(work: Callable[[T], R]) -> Callable[[T], dict[str, Any]]:
    def boxed(item: T) -> dict[str, Any]:
        result = np.empty(1, dtype=object)
        result[0] = work(item)
        return {"result": result}

    return boxed


@contextlib.contextmanager
def connect(
    address: str | None = None, *, cores: int | None = None, on_progress: Progress | None = None
) -> Iterator[Cluster]:
    """A cluster for the time being: the one at `address`, or a local one with so many cores."""
    ray = _import()
    ours = not ray.is_initialized()
    if ours:
        where: dict[str, Any] = {"address": address} if address else {"num_cpus": cores, "include_dashboard": False}
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **where)
        except (ConnectionError, ValueError, RuntimeError, OSError) as error:
            raise RunError(
                f"There is no Ray cluster to be had at '{address or 'this machine'}' ({type(error).__name__}); "
                "check the address, or use --engine local."
            ) from None
    try:
        yield Cluster(ray, on_progress)
    finally:
        if ours:
            ray.shutdown()

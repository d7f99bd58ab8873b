"""Records of a dataset by number, as the physical batches of a step: dicts of tensors with one row for each record.

    items = items_of(dataset_or_loader, physical=32)
    loader = items.loader(part for step in steps for part in items.parts(records_of(step)))

The loader gives the parts of each step and then None, also for a step without records; workers load ahead over the ends
of steps. Each record must stay one row: the row is what is clipped.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.utils import data as torch_data

from discreet.errors import InputError, RefusedError, SettingError

Collate = Callable[[list[Any]], Any]


@dataclass(frozen=True)
class Items(torch_data.Dataset[Any]):
    """A dataset that is asked for the items of a part at once; a part without items ends a step."""

    dataset: torch_data.Dataset[Any]
    collate: Collate
    workers: int
    physical: int | None

    def parts(self, records: list[int]) -> Iterator[list[int]]:
        size = self.physical or max(1, len(records))
        for start in range(0, len(records), size):
            yield records[start : start + size]
        yield []

    def loader(self, indices: Iterator[list[int]]) -> "torch_data.DataLoader[Any]":
        return torch_data.DataLoader(
            self,
            batch_sampler=indices,
            collate_fn=self.tensors,
            num_workers=self.workers,
        )

    def __getitems__(self, indices: list[int]) -> list[Any]:
        together = getattr(self.dataset, "__getitems__", None)
        return together(indices) if together and indices else [self.dataset[index] for index in indices]

    def tensors(self, items: list[Any]) -> dict[str, Tensor] | None:
        """The items as a dict of tensors with one row for each."""
        if not items:
            return None
        batch = self.collate(items)
        if not isinstance(batch, Mapping) or not all(isinstance(value, Tensor) for value in batch.values()):
            raise InputError(
                f"collate_fn returned {type(batch).__name__}, but a batch is a dict of tensors with records along "
                "dimension 0; let items be dicts of tensors, or pass a collate_fn that makes such a dict."
            )
        rows = {name: len(tensor) if tensor.dim() else 0 for name, tensor in batch.items()}
        if set(rows.values()) != {len(items)}:
            raise RefusedError(
                f"collate_fn made rows {rows} of {len(items)} records; each record must stay one row, because the row "
                "is what is clipped."
            )
        return dict(batch)


def items_of(
    data: Any, physical: int | None = None, collate: Collate | None = None, workers: int | None = None
) -> Items:
    """The items of a dataset, or of a DataLoader's dataset with the loader's settings where none are given."""
    if isinstance(data, torch_data.DataLoader):
        _refuse_samplers(data)
        collate = data.collate_fn if collate is None else collate
        workers = data.num_workers if workers is None else workers
        physical = data.batch_size if physical is None else physical
        data = data.dataset
    if isinstance(data, torch_data.IterableDataset) or not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
        raise SettingError(
            f"A {type(data).__name__} cannot be drawn from: the plan's sampling needs records by number; "
            "pass a dataset with __len__ and __getitem__."
        )
    if physical is not None and physical < 1:
        raise SettingError(f"physical is the number of records computed at a time, at least 1, not {physical}.")
    return Items(data, collate or torch_data.default_collate, workers or 0, physical)


def _refuse_samplers(loader: "torch_data.DataLoader[Any]") -> None:
    if isinstance(loader.dataset, torch_data.IterableDataset):
        return  # has a message of its own
    plain = type(loader.sampler) in (torch_data.RandomSampler, torch_data.SequentialSampler)
    plain = plain and not getattr(loader.sampler, "replacement", False)
    in_turn = loader.batch_sampler is None or type(loader.batch_sampler) is torch_data.BatchSampler
    if not (plain and in_turn):
        own = loader.batch_sampler if plain else loader.sampler
        raise RefusedError(
            f"The DataLoader draws by a {type(own).__name__} of its own, but batches are drawn as the plan says; pass "
            "the dataset instead."
        )

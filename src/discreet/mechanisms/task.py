"""What a model is trained for: how records become examples, batches and a loss.

`discreet.mechanisms.language` predicts the next token, `discreet.mechanisms.classification` a record's label.
Mechanisms are written against this contract and so work for both.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from torch import Tensor, nn

from discreet.engine.plain import Batch, Source
from discreet.engine.private import PrivateSource
from discreet.engine.settings import TrainingSettings
from discreet.text.records import Record, Secret
from discreet.text.tokenize import Encoder


class Examples(Protocol):
    """The records of a split as a model reads them."""

    def __len__(self) -> int: ...


class Units(PrivateSource, Protocol):
    """Where the physical batches of a drawn batch come from."""

    def authors(self) -> list[Any]:
        """The records of each author, by number."""


class Task(Protocol):
    """What a model is trained for."""

    @property
    def encoder(self) -> Encoder: ...

    def encode(
        self,
        pairs: Iterable[tuple[Record, Sequence[Secret]]],
        masks: Callable[[Record], Sequence[Secret]] | None = None,
    ) -> Any:
        """Examples of records with their secrets; `masks` says where a redacted record has its masks."""

    def source(self, examples: Any, settings: TrainingSettings, seed: int) -> Source:
        """The batches of plain training."""

    def loss(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """The sum of the losses over a batch's targets, and their number."""

    def units(
        self, examples: Any, settings: TrainingSettings, physical_tokens: int, *, secrets_only: bool = False
    ) -> "Units":
        """The batches of private training: whole units, a row each."""

    def unit_loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """One loss for each unit of such a batch."""

    def authors(self, examples: Any) -> list[Any]:
        """The records of each author, by number."""

    def mean_loss(self, model: nn.Module, examples: Any, *, public_only: bool = False) -> float:
        """The mean loss over all targets, or over those outside secrets, for validation."""

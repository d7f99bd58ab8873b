"""What is known about a model, and when it is looked at again.

Rules are tried when a model is first seen, and again when anything about it changes: its modules, what is trainable,
its mode, the kinds of tensors in a batch. They are also tried again after 1, 2, 4, 8, ... passes, on other records, in
case the model treats some records differently; a disagreement then is refused: earlier sums may have been wrong.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from discreet.engine.clipping.contract import NoRule
from discreet.engine.clipping.costs import Costs
from discreet.engine.clipping.coverage import Coverage
from discreet.engine.clipping.fallback import Loss
from discreet.engine.clipping.layout import Layout, some_records
from discreet.engine.clipping.trial import NEGLIGIBLE, survey, trial
from discreet.errors import RefusedError, SettingError


class SlowClipping(UserWarning):
    """Some or all of a model is done record by record: right, but slow."""


@dataclass
class Knowledge:
    """What surveys and trials have found about a model in one condition."""

    coverage: Coverage
    layouts: dict[object, tuple[Layout, ...]] = field(default_factory=dict)
    uses: dict[Tensor, int] = field(default_factory=dict)
    believed: set[str] = field(default_factory=set)
    slow: str | None = None
    """Why all of it is done record by record."""
    passes: int = 0


class Trust:
    """Keeps the knowledge about one model up to date."""

    def __init__(self, model: nn.Module, loss: Loss, costs: Costs, *, strict: bool) -> None:
        self.model, self.loss, self.costs, self.strict = model, loss, costs, strict
        self._known: dict[object, Knowledge] = {}

    def knowledge(self, batch: Mapping[str, Tensor]) -> Knowledge:
        """What is known for a batch like this, surveyed and tried if need be."""
        condition = self._condition(batch)
        known = self._known.get(condition)
        if known is None:
            known = self._known[condition] = self._first_look(batch)
        elif known.slow is None and known.passes & (known.passes - 1) == 0:
            self._look_again(known, batch, [known.passes, 3 * known.passes + 1])
        known.passes += 1
        return known

    def doubt(self, known: Knowledge, batch: Mapping[str, Tensor], squares: Tensor) -> None:
        """Tries the rules of parameters that add more than a negligible share and have not been seen to be right."""
        names = list(known.coverage.trained.values())
        if len(known.believed) == len(names):
            return
        doubtful = torch.tensor([name not in known.believed for name in names], device=squares.device)
        shares = torch.nan_to_num(squares[doubtful] / squares.sum(0)).amax(0)
        if float(shares.max()) > NEGLIGIBLE**2:
            self._look_again(known, batch, shares.argsort(descending=True)[:2].tolist())

    def give_up(self, known: Knowledge, reason: str) -> None:
        """From now on record by record; refused if strict."""
        known.slow = reason
        self._complain(f"{reason[0].upper()}{reason[1:]}: every record gets a backward pass of its own")

    def _first_look(self, batch: Mapping[str, Tensor]) -> Knowledge:
        known = Knowledge(Coverage(self.model))
        if not known.coverage.trained:
            raise SettingError("The model has no trainable parameters; unfreeze some.")
        unruled = known.coverage.without_rule()
        if unruled:
            self._complain(f"There is no layer rule for {', '.join(unruled)}: run again for each record")
        try:
            known.layouts.update(survey(known.coverage, batch, self.loss))
            self._try(known, batch, [1, 0])
        except NoRule as reason:
            self.give_up(known, str(reason))
        return known

    def _look_again(self, known: Knowledge, batch: Mapping[str, Tensor], records: list[int]) -> None:
        try:
            self._try(known, batch, records)
        except NoRule as reason:
            raise RefusedError(
                f"After {known.passes} passes {reason}; earlier sums may have been wrong, so this is not continued."
            ) from reason

    def _try(self, known: Knowledge, batch: Mapping[str, Tensor], records: list[int]) -> None:
        count = len(next(iter(batch.values())))
        pair = some_records(batch, [record % count for record in records])
        verdict = trial(known.coverage, pair, known.layouts, self.loss, self.costs)
        known.uses.update(verdict.uses)
        known.believed |= verdict.believed

    def _condition(self, batch: Mapping[str, Tensor]) -> object:
        return (
            tuple((id(module), module.training) for module in self.model.modules()),
            tuple(parameter.requires_grad for parameter in self.model.parameters()),
            tuple((name, tensor.dtype, tensor.dim()) for name, tensor in sorted(batch.items())),
            torch.is_autocast_enabled("cpu"),
        )

    def _complain(self, what: str) -> None:
        if self.strict:
            raise RefusedError(f"{what}. Allow it with strict=False, or add a rule (discreet.engine.layers).")
        warnings.warn(f"{what}. This is exact but slow.", SlowClipping, stacklevel=2)

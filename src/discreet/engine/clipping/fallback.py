"""The slow and obvious way to gradients of single records: one at a time. Right for any model, and the last resort."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import torch
from torch import Tensor, nn

from discreet.engine.clipping.layout import some_records
from discreet.engine.clipping.products import wide

Loss = Callable[[nn.Module, dict[str, Tensor]], Tensor]
"""One loss for each record of a batch, each depending on its own record only."""


def gradients(value: Tensor, parameters: Iterable[Tensor], *, again: bool = False) -> list[Tensor]:
    """The gradient of a number; the parameters' own `.grad` is left alone. `again` keeps the graph for another call.

    By `backward` and not by `torch.autograd.grad`, which re-entrant gradient checkpointing does not support.
    """
    parameters = list(parameters)
    before = [parameter.grad for parameter in parameters]
    try:
        for parameter in parameters:
            parameter.grad = None
        if value.requires_grad:
            torch.autograd.backward(value, retain_graph=again)
        return [_dense(parameter) for parameter in parameters]
    finally:
        for parameter, grad in zip(parameters, before, strict=True):
            parameter.grad = grad


def each_record(
    model: nn.Module, batch: Mapping[str, Tensor], loss: Loss, parameters: Iterable[Tensor]
) -> Iterator[tuple[Tensor, list[Tensor]]]:
    """The loss of each record and its gradient, parameter by parameter."""
    parameters = list(parameters)
    for record in range(len(next(iter(batch.values())))):
        value = loss(model, some_records(batch, [record])).sum()
        yield value.detach(), gradients(value, parameters)


def _dense(parameter: Tensor) -> Tensor:
    grad = parameter.grad
    if grad is None:
        return torch.zeros_like(wide(parameter.detach()))
    return wide(grad.to_dense() if grad.is_sparse else grad)

"""Models wrapped for several processes: DDP unwrapped, FSDP2 gathered for the clipping and sharded for the optimizer.

    model = unwrapped(model, group.size) # DDP's own sum of gradients would be neither clipped nor noised
    with unsharded(model):               # FSDP2: whole, ordinary parameters
        backward.add(batch, sums)
    parameter.grad = like_parameter(sums[name], parameter)               # each process keeps its part

A record's norm needs its whole gradient, so an FSDP2 model is whole on every process while gradients are clipped:
weights and clipped sums take the memory of one process alone, and only the optimizer's state is divided. Sharding that
leaves no process with a whole layer (tensor parallel), and FSDP's first version, are refused.

Sharp edge. `unsharded` turns off FSDP2's own resharding after forward and backward and its sum of gradients, for good.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn

from discreet.errors import RefusedError, SettingError


def unwrapped(model: nn.Module, processes: int) -> nn.Module:
    """The model inside `DistributedDataParallel`; a model sharded in a way the clipping cannot follow is refused.

    `processes` is the size of the group that trains it: a model wrapped for others as well would miss their share.
    """
    inner: nn.Module | None = model.module if isinstance(model, nn.parallel.DistributedDataParallel) else None
    if (inner is not None or is_sharded(model)) and dist.get_world_size() != processes:
        raise SettingError(
            f"The model is wrapped for {dist.get_world_size()} processes and trained by {processes}; "
            "pass group=discreet.engine.distributed.joined()."
        )
    if inner is not None:
        return unwrapped(inner, processes)
    for name, module in model.named_modules():
        if isinstance(module, _kind("fsdp", "FullyShardedDataParallel")):
            raise RefusedError(
                f"{name or 'The model'} is wrapped in FullyShardedDataParallel, whose flat parameters hide the layers; "
                "shard it with torch.distributed.fsdp.fully_shard, or leave it whole."
            )
    if not isinstance(model, _kind("fsdp", "FSDPModule")):
        _refuse_tensor_parallel(model)
    return model


def is_sharded(model: nn.Module) -> bool:
    return bool(_parts(model))


@contextmanager
def unsharded(model: nn.Module) -> Iterator[None]:
    """Within, the parameters are whole and plain on every process; all processes must enter together."""
    parts = _parts(model)
    for part in parts:
        part.set_reshard_after_forward(False, recurse=False)
        part.set_reshard_after_backward(False, recurse=False)
        part.set_requires_gradient_sync(False, recurse=False)
        part.unshard()
    try:
        if parts:
            _refuse_tensor_parallel(model)
        yield
    finally:
        for part in parts:
            part.reshard()


def like_parameter(tensor: Tensor, parameter: Tensor) -> Tensor:
    """A whole tensor in the type and the sharding of a parameter; nothing is sent, every process has the whole."""
    tensor = tensor.to(parameter.dtype)
    if not isinstance(parameter, _kind("tensor", "DTensor")):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor, parameter.device_mesh, parameter.placements, src_data_rank=None)


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor that may be sharded; then all processes must ask for it together."""
    if not isinstance(tensor, _kind("tensor", "DTensor")):
        return tensor
    gathered: Tensor = tensor.full_tensor()
    return gathered


def _parts(model: nn.Module) -> list[Any]:
    return [module for module in model.modules() if isinstance(module, _kind("fsdp", "FSDPModule"))]


def _refuse_tensor_parallel(model: nn.Module) -> None:
    """Refuses parameters that are in parts although FSDP2 has gathered all it knows of."""
    for name, parameter in model.named_parameters():
        if isinstance(parameter, _kind("tensor", "DTensor")):
            raise RefusedError(
                f"{name} is sharded, but not by fully_shard on the whole model; call "
                "torch.distributed.fsdp.fully_shard(model). Tensor parallel layers cannot be clipped: no process has a "
                "record's whole gradient."
            )


def _kind(home: str, name: str) -> Any:
    """A class of `torch.distributed`, or no class where nobody has imported it: nothing can be an instance of it then,
    and importing it takes a second."""
    module = sys.modules.get(f"torch.distributed.{home}")
    return getattr(module, name, ())

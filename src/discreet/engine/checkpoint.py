"""Checkpoints that survive a kill at any moment: safetensors and JSON, whole or not at all, never pickle.

A checkpoint is a tensor file and `state.json`, which names it. The tensors are on disk before the state that names
them, and the old tensors go only after that, so a crash leaves the old checkpoint or the new one.

What is sharded over processes is written whole, so any number of processes can go on from it: gathering it
(`snapshot`) takes all processes, writing it one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from discreet.engine.shards import like_parameter, whole
from discreet.errors import RunError
from discreet.files import read_json, whole_binary, write_json


class Snapshot(NamedTuple):
    """Weights and optimizer at one moment; tensors are shared with the model where it is not sharded."""

    tensors: dict[str, Tensor]
    numbers: dict[str, dict[str, Any]]


def snapshot(model: nn.Module, *optimizers: torch.optim.Optimizer) -> Snapshot:
    """What a checkpoint holds; a sharded model's processes must all call this together."""
    tensors = {f"model.{name}": whole(value) for name, value in weights(model).items()}
    numbers: dict[str, dict[str, Any]] = {}
    for optimizer, first in _numbered(optimizers):
        for index, state in optimizer.state_dict()["state"].items():
            for key, value in state.items():
                if isinstance(value, Tensor):
                    tensors[f"optimizer.{first + index}.{key}"] = whole(value).contiguous()
                else:
                    numbers.setdefault(str(first + index), {})[key] = value
    return Snapshot(tensors, numbers)


def _numbered(optimizers: Sequence[torch.optim.Optimizer]) -> Iterator[tuple[torch.optim.Optimizer, int]]:
    """Each optimizer with the number of its first parameter, counted through all of them."""
    first = 0
    for optimizer in optimizers:
        yield optimizer, first
        first += sum(len(group["params"]) for group in optimizer.param_groups)


def save_checkpoint(
    folder: Path, progress: Mapping[str, Any], model: nn.Module, *optimizers: torch.optim.Optimizer
) -> None:
    """Writes how far training has come, the model and its optimizers."""
    write_snapshot(folder, snapshot(model, *optimizers), progress)


def write_snapshot(folder: Path, taken: Snapshot, progress: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = f"step-{progress['step']:09d}.safetensors"
    if name == _tensors_in(folder):  # two checkpoints within one step: never overwrite what the state names
        name = f"step-{progress['step']:09d}-more.safetensors"
    with whole_binary(folder / name) as out:
        out.write(save(taken.tensors))
    write_json(folder / "state.json", {"tensors": name, "optimizer": taken.numbers, "progress": dict(progress)})
    for old in folder.glob("step-*.safetensors"):
        if old.name != name:
            old.unlink()


def _tensors_in(folder: Path) -> str | None:
    """The tensor file that the folder's checkpoint is made of."""
    return read_json(folder / "state.json")["tensors"] if (folder / "state.json").is_file() else None


def load_checkpoint(folder: Path, model: nn.Module, *optimizers: torch.optim.Optimizer) -> dict[str, Any] | None:
    """Puts model and optimizers back as they were; None where there is no checkpoint."""
    if not (folder / "state.json").is_file():
        return None
    try:
        state = read_json(folder / "state.json")
        tensors = load_file(folder / state["tensors"])
    except (OSError, json.JSONDecodeError, SafetensorError, KeyError) as error:
        raise RunError(f"{folder}: the checkpoint cannot be read ({error}); start the run afresh.") from error
    put_weights(model, {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")})
    restored: dict[int, dict[str, Any]] = {int(index): dict(n) for index, n in state["optimizer"].items()}
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".", 2)
            restored.setdefault(int(index), {})[key] = tensor
    for optimizer, first in _numbered(optimizers):
        _restore(optimizer, first, restored)
    progress: dict[str, Any] = state["progress"]
    return progress


def _restore(optimizer: torch.optim.Optimizer, first: int, stored: Mapping[int, Mapping[str, Any]]) -> None:
    """Gives an optimizer its own part of what is stored."""
    own: dict[int, dict[str, Any]] = {}
    for index, parameter in enumerate(p for group in optimizer.param_groups for p in group["params"]):
        for key, value in stored.get(first + index, {}).items():
            sharded = isinstance(value, Tensor) and value.shape == parameter.shape
            own.setdefault(index, {})[key] = like_parameter(value, parameter) if sharded else value
    optimizer.load_state_dict({"state": own, "param_groups": optimizer.state_dict()["param_groups"]})


def save_weights(path: Path, model: nn.Module) -> None:
    with whole_binary(path) as out:
        out.write(save(weights(model)))


def load_weights(path: Path, model: nn.Module) -> None:
    put_weights(model, load_file(path))


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Parameters (tied ones once) and buffers by name."""
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: value.detach().contiguous() for name, value in named}


def put_weights(model: nn.Module, values: Mapping[str, Tensor]) -> None:
    own = weights(model)
    if set(own) != set(values) or any(own[name].shape != values[name].shape for name in own):
        raise RunError("The checkpoint belongs to another model than the recipe describes.")
    with torch.no_grad():
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            value.copy_(like_parameter(values[name], value))

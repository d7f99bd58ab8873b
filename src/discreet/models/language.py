"""Any causal language model, seen as two parts: hidden states, and an output layer that turns them into tokens.

Keeping the parts apart lets training fuse the output layer with the loss, and lets evaluation score long records
without ever holding all their logits.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from discreet.errors import RunError, SettingError
from discreet.models.adapters import inner, plain_model
from discreet.models.lstm import LSTMConfig, LSTMLanguageModel
from discreet.models.quiet import quiet_transformers
from discreet.registry import Registry, nearest

MODELS: Registry[Callable[..., nn.Module]] = Registry("model", "discreet.models", "discreet.models")
"""Name -> function of the vocabulary size and keyword settings that makes a fresh model."""

ROWS_AT_ONCE = 2048
"""How many positions are turned into logits at a time when scoring: bounds memory whatever the record's length."""


class Output(NamedTuple):
    """What the output layer is made of."""

    weight: Tensor
    bias: Tensor | None


class Scores(NamedTuple):
    """How a model did at each position: minus log-probability of the target, and whether it was the first choice."""

    loss: Tensor
    first_choice: Tensor


@MODELS.register("lstm")
def lstm(
    vocabulary: int, embedding: int = 200, hidden: int = 200, layers: int = 1, tied: bool = False, dropout: float = 0.2
) -> nn.Module:
    """An LSTM language model with fresh weights."""
    config = LSTMConfig(
        vocab_size=vocabulary,
        embedding_size=embedding,
        hidden_size=hidden,
        num_hidden_layers=layers,
        tie_word_embeddings=tied,
        dropout=dropout,
    )
    return LSTMLanguageModel(config)


@MODELS.register("gpt")
def gpt(
    vocabulary: int, width: int = 256, layers: int = 4, heads: int = 4, context: int = 512, dropout: float = 0.0
) -> nn.Module:
    """A GPT-2-class transformer with fresh weights: tied embeddings, learned positions."""
    from transformers import GPT2Config, GPT2LMHeadModel

    if width % heads:
        raise SettingError(f"The width of a gpt is a multiple of its heads, and {width} is not one of {heads}.")
    config = GPT2Config(
        vocab_size=vocabulary,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        n_positions=context,
        activation_function="gelu_pytorch_tanh",  # GPT-2's own, in one kernel
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        bos_token_id=None,
        eos_token_id=None,
    )
    return GPT2LMHeadModel(config)  # type: ignore[no-any-return]


def new_model(name: str, vocabulary: int, settings: Mapping[str, Any], seed: int) -> nn.Module:
    """A fresh model of a registered kind; the same seed gives the same weights."""
    make = MODELS[name]
    known = set(make.__annotations__) - {"vocabulary", "return"}
    for key in settings:
        if key not in known:
            raise SettingError(f"The model '{name}' has no setting '{key}'; {nearest(key, known)}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make(vocabulary, **settings)


def load_model(folder: Path) -> nn.Module:
    """A causal language model from a folder written by `save_pretrained`, in single precision."""
    from transformers import AutoModelForCausalLM

    if not (folder / "config.json").is_file():
        raise RunError(f"{folder}: there is no model here (config.json is missing).")
    with quiet_transformers():
        model: nn.Module = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return model


def save_model(model: nn.Module, folder: Path) -> None:
    """Writes the folder that `from_pretrained` loads; no wrapper remains."""
    with quiet_transformers():
        plain_model(model).save_pretrained(folder)


def hidden_states(model: nn.Module, input_ids: Tensor, *, own_positions: bool = False) -> Tensor:
    """What the output layer sees at each position. Padding on the right is invisible to a causal model.

    With `own_positions` every row is given position ids, where the model takes any; else it makes one row for all.
    """
    if isinstance(model, LSTMLanguageModel):
        return model.hidden(input_ids)[0]
    base = inner(model).base_model
    more: dict[str, Tensor] = {}
    if own_positions and "position_ids" in signature(base.forward).parameters:
        more["position_ids"] = torch.arange(input_ids.shape[1], device=input_ids.device).expand(input_ids.shape)
    with quiet_transformers():  # it would advise a mask for the padding, which a causal model does not need
        states: Tensor = base(input_ids=input_ids, **more).last_hidden_state
    return states


def output_layer(model: nn.Module) -> Output:
    layer = inner(model).get_output_embeddings()
    return Output(layer.weight, getattr(layer, "bias", None))


@torch.no_grad()
def score(model: nn.Module, input_ids: Tensor, targets: Tensor) -> Scores:
    """Loss and first choice at each position of a batch; positions without a target (-100) score 0."""
    states = hidden_states(model, input_ids).flatten(0, 1)
    weight, bias = output_layer(model)
    flat = targets.flatten()
    rows = (flat >= 0).nonzero().squeeze(1)
    loss = torch.zeros(flat.shape)
    first_choice = torch.zeros(flat.shape, dtype=torch.bool)
    for some in torch.split(rows, ROWS_AT_ONCE):
        logits = torch.nn.functional.linear(states[some], weight, bias).float()
        wanted = flat[some]
        loss[some] = logits.logsumexp(1) - logits.gather(1, wanted[:, None]).squeeze(1)
        first_choice[some] = logits.argmax(1) == wanted
    return Scores(loss.view(targets.shape), first_choice.view(targets.shape))

"""Small models and batches that the tests of the engine share."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from discreet.engine.output_layer import output_loss
from tests.engine.oracle import Batch

WIDTH, LENGTH, RECORDS, WORDS = 6, 5, 4, 11


def squares(model: nn.Module, batch: Batch) -> Tensor:
    """A loss with different gradients everywhere."""
    out: Tensor = model(batch["x"])
    weights = torch.linspace(-1, 2, out[0].numel()).view(out[0].shape)
    return (out * weights + 0.3 * out.square()).flatten(1).sum(1)


def floats(*shape: int) -> Batch:
    return {"x": torch.randn(RECORDS, *shape)}


def ids(*shape: int, words: int = WORDS) -> Batch:
    return {"x": torch.randint(words, (RECORDS, *shape))}


def causal(model: nn.Module, batch: Batch) -> Tensor:
    logits = model(input_ids=batch["x"]).logits[:, :-1]
    targets = batch["x"][:, 1:]
    return nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none").sum(1)


def causal_fused(model: Any, batch: Batch) -> Tensor:
    """The same with the fused output layer, leaving out what `skip` marks."""
    hidden = model.get_decoder()(input_ids=batch["x"]).last_hidden_state
    targets = batch["x"][:, 1:].masked_fill(batch["skip"][:, 1:], -100) if "skip" in batch else batch["x"][:, 1:]
    head = model.get_output_embeddings()
    return output_loss(hidden[:, :-1], head.weight, head.bias, targets).sum(1)


def gpt2(**changes: object) -> GPT2LMHeadModel:
    settings = {"n_layer": 2, "n_embd": 8, "n_head": 2, "vocab_size": WORDS, "n_positions": 16}
    off = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return GPT2LMHeadModel(GPT2Config(**(settings | off | changes))).train()


def llama(**changes: object) -> LlamaForCausalLM:
    settings = {"num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 12, "num_attention_heads": 2}
    sizes = {"vocab_size": WORDS, "max_position_embeddings": 16, "attention_bias": True}
    return LlamaForCausalLM(LlamaConfig(**(settings | sizes | changes))).train()


class Calls(nn.Module):
    """A model made of a function of its layers."""

    def __init__(self, function: Callable[[Any, Tensor], Tensor], **layers: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.function(self, x)
        return out


def linear(d: int = WIDTH, p: int = WIDTH) -> nn.Linear:
    return nn.Linear(d, p)

"""The models, batches and engines that `benchmarks.engine` compares: one whole training step each."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from discreet.engine.allocator import keep_buffers
from discreet.engine.clipping.clipped import ClippedBackward
from discreet.engine.clipping.fallback import each_record
from discreet.engine.ledger import Ledger
from discreet.engine.output_layer import output_loss
from discreet.engine.plan import Plan
from discreet.engine.private import PrivateStep
from discreet.engine.random_bits import Randomness

CLIP, NOISE, RATE = 0.5, 1.0, 1e-4
AT_ONCE = 8192
"""Tokens of a physical batch at most, for plain steps and for ours."""
Batch = dict[str, Tensor]
Step = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Case:
    """One shape of model and batch."""

    kind: str
    layers: int
    width: int
    vocabulary: int
    records: int
    length: int

    @property
    def name(self) -> str:
        return f"{self.kind} {self.layers}x{self.width} V {self.vocabulary} B {self.records} T {self.length}"

    def batch(self) -> Batch:
        random = torch.Generator().manual_seed(1)
        text = torch.randint(self.vocabulary, (self.records, self.length + 1), generator=random)
        return {"ids": text[:, :-1].contiguous(), "targets": text[:, 1:].contiguous()}

    def parts(self) -> list[Batch]:
        """The batch in physical batches; one, unless it is large."""
        rows = max(1, AT_ONCE // self.length)
        ids, targets = (torch.split(tensor, rows) for tensor in self.batch().values())
        return [{"ids": own, "targets": wanted} for own, wanted in zip(ids, targets, strict=True)]

    def model(self) -> Any:
        torch.manual_seed(0)
        return {"gpt2": _gpt2, "lstm": _Lstm, "lora": _lora}[self.kind](self).train()


class _Lstm(nn.Module):
    """Embedding, LSTM, output layer: what one writes first."""

    def __init__(self, case: Case, lstm: type[nn.Module] = nn.LSTM) -> None:
        super().__init__()
        self.embedding = nn.Embedding(case.vocabulary, case.width)
        self.lstm = lstm(case.width, case.width, num_layers=case.layers, batch_first=True)
        self.output = nn.Linear(case.width, case.vocabulary)

    def hidden(self, ids: Tensor) -> Tensor:
        hidden: Tensor = self.lstm(self.embedding(ids))[0]
        return hidden

    def forward(self, ids: Tensor) -> Tensor:
        logits: Tensor = self.output(self.hidden(ids))
        return logits


def _gpt2(case: Case) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_layer": case.layers, "n_embd": case.width, "n_head": case.width // 64, "vocab_size": case.vocabulary}
    off = {
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "use_cache": False,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    return GPT2LMHeadModel(GPT2Config(**sizes, **off, n_positions=case.length))


def _lora(case: Case) -> Any:
    import peft
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"num_hidden_layers": case.layers, "hidden_size": case.width, "intermediate_size": 8 * case.width // 3}
    heads = {"num_attention_heads": case.width // 64, "vocab_size": case.vocabulary, "use_cache": False}
    base = LlamaForCausalLM(LlamaConfig(**sizes, **heads, max_position_embeddings=case.length))
    return peft.get_peft_model(base, peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], init_lora_weights=False))


def losses(model: Any, batch: Batch) -> Tensor:
    """One loss for each record, the obvious way."""
    out = model(batch["ids"])
    logits = out if isinstance(out, Tensor) else out.logits
    return F.cross_entropy(logits.transpose(1, 2), batch["targets"], reduction="none").mean(1)


def fused_losses(model: Any, batch: Batch) -> Tensor:
    """The same with our output layer."""
    if isinstance(model, _Lstm):
        hidden, head = model.hidden(batch["ids"]), model.output
    else:
        base = getattr(model, "base_model", model)
        base = base.model if hasattr(base, "model") and hasattr(base.model, "lm_head") else model
        hidden, head = base.get_decoder()(input_ids=batch["ids"]).last_hidden_state, base.lm_head
    return output_loss(hidden, head.weight, head.bias, batch["targets"]).mean(1)


def _adamw(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], RATE, fused=True)


def plain(case: Case, loss: Callable[[Any, Batch], Tensor] = losses) -> Step:
    """Forward, backward and update without privacy."""
    model, parts = case.model(), case.parts()
    optimizer = _adamw(model)

    def step() -> None:
        optimizer.zero_grad()
        for part in parts:
            torch.autograd.backward(loss(model, part).sum() / case.records)
        optimizer.step()

    return step


def best_plain(case: Case) -> Step:
    """Without privacy, but with kept memory and our output layer."""
    keep_buffers()
    return plain(case, fused_losses)


def discreet(case: Case, mode: str = "fast") -> Step:
    """Ours, the whole private step: clipped sum, a line in the ledger, noise, update."""
    keep_buffers()
    model, parts = case.model(), case.parts()
    population = 1000 * case.records
    plan = Plan(rate=1e-3, steps=10**6, noise=NOISE, clip=CLIP, neighbours="replace", population=population)
    folder = TemporaryDirectory(prefix="discreet-bench-")
    ledger = Ledger(Path(folder.name, "ledger.jsonl"))
    private = PrivateStep(model, _adamw(model), fused_losses, plan, Randomness(mode), ledger, strict=True)
    numbers = count()

    def step() -> None:
        private(next(numbers), parts)
        assert folder.name  # the ledger's folder lives as long as the step

    return step


def clipped_sum(case: Case) -> Step:
    """What the number of records decides: clipping alone, without noise and update."""
    keep_buffers()
    model, parts = case.model(), case.parts()
    backward = ClippedBackward(model, fused_losses, CLIP, strict=True)
    sums = backward.zeros()

    def step() -> None:
        for part in parts:
            backward.add(part, sums)

    return step


def discreet_secure(case: Case) -> Step:
    """The same with noise that may be released."""
    return discreet(case, "secure")


def opacus(case: Case, mode: str = "hooks") -> Step:
    """Opacus 1.6: Conv1D swapped for Linear, position ids for every record, DPLSTM for LSTM; it needs all of them."""
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    model, batch = _for_opacus(case), case.batch()
    wrapped = GradSampleModule(model, force_functorch=mode == "functorch")
    optimizer = DPOptimizer(_adamw(model), noise_multiplier=NOISE, max_grad_norm=CLIP, expected_batch_size=case.records)

    def step() -> None:
        optimizer.zero_grad()
        torch.autograd.backward(_opacus_losses(wrapped, case, batch).mean())
        optimizer.step()

    return step


def opacus_functorch(case: Case) -> Step:
    """Its other way to gradients per record."""
    return opacus(case, "functorch")


def opacus_ghost(case: Case) -> Step:
    """Its ghost clipping, with two backward passes; it refuses tied weights, so the output layer has its own."""
    from opacus.grad_sample import GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

    model, batch = _for_opacus(case), case.batch()
    if case.kind == "gpt2":
        model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().clone())
    wrapped = GradSampleModuleFastGradientClipping(model, max_grad_norm=CLIP, use_ghost_clipping=True)
    optimizer = DPOptimizerFastGradientClipping(
        _adamw(model), noise_multiplier=NOISE, max_grad_norm=CLIP, expected_batch_size=case.records
    )

    def step() -> None:
        optimizer.zero_grad()
        DPTensorFastGradientClipping(wrapped, optimizer, _opacus_losses(wrapped, case, batch)).backward()
        optimizer.step()

    return step


def _for_opacus(case: Case) -> Any:
    if case.kind != "lstm":
        return _linear_instead_of_conv1d(case.model())
    from opacus.layers import DPLSTM

    torch.manual_seed(0)
    return _Lstm(case, DPLSTM)


def _opacus_losses(wrapped: Any, case: Case, batch: Batch) -> Tensor:
    if case.kind == "lstm":
        logits = wrapped(batch["ids"])
    else:
        positions = torch.arange(case.length).repeat(case.records, 1)
        logits = wrapped(batch["ids"], position_ids=positions).logits
    return F.cross_entropy(logits.transpose(1, 2), batch["targets"], reduction="none").mean(1)


def _linear_instead_of_conv1d(model: nn.Module) -> nn.Module:
    from transformers.pytorch_utils import Conv1D

    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, Conv1D):
                linear = nn.Linear(child.nx, child.nf)
                linear.weight, linear.bias = nn.Parameter(child.weight.detach().t().contiguous()), child.bias
                setattr(parent, name, linear)
    return model


ENGINES: dict[str, Callable[[Case], Step]] = {
    "plain": plain,
    "best plain": best_plain,
    "discreet": discreet,
    "secure": discreet_secure,
    "Opacus": opacus,
    "functorch": opacus_functorch,
    "ghost": opacus_ghost,
    "clipped sum": clipped_sum,
}
COMPARED = ["plain", "best plain", "discreet", "secure", "Opacus", "functorch", "ghost"]


def error(case: Case) -> float:
    """The relative error of our clipped sum against a loop over single records."""
    model, batch = case.model(), case.batch()
    trained = {p: name for name, p in model.named_parameters() if p.requires_grad}
    backward = ClippedBackward(model, fused_losses, CLIP, strict=True)
    got = backward.zeros()
    backward.add(batch, got)
    want = {name: torch.zeros_like(total) for name, total in got.items()}
    for _, grads in each_record(model, batch, losses, trained):
        norm = float(torch.stack([grad.double().square().sum() for grad in grads]).sum().sqrt())
        for name, grad in zip(want, grads, strict=True):
            want[name].add_(grad, alpha=min(1.0, CLIP / norm))
    apart = sum(float((got[name] - want[name]).double().square().sum()) for name in want)
    return float((apart / sum(float(total.double().square().sum()) for total in want.values())) ** 0.5)

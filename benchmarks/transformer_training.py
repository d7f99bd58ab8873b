"""Training speed of transformers models against a plain PyTorch loop over the very same model, interleaved.

    python -m benchmarks.transformer_training

Both use AdamW and gradient clipping on the same batches; a step is forward, backward and update. The plain loop calls
the model with labels, as one does, in single precision; ours is timed in single precision too, and with what
`training.precision: auto` takes on this processor. Each has a process of its own, because keeping memory is a matter of
the whole process, and they take turns. Reported are medians, tokens a second and their ratio.
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack

import torch
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

from discreet.engine.allocator import keep_buffers
from discreet.engine.plain import make_optimizer, update
from discreet.engine.precision import resolve
from discreet.engine.settings import TrainingSettings
from discreet.mechanisms.language import language_loss
from discreet.models.language import new_model
from discreet.models.pretrained import load_causal

Step = Callable[[], None]


def gpt() -> nn.Module:
    return new_model("gpt", 8192, {}, seed=0).train()


def llama() -> nn.Module:
    sizes = {"hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 4, "num_attention_heads": 4}
    return LlamaForCausalLM(LlamaConfig(**sizes, vocab_size=8192, max_position_embeddings=512)).train()  # type: ignore[no-any-return]


def mini() -> nn.Module:
    return load_causal("mini").float().train()


MODELS = {"mini": mini, "gpt 4x256": gpt, "Llama class 4x256": llama}
SHAPES = [(16, 128), (16, 512)]
KINDS = ("plain", "float32", "auto")


def plain_step(model: nn.Module, ids: Tensor) -> Step:
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        torch.autograd.backward(model(input_ids=ids, labels=ids).loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def our_step(model: nn.Module, ids: Tensor, precision: str) -> Step:
    """The step that `discreet train` makes."""
    optimizer = make_optimizer(model, TrainingSettings(learning_rate=1e-4))
    batch = {"input_ids": ids[:, :-1].contiguous(), "targets": ids[:, 1:].contiguous()}
    found = resolve(precision)

    def step() -> None:
        update(model, batch, language_loss, optimizer, 1.0, found)

    return step


def begin(kind: str, model: str, records: int, length: int) -> None:
    """Makes the step of a process of its own; only ours keeps memory."""
    ids = torch.randint(0, 8192, (records, length), generator=torch.Generator().manual_seed(0))
    if kind == "plain":
        _own["step"] = plain_step(MODELS[model](), ids)
    else:
        keep_buffers()
        _own["step"] = our_step(MODELS[model](), ids, kind)


def timed() -> float:
    began = time.perf_counter()
    _own["step"]()
    return time.perf_counter() - began


_own: dict[str, Step] = {}


def speeds(model: str, records: int, length: int, repetitions: int) -> list[float]:
    """Tokens a second of each kind, in processes that take turns."""
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        workers = [
            stack.enter_context(ProcessPoolExecutor(1, context, begin, (kind, model, records, length)))
            for kind in KINDS
        ]
        times = [[worker.submit(timed).result() for worker in workers] for _ in range(repetitions + 2)]
    return [records * length / statistics.median(own) for own in zip(*times[2:], strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=9)
    repetitions = parser.parse_args().repetitions
    heads = ["model", "batch x length", "plain loop, tokens/s", "ours", "ours, `auto`", "ours / plain", "auto / plain"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for model in MODELS:
        for records, length in SHAPES:
            plain, ours, auto = speeds(model, records, length, repetitions)
            print(
                f"| {model} | {records} x {length} | {plain:,.0f} | {ours:,.0f} | {auto:,.0f} | {ours / plain:.2f} "
                f"| {auto / plain:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

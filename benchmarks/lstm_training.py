"""Training speed of the LSTM language model against a straightforward `torch.nn.LSTM` loop, interleaved.

    python -m benchmarks.lstm_training

Both train the same model (one layer, 200/200) with AdamW and gradient clipping on the same batches; a step is forward,
backward and update. Reported are medians over interleaved repetitions and their ratio.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from discreet.engine.allocator import keep_buffers
from discreet.engine.plain import make_optimizer
from discreet.engine.settings import TrainingSettings
from discreet.mechanisms.language import language_loss
from discreet.models.language import new_model

SHAPES = [(8192, 32, 35), (8192, 32, 70), (33278, 32, 35), (1024, 16, 128)]


class Straightforward(nn.Module):
    """What one writes first."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 200)
        self.dropout = nn.Dropout(0.2)
        self.lstm = nn.LSTM(200, 200, batch_first=True)
        self.output = nn.Linear(200, vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        states, _ = self.lstm(self.dropout(self.embedding(ids)))
        logits: Tensor = self.output(self.dropout(states))
        return logits


def plain_step(vocabulary: int, ids: Tensor, targets: Tensor) -> Callable[[], None]:
    model = Straightforward(vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.0, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def our_step(vocabulary: int, ids: Tensor, targets: Tensor) -> Callable[[], None]:
    model = new_model("lstm", vocabulary, {}, seed=0).train()
    optimizer = make_optimizer(model, TrainingSettings())

    def step() -> None:
        total, count = language_loss(model, {"input_ids": ids, "targets": targets})
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(total / count)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def run(repetitions: int = 15) -> list[dict[str, float]]:
    """Milliseconds a step of both, for each shape."""
    keep_buffers()
    rows = []
    for vocabulary, batch, length in SHAPES:
        ids, targets = torch.randint(0, vocabulary, (2, batch, length), generator=torch.Generator().manual_seed(0))
        steps = {"plain": plain_step(vocabulary, ids, targets), "ours": our_step(vocabulary, ids, targets)}
        times: dict[str, list[float]] = {name: [] for name in steps}
        for repetition in range(repetitions + 3):
            for name, step in steps.items():
                began = time.perf_counter()
                step()
                if repetition >= 3:
                    times[name].append(1000 * (time.perf_counter() - began))
        plain, ours = (statistics.median(times[name]) for name in ("plain", "ours"))
        rows.append({"vocabulary": vocabulary, "batch": batch, "length": length, "plain": plain, "ours": ours})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=15)
    rows = run(parser.parse_args().repetitions)
    print(
        "| vocabulary | batch | length | plain nn.LSTM loop, ms | ours, ms | ours / plain |\n|---|---|---|---|---|---|"
    )
    for row in rows:
        shape = f"| {row['vocabulary']:.0f} | {row['batch']:.0f} | {row['length']:.0f} "
        print(f"{shape}| {row['plain']:.1f} | {row['ours']:.1f} | {row['ours'] / row['plain']:.2f} |")


if __name__ == "__main__":
    main()

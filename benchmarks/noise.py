"""Seconds per 10^7 coordinates of noise, and what a step pays for coins and ledger.

    python -m benchmarks.noise

Each source adds noise to the gradient buffers of a GPT-2 class model (6 layers, 384 wide, vocabulary 8192: 13.9 million
coordinates in 76 buffers). Repetitions are interleaved. Reported are the best wall time and the best processor time: on
a machine with other work the second is the one to trust, divided by the threads.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from discreet.engine.allocator import keep_buffers
from discreet.engine.ledger import Ledger
from discreet.engine.noise import Noise
from discreet.engine.plan import Plan
from discreet.engine.random_bits import Randomness
from discreet.engine.sampling import PoissonSampler

LAYER = [
    (384,),
    (384,),
    (384, 1152),
    (1152,),
    (384, 384),
    (384,),
    (384,),
    (384,),
    (384, 1536),
    (1536,),
    (1536, 384),
    (384,),
]
SHAPES = [(8192, 384), (256, 384), *6 * LAYER, (384,), (384,)]


def sources(buffers: list[Tensor]) -> dict[str, Callable[[], None]]:
    def torch_normal() -> None:
        for buffer in buffers:
            buffer.normal_(0.0, 1.0)

    found: dict[str, Callable[[], None]] = {"torch.normal_, 1 thread": torch_normal}
    for threads in (1, 2):
        for name, randomness in (
            ("fast", Randomness("fast")),
            ("secure, AES-256-CTR", Randomness(cipher="aes-256-ctr")),
            ("secure, ChaCha-20", Randomness(cipher="chacha-20")),
        ):
            noise = Noise(randomness, threads=threads)
            label = f"{name}, {threads} thread{'s' * (threads > 1)}"
            found[label] = lambda noise=noise: noise.add_(buffers, 1.0)  # type: ignore[misc]
    return found


def steps(folder: Path) -> dict[str, Callable[[], None]]:
    """What else a step pays for."""
    plan = Plan(rate=0.001, steps=10**6, noise=1.0, neighbours="replace")
    ledger, coins = Ledger(folder / "ledger.jsonl"), PoissonSampler(10**6, 0.001, Randomness())
    ledger.begin(plan, draw=None)
    return {
        "coins of 10^6 units": lambda: (coins.units(0), None)[1],
        "line of the ledger, fsynced": lambda: ledger.spend(plan, ledger.spent(plan)),
    }


def measure(work: dict[str, Callable[[], None]], repetitions: int) -> dict[str, tuple[float, float]]:
    """The best wall and processor seconds of each."""
    best = dict.fromkeys(work, (math.inf, math.inf))
    for _ in range(repetitions + 1):
        for name, run in work.items():
            wall, processor = time.perf_counter(), time.process_time()
            run()
            spent = (time.perf_counter() - wall, time.process_time() - processor)
            best[name] = (min(best[name][0], spent[0]), min(best[name][1], spent[1]))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    repetitions = parser.parse_args().repetitions
    torch.set_num_threads(1)
    keep_buffers()
    buffers = [torch.zeros(shape) for shape in SHAPES]
    scale = 1e7 / sum(buffer.numel() for buffer in buffers)
    print("| noise | seconds per 10^7 | processor seconds per 10^7 |\n|---|---|---|")
    for name, (wall, processor) in measure(sources(buffers), repetitions).items():
        print(f"| {name} | {wall * scale:.3f} | {processor * scale:.3f} |")
    print("\n| per step | milliseconds |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, (wall, _) in measure(steps(Path(folder)), 5 * repetitions).items():
            print(f"| {name} | {1000 * wall:.2f} |")


if __name__ == "__main__":
    main()

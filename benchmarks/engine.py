"""What private training costs: one whole step of ours, of plain PyTorch and of Opacus, in the same run.

    python -m benchmarks.engine                      # all shapes
    python -m benchmarks.engine --quick              # one transformer and one LSTM
    python -m benchmarks.engine --only lstm --threads 1 --repetitions 15
    python -m benchmarks.engine --only none          # the cost per token alone
    python -m benchmarks.engine --only none --per-token "B 4 "

A step is forward, backward and a (privatised) AdamW update. Every engine lives in a process of its own, because keeping
memory is a matter of the whole process. The processes take turns, one step each; `ms` is the median step, `time` the
median over the rounds of a step's time over that of the plain step in the same round, which a machine that slows down
for a while disturbs least, and `ours` that ratio over the one of `discreet`. Memory is the peak of the resident set
above what the process had, all libraries imported, before its model, over that of the plain step. The error is that of
our clipped sum against a loop over single records, on the same model and batch.

A second table has the cost per token for batches of 4 to 512 records: of the plain step, of the best plain one, of
ours, and of our clipped sum alone. Large batches are cut into physical ones of 8,192 tokens, as training does, and of
small ones an engine makes as many steps in its turn as come to 8,192 tokens: a turn that were one small step would
begin with what the other engines left in the caches, which no training does. Noise and update cost the same however
many records there are, so small batches pay more for them per token.

`plain` is the loop one writes first, `best plain` the same with kept memory and our output layer, `discreet` ours with
the fast generator, `secure` ours with the one for releases. `Opacus` is Opacus with hooks, `functorch` and `ghost` are
its other two modes; its ghost clipping refuses tied weights and is given a model whose output layer has its own.
"""

import argparse
import importlib
import multiprocessing
import statistics
import time
import warnings
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import psutil
import torch

from benchmarks.engine_cases import AT_ONCE, COMPARED, ENGINES, Case, error

CASES = [
    Case("gpt2", 6, 384, 8192, 8, 128),
    Case("gpt2", 6, 384, 8192, 8, 256),
    Case("gpt2", 12, 768, 50257, 8, 128),
    Case("gpt2", 12, 768, 50257, 8, 256),
    Case("lstm", 1, 200, 8192, 32, 35),
    Case("lstm", 1, 200, 8192, 32, 70),
    Case("lstm", 1, 200, 33278, 32, 35),
    Case("lstm", 1, 200, 33278, 32, 70),
    Case("lora", 8, 576, 8192, 8, 128),
]
QUICK = [CASES[0], CASES[4]]
FLAT = [
    Case(kind, layers, width, vocabulary, records, length)
    for kind, layers, width, vocabulary, length in (("lstm", 1, 200, 8192, 35), ("gpt2", 6, 384, 8192, 128))
    for records in (4, 16, 64, 256, 512)
]
"""Two shapes of the first table, more and more records."""
FLAT_ENGINES = ["plain", "best plain", "discreet", "clipped sum"]
WARMUP, AT_LEAST = 3, 4
PAST_CHECKS = 5
"""Steps after which ours has held its rules against autograd at steps 1, 2, 3 and 5; the next time is step 9."""
LARGE = 5 * 10**6
"""Weights in matrices above which the engines do not fit into memory together and few steps warm them up."""
LONG = 10**4
"""Tokens of a batch above which one step warms up (it has many physical batches) and two rounds are enough."""
LIBRARIES = ["transformers", "peft", "opacus", "discreet.engine.normals"]


class Figures(NamedTuple):
    """One row of the table."""

    engine: str
    seconds: float
    ratio: float
    """To the first engine of the table."""
    megabytes: float


def worker(pipe: Connection, case: Case, engine: str, threads: int) -> None:
    """Builds the engine, then makes as many steps as each message says until it is told to stop."""
    warnings.simplefilter("ignore")  # Opacus has much to say about hooks
    torch.set_num_threads(threads)
    for library in LIBRARIES:
        importlib.import_module(library)
    before = psutil.Process().memory_info().rss
    step = ENGINES[engine](case)
    for _ in range(_warmup(case, engine)):
        step()
    pipe.send(None)
    while steps := pipe.recv():
        start = time.perf_counter()
        for _ in range(steps):
            step()
        pipe.send((time.perf_counter() - start) / steps)
    pipe.send((_peak() - before) / 2**20)


def _peak() -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def _large(case: Case) -> bool:
    return case.layers * case.width**2 >= LARGE


def _long(case: Case) -> bool:
    return case.records * case.length > LONG


def _warmup(case: Case, engine: str) -> int:
    if _long(case):
        return 1
    if engine in ("discreet", "secure"):
        return PAST_CHECKS
    return 1 if _large(case) else WARMUP


def compare(case: Case, engines: list[str], repetitions: int, threads: int, seconds: float) -> list[Figures]:
    """All engines in turn, or, where their models would not fit into memory together, each in turn with the first."""
    if not _large(case):
        return measure(case, engines, repetitions, threads, seconds)
    rows: dict[str, Figures] = {}
    for other in engines[1:]:
        for row in measure(case, [engines[0], other], repetitions, threads, seconds):
            rows.setdefault(row.engine, row)
    return list(rows.values())


def measure(
    case: Case, engines: list[str], repetitions: int, threads: int, seconds: float, steps: int = 1
) -> list[Figures]:
    """Medians of interleaved turns of so many steps: so many rounds, or fewer where they take longer than so many
    seconds."""
    context = multiprocessing.get_context("spawn")
    pipes: dict[str, Any] = {}
    processes = []
    for engine in engines:
        pipes[engine], theirs = context.Pipe()
        processes.append(context.Process(target=worker, args=(theirs, case, engine, threads), daemon=True))
        processes[-1].start()
        theirs.close()  # a worker that dies is an error here, not a wait for ever
        pipes[engine].recv()  # one after the other: warming up together would disturb both
    times: dict[str, list[float]] = {engine: [] for engine in engines}
    start = time.perf_counter()
    for round_ in range(repetitions):
        if round_ >= (2 if _long(case) else AT_LEAST) and time.perf_counter() - start > seconds:
            break
        for engine, pipe in pipes.items():
            pipe.send(steps)
            times[engine].append(pipe.recv())
    figures = []
    for engine, pipe in pipes.items():
        pipe.send(0)
        ratios = [own / first for own, first in zip(times[engine], times[engines[0]], strict=True)]
        figures.append(Figures(engine, statistics.median(times[engine]), statistics.median(ratios), pipe.recv()))
    for process in processes:
        process.join()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one transformer and one LSTM, few repetitions")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--per-token", default="", help="cases of the second table whose name contains this")
    parser.add_argument("--engines", nargs="*", default=COMPARED, choices=list(ENGINES))
    parser.add_argument("--repetitions", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=45.0, help="for each case, after the first four rounds")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    repetitions = options.repetitions or (5 if options.quick else 15)
    print(f"torch {torch.__version__}, {options.threads} threads, medians of {repetitions} interleaved steps")
    print(f"{'case':38} {'engine':12} {'ms':>8} {'time':>6} {'ours':>6} {'memory':>7} {'error':>8}")
    for case in QUICK if options.quick else CASES:
        if options.only not in case.name:
            continue
        rows = compare(case, options.engines, repetitions, options.threads, options.seconds)
        first = rows[0]
        ours = next((row.ratio for row in rows if row.engine == "discreet"), float("nan"))
        for row in rows:
            off = f"{error(case):.0e}" if row.engine == "discreet" else ""
            print(
                f"{case.name:38} {row.engine:12} {1000 * row.seconds:8.1f} {row.ratio:6.2f} {row.ratio / ours:6.2f} "
                f"{row.megabytes / first.megabytes:7.2f} {off:>8}",
                flush=True,
            )
    if options.quick or options.only not in ("", "none"):
        return
    engines = [engine for engine in FLAT_ENGINES if engine in (*options.engines, FLAT_ENGINES[-1])]
    print("\nmicroseconds per token\n" + f"{'case':38} " + " ".join(f"{engine:>12}" for engine in engines))
    for case in (case for case in FLAT if options.per_token in case.name):
        tokens = case.records * case.length
        turn = max(1, AT_ONCE // tokens)
        rows = measure(case, engines, repetitions, options.threads, options.seconds / 5, turn)
        each = [1e6 * row.seconds / tokens for row in rows]
        print(f"{case.name:38} " + " ".join(f"{cost:12.1f}" for cost in each), flush=True)


if __name__ == "__main__":
    main()

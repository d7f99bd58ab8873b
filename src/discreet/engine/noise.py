"""Gaussian noise on the clipped sums: one that may be released, and a fast one for experiments.

    noise = noise_of(Randomness())            # or Randomness("fast", seed=7)
    noise.draw_ahead([p.shape for p in sums]) # optional: on other threads while the backward runs
    noise.add_(sums, std=plan.noise_std)      # once per logical step, also when the batch is empty

**Secure** (`SecureNoise`). The low bits of floating-point noise can betray what it was added to (Mironov 2012). Three
things stand against it: the bits come from a cipher (`discreet.engine.random_bits`); a draw is (g1+g2+g3+g4)/2 of four
float64 normals after one that is thrown away, which leaves some 2^159 ways to reach one value (Holohan and Braghin
2021; ACCOUNTING.md section 7); and the sum of gradient and noise is made in float64 and rounded to float32 once, which
hides its last 29 bits. Noise that is rounded *before* it is added does not hide them: what was released minus the sum
would be a float32 number for the true sum and for few others. All this mitigates; the proof is for real-valued noise.

Four draws per coordinate are the larger part of the cost. `draws=1` lets four draws serve four coordinates, through the
orthogonal signs (++++, ++--, +-+-, +--+)/2: each coordinate is still a signed sum of four and the four are still
independent, but whoever saw them in full precision could solve for the draws. They are seen in float32 only, so buffers
of float64 are refused.

Nothing of the secure noise is ever stored. A resumed run takes fresh keys, so its weights differ from those of an
uninterrupted run. That is the point: a stored generator would put the same noise on other gradients when steps are
repeated from a checkpoint, and the difference of two such releases has no noise at all. What was spent before the kill
stays spent (`discreet.engine.ledger`).

**Fast** (`FastNoise`). The noise of a step is a function of seed, step and the sizes of the buffers, however many
threads draw it, so a resumed run equals the uninterrupted one bit for bit (on one kind of processor). float32 with
tails that end near 5.8 standard deviations, and replayable: for experiments.

Sharp edges. An exception inside `add_` leaves some buffers noised and others not: throw them away, the step is spent.
In a distributed run whole sums get noise on one process only; sharded ones on every process, for the fast generator
with the rank as `lane`, or all shards of a step would get the same.
"""

import math
import os
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from discreet.engine.chunks import CHUNK, Chunk, Views, chunks_of, length
from discreet.engine.random_bits import Randomness
from discreet.errors import RunError, SettingError

Doubles = npt.NDArray[np.float64]

_BLOCK = 1 << 14
"""Coordinates summed at a time, so that both operands stay in the cache."""


class NoiseSource(Protocol):
    """Adds Gaussian noise to a step's clipped sums."""

    def add_(self, buffers: Sequence[Tensor], std: float) -> None:
        """Adds independent noise of this standard deviation to every coordinate, in place."""

    def draw_ahead(self, shapes: Iterable[Sequence[int]]) -> None:
        """Starts on the noise of the next `add_`, whose buffers will have these shapes."""

    def describe(self) -> dict[str, Any]:
        """For the guarantee: what the noise was made of."""

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, for `restore`; JSON."""

    def restore(self, state: dict[str, Any]) -> None: ...


def noise_of(randomness: Randomness, *, threads: int | None = None, draws: int = 4, lane: int = 0) -> NoiseSource:
    """The noise that goes with a run's randomness."""
    if randomness.secure:
        return SecureNoise(randomness, threads=threads, draws=draws)
    return FastNoise(randomness, threads=threads, lane=lane)


class SecureNoise:
    """Noise that may be released: float64 sums of four over a cipher, never stored, never replayed."""

    def __init__(
        self, randomness: Randomness, *, threads: int | None = None, draws: int = 4, ahead: float = 0.5
    ) -> None:
        """`ahead` is the share of a step's noise that `draw_ahead` may hold, in float64: one half is as large as one
        set of float32 buffers."""
        if not randomness.secure:
            raise SettingError("Secure noise needs secure randomness; take noise_of(randomness).")
        if draws not in (1, 4):
            raise SettingError(f"Secure noise takes 4 draws per coordinate, or 1 where four are shared, not {draws}.")
        if not 0 <= ahead <= 1:
            raise SettingError(f"The share of noise drawn ahead is between 0 and 1, not {ahead:g}.")
        self.randomness, self.draws, self.ahead = randomness, draws, ahead
        self._pool = _pool(threads)
        self._ready: tuple[list[int], dict[int, Future[Doubles]]] = ([], {})

    def draw_ahead(self, shapes: Iterable[Sequence[int]]) -> None:
        sizes = [math.prod(shape) for shape in shapes]
        self._take([])  # noise drawn for other buffers is of no use
        chunks, room = chunks_of(sizes), self.ahead * sum(sizes)
        futures: dict[int, Future[Doubles]] = {}
        for number, chunk in enumerate(chunks):
            room -= length(chunk)
            if room < 0:
                break
            futures[number] = self._pool.submit(self.normals, length(chunk))
        self._ready = (sizes, futures)

    def add_(self, buffers: Sequence[Tensor], std: float) -> None:
        _check_std(std)
        if self.draws == 1 and any(buffer.dtype == torch.float64 for buffer in buffers):
            raise SettingError("float64 buffers show shared draws in full precision; take draws=4 or float32 buffers.")
        views = Views(buffers)
        ready = self._take(views.sizes)

        def add(number: int, chunk: Chunk) -> None:
            noise = ready[number].result() if number in ready else self.normals(length(chunk))
            noise *= std
            used = 0
            for piece in chunk:
                part = noise[used : used + piece.stop - piece.start]
                used += len(part)
                target = views.flat[piece.buffer][piece.start : piece.stop]
                part += target
                target[...] = part  # the only rounding

        chunks = chunks_of(views.sizes)
        for _ in self._pool.map(add, range(len(chunks)), chunks):
            pass
        views.put_back()

    def normals(self, count: int) -> Doubles:
        """Standard normals from a stream of their own; also the unit of work of a thread."""
        generator = self.randomness.generator("noise")
        generator.standard_normal()
        return _sums_of_four(generator, count) if self.draws == 4 else _shared_sums(generator, count)

    def describe(self) -> dict[str, Any]:
        kind = "(g1+g2+g3+g4)/2" if self.draws == 4 else "(g1±g2±g3±g4)/2, four draws shared by four coordinates"
        return {
            **self.randomness.describe(),
            "noise": f"{kind} in float64, added in float64 and rounded once",
            "draws": self.draws,
        }

    def state(self) -> dict[str, Any]:
        return {"noise": "secure"}

    def restore(self, state: dict[str, Any]) -> None:
        """Only checks: the noise of a resumed run is fresh."""
        _check_kind(state, "secure")

    def _take(self, sizes: list[int]) -> dict[int, Future[Doubles]]:
        """The noise drawn ahead if it fits, at most once: after this nobody else can have it."""
        (expected, futures), self._ready = self._ready, ([], {})
        if expected == sizes:
            return futures
        for future in futures.values():
            future.cancel()
        return {}


class FastNoise:
    """Seeded noise for experiments: float32, a function of seed and step."""

    def __init__(self, randomness: Randomness, *, threads: int | None = None, lane: int = 0) -> None:
        if randomness.secure:
            raise SettingError("Fast noise needs a seed; take noise_of(randomness).")
        self.randomness, self.lane, self.step = randomness, lane, 0
        self._pool = _pool(threads)
        self._own = threading.local()

    def draw_ahead(self, shapes: Iterable[Sequence[int]]) -> None:
        """Does nothing: drawing costs less than keeping would."""

    def add_(self, buffers: Sequence[Tensor], std: float) -> None:
        _check_std(std)
        views = Views(buffers)
        chunks = chunks_of(views.sizes)
        words = self.randomness.generator("noise", self.lane, self.step).bit_generator
        seeds = words.random_raw(len(chunks) * 312).view(np.uint32).reshape(-1, 624)

        def add(seed: npt.NDArray[np.uint32], chunk: Chunk) -> None:
            generator, spare = self._thread_own()
            seed_generator(generator, seed)
            for piece in chunk:
                part = spare[: piece.stop - piece.start].normal_(0.0, std, generator=generator)
                target = views.flat[piece.buffer][piece.start : piece.stop]
                # numpy's addition stays on this thread; torch's would start a team of threads for each of ours.
                np.add(target, part.numpy(), out=target)

        for _ in self._pool.map(add, seeds, chunks):
            pass
        views.put_back()
        self.step += 1

    def describe(self) -> dict[str, Any]:
        return {**self.randomness.describe(), "noise": "one float32 normal per coordinate"}

    def state(self) -> dict[str, Any]:
        return {"noise": "fast", "seed": self.randomness.seed, "lane": self.lane, "step": self.step}

    def restore(self, state: dict[str, Any]) -> None:
        _check_kind(state, "fast")
        if (state["seed"], state["lane"]) != (self.randomness.seed, self.lane):
            raise RunError("The checkpoint's noise has another seed; resume with the seed the run was begun with.")
        self.step = int(state["step"])

    def _thread_own(self) -> tuple[torch.Generator, Tensor]:
        if not hasattr(self._own, "generator"):
            self._own.generator, self._own.spare = torch.Generator(), torch.empty(CHUNK)
        return self._own.generator, self._own.spare


def _sums_of_four(generator: np.random.Generator, count: int) -> Doubles:
    sums = np.empty(count)
    spare = np.empty(min(count, _BLOCK))
    for start in range(0, count, _BLOCK):
        block = sums[start : start + _BLOCK]
        generator.standard_normal(out=block)
        for _ in range(3):
            block += generator.standard_normal(out=spare[: len(block)])
    sums *= 0.5
    return sums


def _shared_sums(generator: np.random.Generator, count: int) -> Doubles:
    rows = generator.standard_normal((4, -(-count // 4)))
    for one, other in ((0, 1), (2, 3), (0, 2), (1, 3)):  # two rounds of sums and differences: the 4 x 4 sign matrix
        difference = rows[one] - rows[other]
        rows[one] += rows[other]
        rows[other] = difference
    rows *= 0.5
    return rows.reshape(-1)[:count]


_STATE_WORDS = slice(24, 24 + 624 * 8)
"""Where torch keeps the Mersenne Twister's 624 words in a generator's state, each in 8 bytes."""

_SEEDED = torch.Generator().manual_seed(0).get_state().numpy()


def seed_generator(generator: torch.Generator, words: npt.NDArray[np.uint32]) -> None:
    """Sets all 624 words of a torch generator: `manual_seed` looks at 32 bits only, and so few streams would repeat."""
    state = _SEEDED.copy()
    state[_STATE_WORDS].view(np.uint64)[:] = words
    generator.set_state(torch.from_numpy(state))


def _pool(threads: int | None) -> ThreadPoolExecutor:
    if threads is not None and threads < 1:
        raise SettingError(f"Noise needs at least one thread, not {threads}.")
    return ThreadPoolExecutor(threads or len(os.sched_getaffinity(0)), thread_name_prefix="noise")


def _check_std(std: float) -> None:
    if not 0 < std < math.inf:
        raise SettingError(f"The standard deviation of the noise must be a positive number, not {std!r}.")


def _check_kind(state: dict[str, Any], kind: str) -> None:
    if state.get("noise") != kind:
        raise RunError(
            f"The checkpoint was made with {state.get('noise')} noise and this run asks for {kind}; "
            "resume with the noise the run was begun with."
        )

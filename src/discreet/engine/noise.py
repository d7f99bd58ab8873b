"""Gaussian noise on the clipped sums: one that may be released, and a fast one for experiments.

    noise = Noise(Randomness())                # or Randomness("fast", seed=7)
    noise.add_(sums, std=plan.noise_std)       # once per logical step, also when the batch is empty

**Secure.** The low bits of floating-point noise can betray what it was added to (Mironov 2012). Three
things stand against it: the bits come from a cipher (`discreet.engine.random_bits`); a draw is (g1+g2+g3+g4)/2 of four
float64 normals, which leaves some 2^159 ways to reach one value (Holohan and Braghin 2021; ACCOUNTING.md section 7);
and the sum of gradient and noise is made in float64 and rounded to float32 once, which hides its last 29 bits. Noise
that is rounded *before* it is added does not hide them: what was released minus the sum would be a float32 number for
the true sum and for few others. All this mitigates; the proof is for real-valued noise.

Nothing of the secure noise is ever stored. A resumed run takes fresh keys, so its weights differ from those of an
uninterrupted run. That is the point: a stored generator would put the same noise on other gradients when steps are
repeated from a checkpoint, and the difference of two such releases has no noise at all. What was spent before the kill
stays spent (`discreet.engine.ledger`).

**Fast.** One normal instead of four, and the noise of a step is a function of seed, step and the sizes of the buffers,
however many threads draw it: a resumed run equals the uninterrupted one bit for bit. Replayable: for experiments.

Sharp edges. An exception inside `add_` leaves some buffers noised and others not: throw them away, the step is spent.
In a distributed run whole sums get noise on one process only; sharded ones on every process, for the fast generator
with the rank as `lane`, or all shards of a step would get the same.
"""

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from torch import Tensor

from discreet.engine.chunks import Chunk, Views, chunks_of
from discreet.engine.random_bits import Randomness
from discreet.errors import RunError, SettingError


class NoiseSource(Protocol):
    """Adds Gaussian noise to a step's clipped sums."""

    def add_(self, buffers: Sequence[Tensor], std: float, *, divide: float = 1.0) -> None:
        """Adds independent noise of this standard deviation to every coordinate, then divides; in place."""

    def describe(self) -> dict[str, Any]:
        """For the guarantee: what the noise was made of."""

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps, for `restore`; JSON."""

    def restore(self, state: dict[str, Any]) -> None: ...


class Noise:
    """The noise that goes with a run's randomness, drawn by several threads."""

    def __init__(self, randomness: Randomness, *, threads: int | None = None, lane: int = 0) -> None:
        if threads is not None and threads < 1:
            raise SettingError(f"Noise needs at least one thread, not {threads}.")
        self.randomness, self.lane, self.step = randomness, lane, 0
        self.draws = 4 if randomness.secure else 1
        self._pool = ThreadPoolExecutor(threads or len(os.sched_getaffinity(0)), thread_name_prefix="noise")

    def add_(self, buffers: Sequence[Tensor], std: float, *, divide: float = 1.0) -> None:
        from discreet.engine.normals import add_normals  # the compiler takes half a second to import

        for name, number in (("standard deviation of the noise", std), ("divisor of the noisy sum", divide)):
            if not 0 < number < math.inf:
                raise SettingError(f"The {name} must be a positive number, not {number!r}.")
        views = Views(buffers)
        chunks = chunks_of(views.sizes)
        step, self.step = self.step, self.step + 1

        def add(number: int, chunk: Chunk) -> None:
            stream = self.randomness.stream("noise", self.lane, step, number)  # each chunk its own key
            for piece in chunk:
                target = views.flat[piece.buffer][piece.start : piece.stop]
                add_normals(target, stream, draws=self.draws, std=std, share=1.0 / divide)

        for _ in self._pool.map(add, range(len(chunks)), chunks):
            pass
        views.put_back()

    def describe(self) -> dict[str, Any]:
        kind = "(g1+g2+g3+g4)/2" if self.draws == 4 else "one normal per coordinate"
        return {**self.randomness.describe(), "noise": f"{kind} in float64, added in float64 and rounded once"}

    def state(self) -> dict[str, Any]:
        if self.randomness.secure:
            return {"noise": "secure"}
        return {"noise": "fast", "seed": self.randomness.seed, "lane": self.lane, "step": self.step}

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on where the checkpoint was made; secure noise is fresh all the same."""
        if state.get("noise") != self.randomness.mode:
            raise RunError(
                f"The checkpoint was made with {state.get('noise')} noise and this run asks for "
                f"{self.randomness.mode}; resume with the noise the run was begun with."
            )
        if self.randomness.secure:
            return
        if (state["seed"], state["lane"]) != (self.randomness.seed, self.lane):
            raise RunError("The checkpoint's noise has another seed; resume with the seed the run was begun with.")
        self.step = int(state["step"])

"""Normal numbers from uniform words, compiled: Marsaglia and Tsang's ziggurat, and sums of several of them.

    add_normals(buffer, stream, draws=4, std=2.0)     # buffer += 2 * (g1 + g2 + g3 + g4) / 2, in place

The sum of buffer and noise is made in double precision and rounded to the buffer's own once.

A ziggurat covers the half bell with 256 layers of equal area. A word chooses a layer with its low 8 bits and a point in
it, with a sign, with the other 56; the point is good at once if it lies below the layer above, which it does in 98.5 %
of the cases. The first loop makes all sums as if every point were good and lists those where one was not; the second
makes these few again, with care. That split is what lets the first run at two nanoseconds a normal.

Layer 0 is the base with the tail, where Marsaglia's method decides; in the others a second word throws a point under
the bell or away.
"""

import math
import threading
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from discreet.engine.random_bits import Stream, Words

Floats = npt.NDArray[np.floating[Any]]
Doubles = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

LAYERS = 256
TAIL = 3.6541528853610088
"""Where the base layer ends and the tail begins, for 256 layers of equal area."""
UNIT = 2.0**-53
BLOCK = 1 << 17
"""Words used at a time: few enough for the cache, enough that threads seldom wait for each other."""


def _edges() -> Doubles:
    """The right edge of every layer; that of layer 0 is a rectangle's with the area of base and tail."""
    height = math.exp(-0.5 * TAIL**2)
    area = TAIL * height + math.sqrt(math.pi / 2) * math.erfc(TAIL / math.sqrt(2))
    edges = [area / height, TAIL]
    while len(edges) < LAYERS:
        edges.append(math.sqrt(-2 * math.log(area / edges[-1] + math.exp(-0.5 * edges[-1] ** 2))))
    return np.array([*edges, 0.0])


EDGES = _edges()
HEIGHTS = np.exp(-0.5 * EDGES**2)
STEP = EDGES[:-1] * 2.0**-55
"""A layer's width over the 2^55 points on each side of zero."""
SURE = (EDGES[1:] / EDGES[:-1] * 2.0**55).astype(np.int64)
"""Points nearer to zero than this lie below the layer above."""

compiled = numba.njit(nogil=True, cache=True, error_model="numpy")


@compiled  # type: ignore[untyped-decorator]
def _careful(word: int, spare: Words, used: int) -> tuple[float, int]:
    """One normal from a word and as many spare ones as it takes; `used` counts them."""
    while used < len(spare) - 8:
        layer = word & np.uint64(255)
        point = np.int64(word) >> 8
        value = np.float64(point) * STEP[layer]
        if abs(point) < SURE[layer]:
            return value, used
        if layer == 0:
            beyond = -math.log(_unit(spare[used])) / TAIL
            if -2 * math.log(_unit(spare[used + 1])) > beyond * beyond:
                return math.copysign(TAIL + beyond, value), used + 2
            # Marsaglia's method throws another point into the tail, not into the whole bell.
            used += 2
            continue
        low, high = HEIGHTS[layer], HEIGHTS[layer + np.uint64(1)]
        if low + _unit(spare[used]) * (high - low) < math.exp(-0.5 * value * value):
            return value, used + 1
        word = spare[used + 1]
        used += 2
    return 0.0, len(spare)


@compiled  # type: ignore[untyped-decorator]
def _unit(word: int) -> float:
    """Uniform in the open interval from 0 to 1."""
    return (np.float64(np.int64(word >> np.uint64(11))) + 0.5) * UNIT


def _sums_of(draws: int) -> Any:
    """Compiled for one number of draws: a loop of known length is unrolled."""
    scale = 1.0 / math.sqrt(draws)

    @compiled  # type: ignore[untyped-decorator]
    def sums(words: Words, spare: Words, out: Doubles, again: Counts) -> bool:
        """Fills `out` from `draws` words each; False if the spare words did not suffice, which calls for a new try."""
        found = 0
        for i in range(len(out)):
            total = 0.0
            sure = True
            for j in range(draws):
                word = words[draws * i + j]
                layer = word & np.uint64(255)
                point = np.int64(word) >> 8
                total += np.float64(point) * STEP[layer]
                sure &= abs(point) < SURE[layer]
            out[i] = scale * total
            again[found] = i
            found += not sure
        used = 0
        for k in range(found):
            i = again[k]
            total = 0.0
            for j in range(draws):
                value, used = _careful(words[draws * i + j], spare, used)
                total += value
            out[i] = scale * total
            if used > len(spare) - 64:
                return False
        return True

    return sums


SUMS = {draws: _sums_of(draws) for draws in (1, 4)}


@compiled  # type: ignore[untyped-decorator]
def _add(target: Floats, noise: Doubles, std: float, share: float) -> None:
    for i in range(len(target)):
        target[i] = (target[i] + std * noise[i]) * share


class _Scratch(threading.local):
    """A thread's memory for one block, used again and again: fresh pages cost more than the normals."""

    def __init__(self) -> None:
        self.sums = np.empty(BLOCK)
        self.again = np.empty(BLOCK + 1, np.int64)


_scratch = _Scratch()


def fill_normals(out: Doubles, stream: Stream, draws: int) -> None:
    """Independent standard normals, each the sum of so many over the root of their number; a block at most."""
    if len(out) > BLOCK:  # compiled code would write beyond the scratch memory
        raise ValueError(f"At most {BLOCK} normals are made at a time, not {len(out)}.")
    # A draw takes .03 spare words on average. A sixteenth for each and 256 more run short less than once in 2^128 times
    # for whole blocks, and more rarely for smaller ones; then everything is thrown away.
    count = draws * len(out)
    while True:
        words = stream.words(count + count // 16 + 256)
        if SUMS[draws](words[:count], words[count:], out, _scratch.again):
            return


def add_normals(target: Floats, stream: Stream, *, draws: int, std: float, share: float = 1.0) -> None:
    """target = (target + std * noise) * share, rounded to the target's precision once."""
    step = BLOCK // draws
    for start in range(0, len(target), step):
        block = target[start : start + step]
        noise = _scratch.sums[: len(block)]
        fill_normals(noise, stream, draws)
        _add(block, noise, std, share)

"""Noise of density proportional to exp(-epsilon |z|) in h dimensions: a uniform direction times a Gamma radius.

    draws = Draws()                                     # a key from the operating system, never stored
    draws.noise([b"4711", b"ann"], dimension=50, epsilon=10.0)

The noise of a *label* is a function of a secret key and the label (SHAKE-256 under the key, which nobody without the
key can tell from fresh random bits). So "one draw for each secret, reused" needs no memory, and many machines that
share the key agree without talking: the label is the secret. For a draw at each place the label names the place too.

From the uniform numbers of a label: h normals by Box and Muller's method, divided by their length, are the direction;
the sum of h exponentials over epsilon is the radius, Gamma(h, 1/epsilon) (ACCOUNTING.md, section 5).

A seed makes the key repeatable, for experiments: whoever knows it can take the noise away.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SettingError

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Draws:
    """The source of a corpus' noise."""

    key: bytes = field(default_factory=lambda: os.urandom(32), repr=False)
    seeded: bool = False

    @classmethod
    def of_seed(cls, seed: int | None) -> "Draws":
        """Repeatable draws; None for a key that nobody knows."""
        if seed is None:
            return cls()
        return cls(hashlib.sha256(f"discreet perturb, seed {seed}".encode()).digest(), seeded=True)

    def noise(self, labels: Sequence[bytes], dimension: int, epsilon: float) -> Doubles:
        """One noise vector for each label."""
        directions, radii = self.parts(labels, dimension)
        return directions * (radii / epsilon)[:, None]

    def parts(self, labels: Sequence[bytes], dimension: int) -> tuple[Doubles, Doubles]:
        """Directions of length 1, and radii for an epsilon of 1."""
        if dimension < 1:
            raise SettingError("An embedding has at least one dimension.")
        pairs = (dimension + 1) // 2
        uniform = self._uniform(labels, 2 * pairs + dimension)
        length = np.sqrt(-2 * np.log(uniform[:, :pairs]))
        angle = 2 * np.pi * uniform[:, pairs : 2 * pairs]
        normals = np.concatenate([length * np.cos(angle), length * np.sin(angle)], axis=1)[:, :dimension]
        directions = normals / np.sqrt(np.einsum("ij,ij->i", normals, normals))[:, None]
        radii = -np.log(uniform[:, 2 * pairs :]).sum(axis=1)
        return directions, radii

    def _uniform(self, labels: Sequence[bytes], count: int) -> Doubles:
        """Numbers strictly between 0 and 1, of 53 bits."""
        shake, key = hashlib.shake_256, self.key
        bits = b"".join([shake(key + label).digest(8 * count) for label in labels])
        words = np.frombuffer(bits, "<u8").reshape(len(labels), count)
        return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53

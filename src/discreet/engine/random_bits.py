"""Where randomness comes from: a cipher keyed by the operating system for releases, a seed for experiments.

    >>> seeded = Randomness("fast", seed=7)
    >>> seeded.stream("coins", 3).words(2).tolist() == seeded.stream("coins", 3).words(2).tolist()
    True
    >>> secure = Randomness()
    >>> secure.stream("coins", 3).words(2).tolist() == secure.stream("coins", 3).words(2).tolist()
    False

One `Randomness` makes both the batches and the noise of a run, because mixing the two kinds is dangerous: the same
noise on another batch cancels in the difference of the two releases, and what is left is the data.

*secure*: every stream asked for is the key stream of a cipher under a key of its own from `os.urandom`. Nothing is
shared, so threads, chunks and forked processes cannot overlap; nothing is kept, so nothing can be replayed and a stolen
checkpoint tells nothing of past or future noise. AES-256 in counter mode, or ChaCha-20, both as OpenSSL has them
(through the package `cryptography`); a key lives for one chunk, far below where 128-bit blocks start to tell.

*fast*: the key is a function of the seed, the purpose and the numbers asked with, so a resumed run is the uninterrupted
one bit for bit. Whoever knows the seed can subtract the noise: a guarantee that rests on it is for
experiments.

The seed of a secure run decides only what needs no secrecy (`order`: the shuffled epochs, for which no amplification is
claimed).
"""

import hashlib
import os
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.errors import SettingError

MODES = ("secure", "fast")
CIPHERS = ("aes-256-ctr", "chacha-20")

Words = npt.NDArray[np.uint64]
Purpose = Literal["coins", "noise", "order"]
_PURPOSES: dict[str, int] = {"coins": 1, "noise": 2, "order": 3}


class Stream(Protocol):
    """Uniform 64-bit words, as many as are asked for."""

    def words(self, count: int) -> Words: ...


@dataclass(frozen=True)
class Randomness:
    """The one source of a run's batches and noise."""

    mode: str = "secure"
    seed: int = 0
    cipher: str = CIPHERS[0]

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise SettingError(f"Randomness is 'secure' or 'fast', not '{self.mode}'.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise SettingError(f"A seed is a whole number from 0 on, not {self.seed!r}.")
        if self.cipher not in CIPHERS:
            raise SettingError(f"There is no cipher '{self.cipher}'; known: {', '.join(CIPHERS)}.")

    @property
    def secure(self) -> bool:
        return self.mode == "secure"

    @property
    def draw(self) -> str | None:
        """What the ledger tells draws apart by: a step drawn twice with the same seed is one release, any other two."""
        return None if self.secure else f"seed-{self.seed}"

    def stream(self, purpose: Purpose, *numbers: int) -> Stream:
        """A stream for one purpose: fresh at every call if secure, a function of the arguments if seeded."""
        if self.secure and purpose != "order":
            return KeyStream(os.urandom(32), self.cipher)
        return KeyStream(seed_key(self.seed, _PURPOSES[purpose], *numbers))

    def describe(self) -> dict[str, Any]:
        """For the guarantee: what the coins and the noise were drawn from."""
        if not self.secure:
            return {"randomness": "fast", "generator": "seeded", "replayable": True}
        return {"randomness": "secure", "generator": self.cipher, "replayable": False}


class KeyStream:
    """The key stream of a cipher: as good as random words to whoever does not have the key."""

    def __init__(self, key: bytes, cipher: str = CIPHERS[0]) -> None:
        start = bytes(16)
        if cipher == "chacha-20":
            self._encryptor = Cipher(algorithms.ChaCha20(key, start), None).encryptor()
        else:
            self._encryptor = Cipher(algorithms.AES(key), modes.CTR(start)).encryptor()

    def words(self, count: int) -> Words:
        stream = np.empty(count, np.uint64)
        size = 8 * count
        if count:
            self._encryptor.update_into(
                _ZEROS[:size] if size <= len(_ZEROS) else bytes(size), stream.view(np.uint8).data
            )
        return stream


_ZEROS = memoryview(bytes(1 << 21))
"""More than a block of normals takes: fresh zeros for every block cost more than the cipher."""


def seed_key(*numbers: int) -> bytes:
    """The key that goes with a seed and whatever tells its streams apart."""
    return hashlib.sha256(repr(numbers).encode()).digest()

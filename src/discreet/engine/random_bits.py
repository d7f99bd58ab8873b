"""Where randomness comes from: a cipher keyed by the operating system for releases, a seed for experiments.

    >>> seeded = Randomness("fast", seed=7)
    >>> seeded.generator("coins", 3).random() == seeded.generator("coins", 3).random()
    True
    >>> secure = Randomness()
    >>> secure.generator("coins", 3).random() == secure.generator("coins", 3).random()
    False

One `Randomness` makes both the batches and the noise of a run, because mixing the two kinds is dangerous: the same
noise on another batch cancels in the difference of the two releases, and what is left is the data.

*secure*: every generator asked for is a cipher in counter mode under a key of its own from `os.urandom`. Nothing is
shared, so threads, chunks and forked processes cannot overlap; nothing is kept, so nothing can be replayed and a stolen
checkpoint tells nothing of past or future noise. AES-128 where the processor has instructions for it (twice as fast),
ChaCha-20 with a 256-bit key elsewhere or when asked for; a key lives for one chunk, far below where 128-bit blocks
start to tell. The ciphers are those of `randomgen`, tested here against published vectors, but not an audited library.

*fast*: every generator is a function of the seed, the purpose and the numbers asked with, so a resumed run is the
uninterrupted one bit for bit. Whoever knows the seed can subtract the noise: a guarantee that rests on it is for
experiments.

The seed of a secure run decides only what needs no secrecy (`order`: the shuffled epochs, for which no amplification is
claimed).
"""

import os
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from discreet.errors import MissingPackageError, SettingError

MODES = ("secure", "fast")
CIPHERS = ("auto", "aes-128-ctr", "chacha-20")

Purpose = Literal["coins", "noise", "order"]
_PURPOSES: dict[str, int] = {"coins": 1, "noise": 2, "order": 3}


@dataclass(frozen=True)
class Randomness:
    """The one source of a run's batches and noise."""

    mode: str = "secure"
    seed: int = 0
    cipher: str = "auto"

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

    def generator(self, purpose: Purpose, *numbers: int) -> np.random.Generator:
        """A generator for one purpose: fresh at every call if secure, a function of the arguments if seeded."""
        if self.secure and purpose != "order":
            return cipher_generator(self.cipher)
        key = (_PURPOSES[purpose], *numbers)
        return np.random.Generator(np.random.PCG64DXSM(np.random.SeedSequence(self.seed, spawn_key=key)))

    def describe(self) -> dict[str, Any]:
        """For the guarantee: what the coins and the noise were drawn from."""
        if not self.secure:
            return {"randomness": "fast", "generator": "seeded", "replayable": True}
        return {"randomness": "secure", "generator": chosen_cipher(self.cipher), "replayable": False}


def cipher_generator(cipher: str = "auto") -> np.random.Generator:
    """A generator over a cipher's key stream, under a fresh key of the operating system."""
    ciphers = _randomgen()
    if chosen_cipher(cipher) == "aes-128-ctr":
        return np.random.Generator(ciphers.AESCounter(key=int.from_bytes(os.urandom(16))))
    return np.random.Generator(ciphers.ChaCha(key=int.from_bytes(os.urandom(32)), rounds=20))


def chosen_cipher(cipher: str = "auto") -> str:
    """What `auto` means on this machine."""
    if cipher != "auto":
        return cipher
    return "aes-128-ctr" if _has_aes_instructions() else "chacha-20"


@cache
def _has_aes_instructions() -> bool:
    """Without them the library looks bytes up in tables: slower, and its timing depends on the key."""
    return bool(_randomgen().AESCounter(key=0).use_aesni)


def _randomgen() -> Any:
    try:
        import randomgen  # type: ignore[import-untyped]
    except ImportError:
        raise MissingPackageError(
            "Secure randomness needs the package randomgen; install it with 'pip install randomgen'."
        ) from None
    return randomgen

"""Memory that is kept from one step to the next instead of being handed back and asked for again.

Training allocates the same large blocks in every step. The C library returns each of them to the kernel when it is
freed, and the next step pays for fresh, zeroed pages: 5-10 % of a transformer's step, a quarter of an LSTM's.

    from discreet.engine.allocator import keep_buffers
    keep_buffers()                                  # once, before training; the process then holds on to its peak

`borrow` is the same idea for one named purpose: the output layer's logits, by far the largest block of a language
model's step, live in a block that is borrowed and comes back by itself when nothing refers to it any more.

Sharp edge: both trade memory for time. What was the peak stays allocated; `return_buffers` gives all back.
"""

import ctypes
import sys

import torch
from torch import Tensor

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's numbers for mallopt

_idle: dict[tuple[torch.dtype, torch.device], list[Tensor]] = {}


def keep_buffers() -> bool:
    """Tells glibc neither to trim its heap nor to map large blocks one by one; False where there is no glibc."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_TRIM_THRESHOLD, -1)) and bool(mallopt(_MMAP_MAX, 0))


class Loan:
    """A borrowed block as a matrix; the block is idle again when the last reference to the loan is gone."""

    def __init__(self, block: Tensor, rows: int, columns: int) -> None:
        self._block = block
        self.matrix = block[: rows * columns].view(rows, columns)

    def __del__(self) -> None:
        _idle.setdefault((self._block.dtype, self._block.device), []).append(self._block)


def borrow(rows: int, columns: int, dtype: torch.dtype, device: torch.device) -> Loan:
    """An uninitialised matrix, in a block used before if one is idle; a block too small is replaced by a larger one."""
    idle = _idle.get((dtype, device), [])
    block = idle.pop() if idle else None
    if block is None or block.numel() < rows * columns:
        block = None  # free the small one before the large one is allocated
        block = torch.empty(rows * columns, dtype=dtype, device=device)
    return Loan(block, rows, columns)


def return_buffers() -> None:
    """Gives idle borrowed blocks, and what the C library holds on to, back to the system."""
    _idle.clear()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform.startswith("linux") else None
    if trim is not None:
        trim(0)

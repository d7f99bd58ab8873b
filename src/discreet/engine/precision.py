"""Where lower precision pays: bfloat16 only on processors that multiply in it."""

import contextlib
from pathlib import Path

import torch


def has_bfloat16_instructions() -> bool:
    """Whether the processor multiplies bfloat16 in hardware; emulating it is slower than float32."""
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def resolve(precision: str) -> str:
    """`auto` becomes what this processor is faster with; the answer is recorded in the run."""
    if precision == "auto":
        return "bfloat16" if has_bfloat16_instructions() else "float32"
    return precision


def autocast(precision: str) -> contextlib.AbstractContextManager[object]:
    if precision == "bfloat16":
        return torch.autocast("cpu", dtype=torch.bfloat16)
    return contextlib.nullcontext()

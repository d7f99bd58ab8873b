"""The learning rate over a training, as a factor of the rate that was asked for."""

import math


def factor(schedule: str, step: int, total: int, warmup: float = 0.0) -> float:
    """The factor at a step (0-based) out of `total`."""
    rising = round(warmup * total)
    if step < rising:
        return (step + 1) / rising
    if schedule in ("constant", "plateau"):
        return 1.0
    done = (step - rising) / max(1, total - rising)
    if schedule == "linear":
        return 1.0 - done
    if schedule == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * done))
    raise ValueError(f"unknown schedule {schedule}")


PLATEAU_DIVISOR = 4.0
"""What Shi et al. (2022) divide the rate by when validation does not improve."""

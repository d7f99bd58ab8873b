"""Intervals for a share that was counted: exact ones by Clopper and Pearson, never the normal approximation.

    >>> low, high = clopper_pearson(3, 1000)
    >>> (round(low, 6), round(high, 6))
    (0.000619, 0.008742)

They take the counted things for independent. Tokens and secrets of one record are not; count records, or bootstrap
whole records (`discreet measure` does), where that matters.
"""

from scipy.special import betaincinv

from discreet.errors import SettingError


def clopper_pearson(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """The two-sided interval of a share: each end fails with at most half of 1 - confidence."""
    side = (1 + confidence) / 2
    return lower_limit(count, total, side), upper_limit(count, total, side)


def upper_limit(count: int, total: int, confidence: float = 0.95) -> float:
    """The one-sided upper limit of a share."""
    _check(count, total, confidence)
    return 1.0 if count == total else float(betaincinv(count + 1, total - count, confidence))


def lower_limit(count: int, total: int, confidence: float = 0.95) -> float:
    """The one-sided lower limit of a share."""
    _check(count, total, confidence)
    return 0.0 if count == 0 else float(betaincinv(count, total - count + 1, 1 - confidence))


def _check(count: int, total: int, confidence: float) -> None:
    if total < 1 or not 0 <= count <= total:
        raise SettingError(
            f"{count} of {total} is not a share; the count must lie between 0 and a total of at least 1."
        )
    if not 0 < confidence < 1:
        raise SettingError(f"A confidence lies between 0 and 1, not {confidence:g}.")

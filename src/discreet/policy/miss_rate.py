"""The miss rate of a policy as a file: what `discreet measure` or a person found, for JFT and the guarantee to read.

    {"form": "miss-rate", "missed": 12, "sample": 150, "how": "measured", "policy": "<fingerprint>", ...}

`missed` of `sample` secrets were overlooked, in part or in whole. It holds counts and no text. The fingerprint says
which policy it was: a file that was made for another policy is refused.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.errors import InputError, RefusedError
from discreet.files import read_json, write_json

FORM = "miss-rate"


@dataclass(frozen=True)
class MissRate:
    """So many of a sample of secrets a policy did not find."""

    missed: int
    sample: int
    policy: str
    """The fingerprint of the policy."""
    how: str = "measured"
    """`measured` against a file's marks, or `screened` by a person."""
    records: int = 0
    by_kind: dict[str, tuple[int, int]] | None = None
    """Kind -> (missed, sample)."""
    screening: dict[str, Any] | None = None
    """How a screened sample was drawn and the 95 % intervals, for people and reports; JFT reads the counts alone."""

    def check(self, fingerprint: str, place: str = "the miss rate") -> "MissRate":
        """Itself, if it is about the policy with this fingerprint."""
        if self.policy != fingerprint:
            raise RefusedError(
                f"{place}: it was found for another policy (fingerprint {self.policy[:12]}, not {fingerprint[:12]}); "
                "measure the policy that is used."
            )
        return self


def write_miss_rate(path: Path, rate: MissRate) -> None:
    value = {"form": FORM} | asdict(rate)
    if rate.screening is None:
        del value["screening"]
    write_json(path, value)


def read_miss_rate(path: Path) -> MissRate:
    try:
        value: Any = read_json(path)
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no such miss-rate file; make one with discreet measure --miss-rate."
        ) from None
    except ValueError:
        raise InputError(f"{path}: not JSON; make the file again with discreet measure --miss-rate.") from None
    if not isinstance(value, dict) or value.pop("form", None) != FORM:
        raise InputError(f"{path}: not a miss-rate file; make one with discreet measure --miss-rate.")
    try:
        rate = MissRate(**value)
    except TypeError:
        raise InputError(f"{path}: not a complete miss-rate file; make it again with discreet measure.") from None
    whole = all(isinstance(count, int) and not isinstance(count, bool) for count in (rate.missed, rate.sample))
    if not whole or not 0 <= rate.missed <= rate.sample or rate.sample < 1:
        raise InputError(f"{path}: 'missed' of 'sample' are counts, the first not above the second.")
    return rate

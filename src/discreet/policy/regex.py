r"""Secrets that one or more regular expressions describe (`policy: regex:PATTERN`).

    discreet.regex(r"\bCASE-\d{6}\b", kind="CASE")
    discreet.regex(r"password is (?P<secret>\S+)", kind="PASSWORD", flags="i")

Each non-empty match is a secret. Where a pattern names a group `secret`, only that group is: the words around it say
where to look but stay public. A match in which that group took no part is secret as a whole, since a policy should
rather mark too much. Several patterns are searched one after the other and overlaps settled as in `|`.

`flags` are the letters of Python's `re`: `i` ignore case, `m` `^` and `$` at every line, `s` `.` matches line ends,
`x` verbose, `a` ASCII only. The engine is Python's, so nested repeats such as `(a+)+$` can take exponential time.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.errors import SettingError
from discreet.policy.contract import POLICIES, Policy, TextPolicy
from discreet.text.records import Secret

FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE, "a": re.ASCII}
GROUP = "secret"


class Regex(TextPolicy):
    """Matches of regular expressions, all of one kind."""

    def __init__(self, patterns: Sequence[str], kind: str, flags: str) -> None:
        self.kind, self.flags, self.patterns = kind, flags, tuple(patterns)
        self._compiled = [_compile(pattern, flags) for pattern in patterns]

    def find(self, text: str) -> Sequence[Secret]:
        found: list[Secret] = []
        for pattern in self._compiled:
            spans = (
                _group_spans(pattern, text)
                if GROUP in pattern.groupindex
                else map(re.Match.span, pattern.finditer(text))
            )
            found += [Secret(start, end, self.kind) for start, end in spans if start < end]
        return found

    def spec(self) -> Any:
        pattern = self.patterns[0] if len(self.patterns) == 1 else list(self.patterns)
        settings = {"pattern": pattern, "kind": self.kind}
        return {"regex": settings | {"flags": self.flags} if self.flags else settings}


def _group_spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    for match in pattern.finditer(text):
        span = match.span(GROUP)
        yield span if span[0] >= 0 else match.span()


def _compile(pattern: str, flags: str) -> re.Pattern[str]:
    bits = re.NOFLAG
    for letter in flags:
        if letter not in FLAGS:
            raise SettingError(f"The regex flag '{letter}' is not known; use letters of '{''.join(FLAGS)}'.")
        bits |= FLAGS[letter]
    try:
        return re.compile(pattern, bits)
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos}"
        raise SettingError(f"The regex pattern is wrong{where}: {error.msg}; check it at that place.") from None
    except (OverflowError, RecursionError):
        raise SettingError("The regex pattern repeats or nests too much to compile; make it simpler.") from None


@POLICIES.register("regex")
def regex(pattern: str | Sequence[str], kind: str = "SECRET", flags: str = "") -> Policy:
    """What one pattern or any of several matches, or the part of it in a group named `secret`."""
    patterns = [pattern] if isinstance(pattern, str) else list(pattern)
    if not patterns:
        raise SettingError("The regex policy needs at least one pattern.")
    return Regex(patterns, kind, flags)

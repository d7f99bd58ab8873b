"""Named things that other packages can add to: policies, mechanisms, attacks, layer rules, corpora, formats.

    POLICIES: Registry[PolicyMaker] = Registry("policy", "discreet.policies", "discreet.policy")

    @POLICIES.register("digits")
    def digits() -> Policy: ...

A member is one file plus one registration. Members of this package are found by importing the modules of `home`;
members of other packages by the entry-point group.
"""

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from typing import Generic, TypeVar, cast

from discreet.errors import UnknownNameError

T = TypeVar("T")
M = TypeVar("M")


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint of an error message: the known name most like a mistyped one, or all of them."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known)}."


class Registry(Generic[T]):
    """Names and what they stand for; loads its members on first use."""

    def __init__(self, what: str, group: str, home: str) -> None:
        self.what, self.group, self.home = what, group, home
        self._members: dict[str, T] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[M], M]:
        """Decorator: adds a member under a stable name, and leaves its type (which may be narrower than T) as it is."""

        def add(member: M) -> M:
            if self._members.get(name, member) is not member:
                raise ValueError(f"two members of the {self.what} registry are called '{name}'")
            self._members[name] = cast("T", member)
            return member

        return add

    def __getitem__(self, name: str) -> T:
        self._load()
        if name not in self._members:
            raise UnknownNameError(f"There is no {self.what} called '{name}'; {nearest(name, self._members)}")
        return self._members[name]

    def __contains__(self, name: str) -> bool:
        self._load()
        return name in self._members

    def names(self) -> list[str]:
        self._load()
        return sorted(self._members)

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True  # set first: a member's module may ask the registry while it is imported
        home = importlib.import_module(self.home)
        for module in pkgutil.iter_modules(home.__path__, self.home + "."):
            importlib.import_module(module.name)
        for entry in entry_points(group=self.group):
            if entry.name not in self._members:
                self._members[entry.name] = entry.load()

"""Folders that can be called: `discreet.policy("digits")` although `discreet.policy` is also the folder of policies."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A package whose call is the function of the same name in one of its files."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return getattr(import_module(self.__dict__["call_home"]), self.__name__.rsplit(".", 1)[1])(*args, **keywords)


def make_callable(package: str, home: str) -> None:
    """Lets a package be called as the function of its own name that `home` defines."""
    module = sys.modules[package]
    module.__dict__["call_home"] = home
    module.__class__ = CallableModule

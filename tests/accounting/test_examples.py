"""The examples in the docstrings of accounting are true."""

import doctest
import importlib
import pkgutil

import pytest

import discreet.accounting

MODULES = [f"discreet.accounting.{m.name}" for m in pkgutil.iter_modules(discreet.accounting.__path__)]


@pytest.mark.parametrize("name", [*MODULES, "discreet.engine.plan"])
def test_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0

"""Runs made by hand; one page and its parts are shared, because guarantees take a moment to compute."""

import pytest

from discreet.report.facts import gather
from discreet.report.page import page
from tests.report.folders import five_runs


@pytest.fixture(scope="session")
def five(tmp_path_factory):
    """Five runs with everything measured."""
    return five_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def facts(five):
    return gather(five)


@pytest.fixture(scope="session")
def html(facts):
    return page(facts)

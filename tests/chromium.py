"""A real browser for tests: Debian's chromium, driven by playwright (docs/screening.md says how to install both)."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'discreet[browser]'")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("needs a chromium: apt-get install chromium", allow_module_level=True)

PATIENCE = 120_000
"""Milliseconds; a busy machine is slow, and nothing here is about speed."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()

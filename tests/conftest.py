"""What all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Two test processes on two cores: a second thread in each would only make both wait. Set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# The same examples each time, so that a change is judged by what it changed; HYPOTHESIS_PROFILE=search draws new ones.
settings.register_profile("steady", derandomize=True)
settings.register_profile("search", max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

SHARED_DATA = Path(__file__).parents[1].parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the public data sets; tests that need it skip where it is not."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the public data sets in ../shared/data")
    return SHARED_DATA


LONGEST = ("test_docs.py", "test_fast.py", "cluster", "test_packaged.py", "test_kill.py")
"""Files and folders of a minute or more."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that no process is left alone with one in the end."""
    items.sort(key=lambda item: next((at for at, part in enumerate(LONGEST) if part in item.path.parts), len(LONGEST)))

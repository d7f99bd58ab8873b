"""What all tests share."""

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).parents[1].parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with the public data sets; tests that need it skip where it is not."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the public data sets in ../shared/data")
    return SHARED_DATA

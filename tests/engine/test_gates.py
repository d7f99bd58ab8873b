"""The compiled gates compute what numpy computes in double precision, for every input."""

from typing import Any

import numpy as np
import pytest

from discreet.engine import gates


def everywhere() -> Any:
    """Inputs of all sizes and signs, as many as no vector length divides."""
    small = np.geomspace(1e-38, 1, 20_001)
    return np.concatenate([np.linspace(-120, 120, 100_001), small, -small, [0.0]]).astype(np.float32)


@pytest.mark.parametrize(
    ("ours", "exact"),
    [(gates._sigmoid, lambda x: 1 / (1 + np.exp(-x))), (gates._tanh, np.tanh)],
    ids=["sigmoid", "tanh"],
)
def test_gates_are_right_to_single_precision_everywhere(ours, exact) -> None:
    x = everywhere()
    got, want = x.copy(), exact(x.astype(np.float64))
    ours(got)
    normal = np.abs(want) > 1e-37  # below, single precision has fewer digits
    np.testing.assert_allclose(got[normal], want[normal], rtol=3e-7)
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-7)
    assert np.abs(got).max() <= 1
    assert (np.diff(got[:100_001]) >= -2e-7).all()


@pytest.mark.parametrize(
    ("ours", "want"), [(gates._sigmoid, [np.nan, 1, 0, 1, 0]), (gates._tanh, [np.nan, 1, -1, 1, -1])]
)
def test_nan_stays_nan_and_infinities_saturate(ours, want) -> None:
    for at in range(40):  # in vectors and in what is left after them
        got = np.zeros(40 + 5, np.float32)
        got[at : at + 5] = [np.nan, np.inf, -np.inf, 3e38, -3e38]
        ours(got)
        np.testing.assert_allclose(got[at : at + 5], np.array(want, np.float32), atol=1e-37)
        assert np.isfinite(np.delete(got, at)).all()

"""How the loops are compiled: kept on disk, so that only the first process that needs them waits for the compiler."""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
compiled = numba.njit(nogil=True, cache=True, error_model="numpy")
"""Raises RuntimeError where there is no folder to keep what was compiled."""

NONE = np.uint64(0)

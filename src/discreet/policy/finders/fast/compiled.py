"""How the loops are compiled: kept on disk, so that only the first process that needs them waits for the compiler.

Only what Python calls is kept, with all that it calls itself. numba would not notice a change of another file than the
function's own; so each such function is made for `loading.VERSION`, which it asserts, and what a function closes over
is part of what numba finds it by.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Number = Any
"""An int or a number of numpy's: compiled functions are given either."""
F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """For what only compiled functions call."""
    return cast(
        F, numba.njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    )


def small(function: F) -> F:
    """For what is called with many constants: each would be compiled for by itself."""
    return cast(F, numba.njit(inline="always")(function))


def kept(function: F) -> F:
    """For what Python calls. Raises RuntimeError where there is no folder to keep what was compiled."""
    return cast(F, numba.njit(nogil=True, error_model="numpy", cache=True)(function))


NONE = np.uint64(0)
ZERO = cast(int, np.int64(0))
"""What to begin to count from: with a plain 0, numba compiles all that is called with it twice."""

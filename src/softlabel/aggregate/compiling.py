"""How a kernel becomes machine code, and where that code is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile at the first call, to run without the interpreter's lock, and keep it on disk.

    The next process loads what this one compiled: from beside the source, or from the user's
    cache folder, or from the folder that ``NUMBA_CACHE_DIR`` names.  Where none of them can be
    written, every process compiles for itself.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return cast(Function, njit(cache=True, **options)(function))
    except RuntimeError:  # numba: "no locator available"
        return cast(Function, njit(**options)(function))

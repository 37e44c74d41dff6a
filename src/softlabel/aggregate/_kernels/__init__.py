"""Compiled passes over votes.  They load numba: import them in functions that pool."""

from importlib.util import find_spec


def has_compiler() -> bool:
    """Return whether numba is installed; pools that also work without it ask first."""
    return find_spec("numba") is not None

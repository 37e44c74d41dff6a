"""Compiled passes over votes.  They load numba: import them in functions that pool."""

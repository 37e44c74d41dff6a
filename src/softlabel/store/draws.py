"""Random numbers that belong to names: the same names draw the same number on every machine."""

from __future__ import annotations

from hashlib import blake2b

PLACES = 2**31


def draw(*names: object) -> int:
    """A number below 2**64 for these names.

    >>> draw("seed", 7, "item-1") == draw("seed", 7, "item-1") != draw("seed", 8, "item-1")
    True
    """
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def draw_place(*names: object) -> int:
    """Where these names stand on the circle that assignment walks along."""
    return draw(*names) % PLACES


def draw_share(*names: object) -> float:
    """A number between 0 and 1 for these names."""
    return draw(*names) / 2**64

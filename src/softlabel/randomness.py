"""Randomness that belongs to a name, not to an order.

A draw keyed by seed, item and label is the same whatever the order of rows, the number of
processes or the point at which a run was resumed.  The mixing function is SplitMix64 (Steele,
Lea & Flood 2014), vectorised.
"""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from softlabel.tables import Floats, Names

Keys = npt.NDArray[np.uint64]


def name_keys(names: Names) -> Keys:
    """A stable 64-bit key per name; the same in every process and on every machine."""
    digests = (blake2b(name.encode(), digest_size=8).digest() for name in names.tolist())
    return np.frombuffer(b"".join(digests), dtype="<u8")


def uniform(seed: int, *keys: npt.ArrayLike) -> Floats:
    """Independent uniform(0, 1) numbers, one per combination of the (broadcast) keys.

    >>> bool(uniform(7, 1, 2) == uniform(7, 1, 2)), bool(uniform(7, 1, 2) == uniform(7, 2, 1))
    (True, False)
    """
    state = _mix(np.asarray(seed % 2**64, dtype=np.uint64))
    for key in keys:
        state = _mix(state ^ _mix(np.asarray(key).astype(np.uint64)))
    return np.asarray((state >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def _mix(x: Keys) -> Keys:
    with np.errstate(over="ignore"):  # arithmetic modulo 2**64 is the point
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))

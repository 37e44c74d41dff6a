"""The name of a run: a hash of all that decides what comes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel.errors import SoftlabelError

NAMED = "named"  # what things were called, for readers; the same labels in another file are no news
LENGTH = 16  # hexadecimal digits: 64 bits, of which no two of a million runs share all


def name(config: Mapping[str, Any], labels_sha: str, seed: int) -> str:
    """Sixteen hexadecimal digits; ``config`` is as JSON would keep it, less its names.

    >>> name({"net": "small", "lr": 0.1}, "ab12", 0) == name({"lr": 0.1, "net": "small"}, "ab12", 0)
    True
    >>> name({"lr": 0.1}, "ab12", 0) == name({"lr": 0.1}, "ab12", 1)
    False
    """
    decides = {key: value for key, value in config.items() if key != NAMED}
    text = as_json({"config": decides, "labels": labels_sha, "seed": seed})
    return sha256(text.encode()).hexdigest()[:LENGTH]


def as_json(value: Mapping[str, Any]) -> str:
    """One text per content, whatever the order of its keys."""
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SoftlabelError(
            f"the configuration of a run holds something that JSON cannot keep ({error}); numbers, "
            "text, true, false, none, lists and tables of them are right"
        ) from None


def digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """The sha256 of named arrays: their names, types, shapes and bytes.

    >>> digest({"a": np.zeros(2)}) == digest({"a": np.zeros(3)})
    False
    """
    sha = sha256()
    for key in sorted(arrays):
        array = np.ascontiguousarray(arrays[key])
        if array.dtype.kind not in "biufU":
            raise SoftlabelError(f"array {key!r} of type {array.dtype} has no fixed bytes to hash")
        sha.update(f"{key} {array.dtype.str} {array.shape}\n".encode())
        sha.update(array.view(np.uint8).data if array.size else b"")
    return sha.hexdigest()

"""Items whose class is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel.errors import DataError, UnknownName
from softlabel.tables import Index, Ints, given_away

UNKNOWN = -1

Gold = Mapping[str, str] | npt.NDArray[np.signedinteger[Any]]


def gold_codes(gold: Gold | None, index: Index) -> Ints | None:
    """(m,) the known class of each item, -1 where none is; None if nothing is known at all.

    ``gold`` is item name -> label name, or already an array of codes.
    """
    if gold is None:
        return None
    codes = _looked_up(gold, index) if isinstance(gold, Mapping) else _checked(gold, index)
    return given_away(codes) if (codes != UNKNOWN).any() else None


def _looked_up(gold: Mapping[str, str], index: Index) -> npt.NDArray[np.int32]:
    label = {name: code for code, name in enumerate(index.labels.tolist())}
    codes = np.full(len(index.items), UNKNOWN, dtype=np.int32)
    found = 0
    for code, item in enumerate(index.items.tolist()):
        if item in gold:
            if gold[item] not in label:
                raise UnknownName(f"label of gold item {item!r}", str(gold[item]), label)
            codes[code] = label[gold[item]]
            found += 1
    if found < len(gold):
        items = set(index.items.tolist())
        missing = next(name for name in gold if name not in items)
        raise DataError(
            f"gold names item {missing!r}, which nobody was asked about; "
            f"{len(gold) - found} of {len(gold)} gold items are unknown"
        )
    return codes


def _checked(gold: npt.ArrayLike, index: Index) -> npt.NDArray[np.int32]:
    codes = np.asarray(gold)
    m, _, k = index.shape
    if codes.shape != (m,) or codes.dtype.kind not in "iu":
        raise DataError(
            f"gold is an array of shape {codes.shape} and type {codes.dtype}, "
            f"expected ({m},) whole numbers: one code per item, -1 where the class is unknown"
        )
    wrong = (codes < UNKNOWN) | (codes >= k)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(f"gold of item {row} is {codes[row]}, expected -1 or a class 0..{k - 1}")
    return codes.astype(np.int32)

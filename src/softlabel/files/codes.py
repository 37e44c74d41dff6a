"""Names to integer codes, and the order of classes."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import polars as pl

from softlabel.errors import nearest
from softlabel.tables import Ints


def coded(column: pl.Series) -> tuple[list[str], Ints]:
    """The distinct values in order of first appearance, and the code of each row."""
    distinct = column.unique(maintain_order=True)
    return distinct.to_list(), codes_among(column, distinct)


def codes_among(column: pl.Series, known: pl.Series | list[str]) -> Ints:
    """The place of each value in ``known``, -1 where it is not there."""
    # a join is several times faster than ranks, a cast to Enum or np.unique, and keeps no cache
    table = pl.DataFrame({"name": known, "code": np.arange(len(known), dtype=np.int32)})
    rows = column.alias("name").to_frame()
    joined = rows.join(table, on="name", how="left", maintain_order="left")
    return joined["code"].fill_null(-1).to_numpy()


def natural(names: Iterable[str]) -> list[str]:
    """Numbers by size if all are numbers, else in alphabetical order.

    >>> natural(["10", "9", "-1"]), natural(["b10", "b9"])
    (['-1', '9', '10'], ['b10', 'b9'])
    """
    names = list(names)
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return sorted(names)
    if not all(map(math.isfinite, numbers)):
        return sorted(names)
    return [name for _, name in sorted(zip(numbers, names, strict=True))]


def no_such_class(value: str, labels: list[str]) -> str:
    """What is wrong with a class that is not in the list, with the nearest right spelling."""
    shown = ", ".join(labels[:20]) + (", …" if len(labels) > 20 else "")
    return f"no such class{nearest(value, labels)}; the classes are {shown}"

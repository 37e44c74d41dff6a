"""Names to integer codes, and the order of classes."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import polars as pl

from softlabel.errors import nearest
from softlabel.tables import NAMES, Ints, Names, given_away

PIECE = 2**16  # names that are Python objects at the same time
ROWS = 2**20  # codes that are renumbered at a time


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


class Coding:
    """Names that get codes as they are met, batch by batch.

    Several threads meet them, so the codes are 0, 1, ... in no particular order.
    """

    def __init__(self) -> None:
        self.kind = pl.Categorical(pl.Categories.random())
        self._kept = pl.Series([], dtype=self.kind)  # else polars would forget the names

    def code(self, column: str) -> pl.Expr:
        """The codes of a column of names."""
        return pl.col(column).cast(self.kind).to_physical()

    def names(self, codes: Ints | None = None) -> pl.Series:
        """The names of these codes, or of all."""
        if codes is None:
            return self.kind.categories.to_series()
        frame = pl.DataFrame({"name": codes.astype(np.uint32)})
        return frame.select(pl.col("name").cat.to(self.kind).cast(pl.String)).to_series()


def by_appearance(codes: Ints) -> tuple[Ints, Ints]:
    """The codes in the order in which they first appear, and the place there of each row's.

    Piece by piece, because numpy makes indices of eight bytes of the codes it is given.
    """
    n, m = len(codes), int(codes.max(initial=-1)) + 1
    first = np.full(m, n, dtype=np.int64)
    for start in reversed(range(0, n, ROWS)):
        piece = codes[start : start + ROWS][::-1]
        first[piece] = np.arange(start + len(piece) - 1, start - 1, -1)  # the last written remains
    order = np.argsort(first, kind="stable")
    place = np.empty(m, dtype=np.int32)
    place[order] = np.arange(m, dtype=np.int32)
    places = np.empty(n, dtype=np.int32)
    for start in range(0, n, ROWS):
        places[start : start + ROWS] = place[codes[start : start + ROWS]]
    return order, given_away(places)


def compact(column: pl.Series) -> Names:
    """A column of text as an array of names, without all of them being Python objects at once."""
    array: Names = np.empty(len(column), dtype=NAMES)
    for start in range(0, len(column), PIECE):
        array[start : start + PIECE] = column.slice(start, PIECE).to_list()
    return given_away(array)


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

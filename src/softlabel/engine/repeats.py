"""People who answered an item more than once: all votes on an item are in one part, so each part
knows its own."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from softlabel.aggregate import Engine
from softlabel.engine.partitions import ANNOTATOR, ITEM, NAME, Part, item_names
from softlabel.errors import DataError, FileError
from softlabel.io import scan_votes

REMEDY = "say what to do with --repeats first or all"


class Repeat(NamedTuple):
    """Somebody who answered an item again, and how many answers of the part are repeats."""

    item: str
    annotator: str
    answers: int


def first_repeat(part: Part) -> Repeat | None:
    """The first repeat of a part of hard votes, item by item, if there is one."""
    item = np.repeat(np.arange(part.items), np.diff(part.start))
    pair = item * max(part.annotators, 1) + part.annotator
    _, first = np.unique(pair, return_index=True)
    again = np.ones(len(pair), dtype=np.bool_)
    again[first] = False
    if not again.any():
        return None
    row = int(again.argmax())
    what = item_names(part.partitions, part.number)[int(item[row])]
    who = part.partitions.people()[NAME][int(part.annotator[row])]
    return Repeat(what, who, int(again.sum()))


def refuse_repeats(engine: Engine, source: Path) -> None:
    """Complain about somebody who answered an item a second time."""
    found = [repeat for repeat in engine.each(first_repeat) if repeat is not None]
    if not found:
        return
    item, who, _ = found[0]
    answers = sum(repeat.answers for repeat in found)
    rest = f" ({answers} answers are repeats)" if answers > 1 else ""
    said = f"{who!r} answered item {item!r}"
    kind = source.suffix.lower().removeprefix(".")
    rows = [] if source.is_dir() else _rows(source, kind, item, who)
    if len(rows) < 2:
        raise DataError(f"{source}: {said} more than once{rest}; {REMEDY}")
    one, two = rows
    if kind == "csv":  # row 0 is on line 2
        reason = f"{said} on line {one + 2} and again here{rest}; {REMEDY}"
        raise FileError(source, reason, line=two + 2)
    raise DataError(f"{source}: {said} in row {one + 1} and again in row {two + 1}{rest}; {REMEDY}")


def _rows(source: Path, kind: str, item: str, who: str) -> list[int]:
    """The first two rows of the file in which this person answers this item."""
    scan = scan_votes(source, kind)
    if scan is None:
        return []
    same = (pl.col(ITEM) == item) & (pl.col(ANNOTATOR) == who)
    found = scan.votes.with_row_index("row").filter(same).select("row").head(2)
    return found.collect(engine="streaming")["row"].to_list()

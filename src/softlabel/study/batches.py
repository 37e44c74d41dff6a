"""Items put into batches: by a column of their table, or by an allocation file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from softlabel.study.allocation import Allocation
from softlabel.study.gold import read_gold
from softlabel.study.model import Item
from softlabel.study.scope import Row, Scope, fault_of_name

Batches = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Targets:
    """The items that people are asked about, and their batches if there are any."""

    items: tuple[Item, ...] = ()
    batches: Batches = field(default_factory=dict)


def batched(found: list[tuple[Row, Item]], allocation: Allocation | None, scope: Scope) -> Targets:
    """The items of a table, in the batches of the allocation or of the column ``batch``."""
    if allocation is not None:
        return _allocated(found, allocation, scope)
    items = tuple(item for _, item in found)
    if not any("batch" in row.cells for row, _ in found):
        return Targets(items)
    batches: dict[str, list[str]] = {}
    for row, item in found:
        batch = row.cells.get("batch")
        if not isinstance(batch, str | int) or isinstance(batch, bool):
            row.wrong(scope, "batch", "must name a batch, as other lines do")
        elif fault := fault_of_name(str(batch)):
            row.wrong(scope, "batch", fault)
        else:
            batches.setdefault(str(batch), []).append(item.id)
    return Targets(items, {batch: tuple(ids) for batch, ids in batches.items()})


def _allocated(found: list[tuple[Row, Item]], allocation: Allocation, scope: Scope) -> Targets:
    """Items of a table, put into batches by an allocation that names their ids."""
    items, home = {item.id: item for _, item in found}, {item.id: row for row, item in found}
    batches: dict[str, list[str]] = {}
    taken: set[str] = set()
    for batch, rows in allocation.batches.items():
        for row in rows:
            name = _entry_name(row)
            if name not in items:
                row.wrong_value(scope, "id", name, "no such item", items)
            elif name in taken:
                row.wrong_value(scope, "id", name, "is in a batch already")
            else:
                taken.add(name)
                batches.setdefault(batch, []).append(name)
                gold = items[name].gold or read_gold(row, scope)
                items[name] = replace(items[name], gold=gold)
    for name in items:
        if name not in taken:
            home[name].wrong(scope, "id", f"is in no batch of {allocation.file}")
    for row, _ in found:
        if "batch" in row.cells:
            row.wrong(scope, "batch", f"batches are given by {allocation.file} already")
    return Targets(tuple(items.values()), {batch: tuple(ids) for batch, ids in batches.items()})


def _entry_name(row: Row) -> str:
    if "id" in row.cells:
        return str(row.cells["id"])
    return Path(str(row.cells.get("image", ""))).stem

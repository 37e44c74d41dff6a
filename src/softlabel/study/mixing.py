"""Batches that mix ambiguous items with a few easy ones, as Collins et al. 2022 made theirs.

An item is ambiguous or easy by the entropy of what is known about it, such as the votes of an
earlier study.  A batch has so many easy items, and is filled with ambiguous ones; both are drawn at
random, each item once.  An item between the two is in no batch.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.errors import FileError, SoftlabelError
from softlabel.metrics import entropy
from softlabel.study.items import TABLES, Row
from softlabel.study.new import to_csv
from softlabel.study.setup import read_lines
from softlabel.tables import SoftLabels

ENTROPY = "entropy"  # a column of a table, in nats
ID, BATCH = "id", "batch"


@dataclass(frozen=True)
class Mixture:
    """What a batch consists of; the defaults are the published ones.

    ``batches`` is their number, None for as many as can be filled.  The first ``without_easy`` of
    them have no easy items, as two of the published 40 have.
    """

    size: int = 25
    easy: int = 3
    ambiguous_from: float = 0.25  # nats
    easy_up_to: float = 0.1
    batches: int | None = None
    without_easy: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.easy <= self.size or self.size < 1:
            reason = f"must be at least 0 and at most the size of a batch, {self.size}"
            raise SoftlabelError(f"--easy {self.easy}: {reason}")
        if not 0 <= self.easy_up_to < self.ambiguous_from:
            reason = f"must be at least 0 and below --ambiguous-from {self.ambiguous_from:g}"
            raise SoftlabelError(f"--easy-up-to {self.easy_up_to:g}: {reason}")
        if self.batches is not None and self.batches < 1:
            raise SoftlabelError(f"--batches {self.batches}: must be at least 1")
        if self.batches is not None and not 0 <= self.without_easy <= self.batches:
            reason = f"there are only {self.batches} batches"
            raise SoftlabelError(f"--without-easy {self.without_easy}: {reason}")


@dataclass(frozen=True)
class Sorted:
    """Items by how clear they are, in the order given."""

    ambiguous: tuple[str, ...]
    easy: tuple[str, ...]
    between: tuple[str, ...]


@dataclass(frozen=True)
class Mixed:
    """Batches by name, each a list of items, and the items that they were drawn from."""

    batches: Mapping[str, tuple[str, ...]]
    items: Sorted

    def count(self, kind: str) -> int:
        """Count the items of a kind (``ambiguous`` or ``easy``) that are in a batch."""
        wanted = set(getattr(self.items, kind))
        return sum(item in wanted for batch in self.batches.values() for item in batch)


# ── what is known about the items ────────────────────────────────────────────────────────────


def measure_labels(labels: SoftLabels) -> dict[str, float]:
    """Return the entropy of every item that has a label, in nats."""
    nats = entropy(labels.probs)
    known = zip(labels.index.items.tolist(), nats.tolist(), labels.count.tolist(), strict=True)
    return {str(item): value for item, value, count in known if count > 0}


def read_entropies(path: Path) -> dict[str, float] | None:
    """Return the column ``entropy`` of a table, by item; None if it has no such column."""
    if path.suffix.lower() not in TABLES or not path.is_file():
        return None
    rows = read_lines(path)
    if not any(ENTROPY in row.cells for row in rows):
        return None
    found: dict[str, float] = {}
    for row in rows:
        name, text = row.cells.get("item", row.cells.get(ID)), row.cells.get(ENTROPY)
        try:
            value = float("nan") if isinstance(text, bool) or text is None else float(text)
        except (TypeError, ValueError):
            value = float("nan")
        if name is None:
            raise _wrong(path, row, "item", None, "is empty; name the item here or in id")
        if str(name) in found:
            raise _wrong(path, row, "item", name, "this item is there already")
        if not 0 <= value < float("inf"):
            raise _wrong(path, row, ENTROPY, text, "must be an entropy in nats, a number from 0")
        found[str(name)] = value
    return found


def _wrong(path: Path, row: Row, column: str, value: object, reason: str) -> FileError:
    line = int(row.place.removeprefix("line "))
    return FileError(path, reason, line=line, column=column, value=value)


def sort_items(entropies: Mapping[str, float], mixture: Mixture | None = None) -> Sorted:
    """Tell ambiguous from easy items by their entropy.

    >>> sort_items({"a": 0.0, "b": 0.2, "c": 0.7})
    Sorted(ambiguous=('c',), easy=('a',), between=('b',))
    """
    mixture = mixture or Mixture()
    kinds: dict[str, list[str]] = {"ambiguous": [], "easy": [], "between": []}
    for item, nats in entropies.items():
        if nats >= mixture.ambiguous_from:
            kinds["ambiguous"].append(item)
        else:
            kinds["easy" if nats <= mixture.easy_up_to else "between"].append(item)
    return Sorted(*map(tuple, kinds.values()))


# ── batches ──────────────────────────────────────────────────────────────────────────────────


def mix(entropies: Mapping[str, float], mixture: Mixture | None = None) -> Mixed:
    """Draw the items of every batch; the same seed and items give the same batches."""
    mixture = mixture or Mixture()
    items = sort_items(entropies, mixture)
    number = mixture.batches or max(1, _count_batches(items, mixture))  # one names what is missing
    sizes = [0 if place < mixture.without_easy else mixture.easy for place in range(number)]
    easy, ambiguous = sum(sizes), sum(mixture.size - size for size in sizes)
    for kind, wanted, there, limit in (
        ("ambiguous", ambiguous, items.ambiguous, f"from {mixture.ambiguous_from:g} nats"),
        ("easy", easy, items.easy, f"up to {mixture.easy_up_to:g} nats"),
    ):
        if wanted > len(there):
            raise SoftlabelError(
                f"batches of {mixture.size} with {mixture.easy} easy items: {number} of them need "
                f"{wanted} {kind} items, but only {len(there)} of {len(entropies)} items are "
                f"{kind} (entropy {limit}); take fewer or smaller batches, or another limit"
            )
    rng = np.random.default_rng([mixture.seed, number, mixture.size])
    drawn = {
        "easy": iter(rng.permutation(np.array(items.easy, dtype=object))[:easy]),
        "ambiguous": iter(rng.permutation(np.array(items.ambiguous, dtype=object))[:ambiguous]),
    }
    batches = {}
    for place, size in enumerate(sizes):
        own = [next(drawn["ambiguous"]) for _ in range(mixture.size - size)]
        own += [next(drawn["easy"]) for _ in range(size)]
        batches[str(place)] = tuple(str(own[k]) for k in rng.permutation(mixture.size))
    return Mixed(batches, items)


def _count_batches(items: Sorted, mixture: Mixture) -> int:
    """Return the largest number of batches that can be filled."""
    number = 0
    ambiguous, easy = len(items.ambiguous), len(items.easy)
    while True:
        size = 0 if number < mixture.without_easy else mixture.easy
        easy, ambiguous = easy - size, ambiguous - (mixture.size - size)
        if easy < 0 or ambiguous < 0:
            return number
        number += 1


# ── files ────────────────────────────────────────────────────────────────────────────────────


def read_items(path: Path) -> dict[str, dict[str, Any]]:
    """Return the lines of a table of items by their id; they must not be in batches already."""
    rows: dict[str, dict[str, Any]] = {}
    for row in read_lines(path):
        name = row.cells.get(ID)
        if name is None:
            raise _wrong(path, row, ID, None, "is empty; it names the item as its label does")
        if str(name) in rows:
            raise _wrong(path, row, ID, name, "this item is there already")
        if BATCH in row.cells:
            reason = "the item is in a batch already; remove this column"
            raise _wrong(path, row, BATCH, row.cells[BATCH], reason)
        rows[str(name)] = dict(row.cells)
    return rows


def render(mixed: Mixed, kind: str, rows: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Return the text of a file of this kind: ``csv`` and ``jsonl`` are tables of items with a
    column ``batch`` and the columns of ``rows``; ``json`` is an allocation."""
    if kind == "json":
        batches = {batch: [{ID: item} for item in own] for batch, own in mixed.batches.items()}
        return json.dumps({"batches": batches}, ensure_ascii=False, indent=1) + "\n"
    lines = [
        {**({ID: item} if rows is None else rows[item]), BATCH: batch}
        for batch, items in mixed.batches.items()
        for item in items
    ]
    if kind == "jsonl":
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    nested = [k for line in lines for k, cell in line.items() if isinstance(cell, dict | list)]
    if nested:
        raise SoftlabelError(f"the column {nested[0]} has more than one value; write to .jsonl")
    columns = list(dict.fromkeys(column for line in lines for column in line))
    return to_csv([{column: line.get(column, "") for column in columns} for line in lines])

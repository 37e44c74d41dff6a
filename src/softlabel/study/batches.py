"""The target items in their batches, and which of them a person sees again.

Items come from a folder or a table.  Batches come from a column of the table, or from an
allocation file.  Its published form, of CIFAR-10S, is a list that holds one object, from the
batch to a list of ``{"filename", "data_split", "example_idx", "label"}``, as JSON or as the
original JavaScript file.  Our own form is ``{"classes", "batches", "repeats"}``, whose entries
are ``{"id", "file", "gold"}``.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from softlabel.errors import nearest
from softlabel.study import findings, items
from softlabel.study.findings import FILE, Refused, find_name_fault
from softlabel.study.items import Row, Scope
from softlabel.study.model import Item
from softlabel.study.settings import Reader

SCRIPT = re.compile(r"\s*(?:var|let|const)\s+\w+\s*=(.*?);?\s*", re.DOTALL)
PUBLISHED = {"image": "filename", "id": "example_idx", "gold": "label"}  # our word: theirs
OURS = {"image": "file"}
SHAPE = "must be a list that holds one object of batches, or an object with the key batches"
STEP, USUAL = 5, 2  # CIFAR-10S repeated two items, those at positions 5 and 10


@dataclass(frozen=True)
class Allocation:
    """The entries of an allocation file by batch, its classes and its repeats."""

    file: str
    batches: dict[str, list[Row]]
    classes: tuple[str, ...] | None = None
    repeats: int | None = None
    positions: list[int] | None = None

    @property
    def named_classes(self) -> tuple[str, tuple[str, ...]] | None:
        """The classes, preceded by the name of the file."""
        return None if self.classes is None else (self.file, self.classes)


@dataclass(frozen=True)
class Targets:
    """The items that people are asked about, and the ids in each batch."""

    items: tuple[Item, ...] = ()
    batches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_allocation(reader: Reader) -> Allocation | None:
    """Read the allocation that ``study.toml`` names, if it names one."""
    name = reader.file.items.allocation
    text = None if name is None else reader.read_text("items.allocation", name)
    if name is None or text is None:
        return None
    script = SCRIPT.fullmatch(text)
    try:
        content = findings.load_json(script[1] if script else text)
        if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
            return Allocation(name, _read_batches(name, content[0], PUBLISHED, reader))
        if not isinstance(content, dict) or not isinstance(content.get("batches"), dict):
            raise Refused(SHAPE)
    except Refused as error:
        reader.findings.add(name, "", None, str(error))
        return None
    known = ("classes", "batches", "repeats")
    for key in content:
        if key not in known:
            reader.findings.add(name, key, None, f"no such key{nearest(key, known)}")
    batches = _read_batches(name, content["batches"], OURS, reader)
    classes, repeats = content.get("classes"), content.get("repeats")
    if classes is not None and not findings.is_text_list(classes):
        reader.findings.add(name, "classes", None, 'must be a list of labels: ["cat", "dog"]')
        classes = None
    if repeats is not None and not _are_repeats(repeats):
        reader.findings.add(name, "repeats", None, 'must be {"count": 2, "positions": [5, 10]}')
        repeats = None
    count, positions = (repeats or {}).get("count"), (repeats or {}).get("positions")
    return Allocation(name, batches, None if classes is None else tuple(classes), count, positions)


def _read_batches(
    name: str, content: dict[str, Any], words: dict[str, str], reader: Reader
) -> dict[str, list[Row]]:
    """Return rows by batch, with the column names of a table of items."""
    columns = {word: column for column, word in words.items()}
    batches: dict[str, list[Row]] = {}
    for batch, entries in content.items():
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            reader.findings.add(name, f"batch {batch}", None, "must be a list of objects")
        elif not entries:
            reader.findings.add(name, f"batch {batch}", None, "contains no item")
        else:
            if fault := find_name_fault(batch):
                reader.findings.add(name, "batch", batch, fault)
            batches[batch] = []
            for number, entry in enumerate(entries):
                cells = {columns.get(k, k): v for k, v in entry.items() if v not in (None, "")}
                batches[batch].append(Row(name, f"batch {batch}[{number}]", cells, words))
    if not content:
        reader.findings.add(name, "", None, "contains no batch")
    return batches


def _are_repeats(value: Any) -> bool:
    if not isinstance(value, dict) or not set(value) <= {"count", "positions"}:
        return False
    count, positions = value.get("count"), value.get("positions")
    if not isinstance(positions, list | None):
        return False
    numbers = [0 if count is None else count, *(positions or [])]
    return all(type(number) is int and number >= 0 for number in numbers)


def read_targets(source: str, allocation: Allocation | None, scope: Scope) -> Targets:
    """Read the items of ``items.source``, in the batches of the allocation or of the table."""
    try:
        path = findings.find_named(scope.folder, source)
        if path.is_dir():
            return _read_folder(path, allocation, scope)
        rows = items.read_table(path, "target", scope)
    except Refused as error:
        scope.findings.add(FILE, "items.source", source, str(error))
        return Targets()
    if allocation is not None:
        return _allocate(rows, allocation, scope)
    targets = tuple(item for _, item in rows)
    if not any("batch" in row.cells for row, _ in rows):
        return Targets(targets)
    batches: dict[str, list[str]] = {}
    for row, item in rows:
        batch = row.cells.get("batch")
        if not isinstance(batch, str | int) or isinstance(batch, bool):
            row.refuse(scope, "batch", "must name a batch, as other lines do")
        elif fault := find_name_fault(str(batch)):
            row.refuse(scope, "batch", fault)
        else:
            batches.setdefault(str(batch), []).append(item.id)
    return Targets(targets, {batch: tuple(ids) for batch, ids in batches.items()})


def _read_folder(path: Path, allocation: Allocation | None, scope: Scope) -> Targets:
    """Make one item per file in the order of names, or one per entry of the allocation."""
    files = list(items.list_files(path, scope))
    if scope.headings:
        reason = "needs a table of items, because the files of a folder have no columns"
        scope.findings.add(FILE, "items.headings", None, reason)
    if allocation is None:
        if not files:
            name, reason = scope.relative(path), "contains no picture, recording or video"
            scope.findings.add(FILE, "items.source", name, reason)
        made = (items.make_file_item(file, path, scope) for file in files)
        return Targets(tuple(item for item in made if item is not None))
    batches = {}
    for batch, rows in allocation.batches.items():
        made = (items.make_item(row, "target", path, scope) for row in rows)
        batches[batch] = tuple(item for item in made if item is not None)
    targets = tuple(item for batch in batches.values() for item in batch)
    named = {media.path for item in targets for media in item.media}
    left = [file for file in files if file.resolve() not in named]
    if left:
        reason = f"is in no batch and is not shown ({len(left)} files in all)"
        scope.findings.add_note(scope.relative(left[0]), "", None, reason)
    return Targets(targets, {batch: tuple(i.id for i in own) for batch, own in batches.items()})


def _allocate(rows: list[tuple[Row, Item]], allocation: Allocation, scope: Scope) -> Targets:
    """Put the items of a table into the batches of an allocation that names their ids."""
    targets = {item.id: item for _, item in rows}
    batches: dict[str, list[str]] = {}
    taken: set[str] = set()
    for batch, entries in allocation.batches.items():
        for row in entries:
            image = Path(str(row.cells.get("image", "")))
            name = str(row.cells.get("id", image.stem))
            if name not in targets:
                row.refuse_value(scope, "id", name, "no such item", targets)
            elif name in taken:
                row.refuse_value(scope, "id", name, "is in a batch already")
            else:
                taken.add(name)
                batches.setdefault(batch, []).append(name)
                gold = targets[name].gold or items.read_gold(row, scope)
                targets[name] = replace(targets[name], gold=gold)
    for row, item in rows:
        if item.id not in taken:
            row.refuse(scope, "id", f"is in no batch of {allocation.file}")
    for row, _ in rows:
        if "batch" in row.cells:
            row.refuse(scope, "batch", f"the batches are already given by {allocation.file}")
    return Targets(tuple(targets.values()), {batch: tuple(ids) for batch, ids in batches.items()})


def check_counts(reader: Reader, targets: Targets) -> None:
    """Check how many items a person can have."""
    section, available = reader.file.items, len(targets.items)
    wanted = section.per_annotator
    if wanted is not None and targets.batches:
        reason = "a person answers one batch, so the batches set the number; leave this out"
        reader.refuse("items.per_annotator", wanted, reason)
    elif wanted is not None and available and wanted > available:
        reader.refuse("items.per_annotator", wanted, f"there are only {available} items")
    if targets.batches and "batch_size" in section.model_fields_set:
        reason = "a person holds one batch, so the batches set the number; leave this out"
        reader.refuse("items.batch_size", section.batch_size, reason)
    sizes = sorted(map(len, targets.batches.values()))
    if sizes and sizes[0] != sizes[-1]:
        reason = f"batches have from {sizes[0]} to {sizes[-1]} items, so sessions differ in length"
        reader.note("items", None, reason)


def read_repeats(
    reader: Reader, allocation: Allocation | None, targets: Targets
) -> tuple[int, ...]:
    """Return the positions, among a person's own items, that are repeated; counted from 0."""
    section = reader.file.items
    count, positions = section.repeats, section.repeat_positions
    if count is None and positions is None and allocation is not None:
        count, positions = allocation.repeats, allocation.positions
    counts = [len(ids) for ids in targets.batches.values()]
    size = min(counts or [section.per_annotator or len(targets.items), len(targets.items)])
    if reader.is_broken("items.repeats", "items.repeat_positions") or not size:
        return ()
    if positions is not None:
        key = "items.repeat_positions"
        if count is not None and count != len(positions):
            reader.refuse(key, positions, f"repeats = {count}, so there must be as many positions")
        for place, times in Counter(positions).items():
            if place >= size:
                reason = f"a person has {size} items, at positions 0 to {size - 1}"
                reader.refuse(key, place, reason)
            if times > 1:
                reader.refuse(key, place, "is given more than once")
        return tuple(positions)
    if count is None:
        return tuple(place for place in range(STEP, STEP * USUAL + 1, STEP) if place < size)
    if count > size:
        reason = f"a person has only {size} items, so at most {size} can be repeated"
        reader.refuse("items.repeats", count, reason)
        return ()
    return spread(count, size)


def spread(count: int, size: int) -> tuple[int, ...]:
    """Return positions 5, 10, 15 and so on, or evenly spread ones if these do not fit.

    >>> spread(2, 25), spread(4, 12)
    ((5, 10), (2, 4, 7, 9))
    """
    if count * STEP < size:
        return tuple(STEP * n for n in range(1, count + 1))
    return tuple((n * size) // (count + 1) for n in range(1, count + 1))

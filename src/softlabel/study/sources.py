"""Where items come from: a folder of files, or a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from softlabel.errors import nearest
from softlabel.study.allocation import Allocation
from softlabel.study.batches import Targets, batched
from softlabel.study.items import COLUMNS, EXTRA, claim, make_item
from softlabel.study.media import open_media
from softlabel.study.model import Item, ItemKind
from softlabel.study.places import Refused, find, find_named, read_text
from softlabel.study.rows import read_rows
from softlabel.study.scope import Row, Scope
from softlabel.study.settings import FILE


def read_targets(source: str, allocation: Allocation | None, scope: Scope) -> Targets:
    """The items of ``items.source``, put into the batches of the allocation or of the table."""
    try:
        path = find_named(scope.folder, source)
        if path.is_dir():
            return _from_folder(path, allocation, scope)
        return batched(from_table(path, "target", scope), allocation, scope)
    except Refused as error:
        scope.findings.wrong(FILE, "items.source", source, str(error))
        return Targets()


def read_others(key: str, name: str | None, kind: ItemKind, scope: Scope) -> tuple[Item, ...]:
    """Practice items or checks, from the table that this key names."""
    if name is None:
        return ()
    try:
        rows = from_table(find_named(scope.folder, name), kind, scope)
    except Refused as error:
        scope.findings.wrong(FILE, key, name, str(error))
        return ()
    return tuple(item for _, item in rows)


# ── folders ──────────────────────────────────────────────────────────────────────────────────


def _from_folder(path: Path, allocation: Allocation | None, scope: Scope) -> Targets:
    """One item per file in the order of their names, or per entry of the allocation."""
    files = list(_walk(path, scope))
    if allocation is None:
        found = (_file_item(file, path, scope) for file in files)
        items = tuple(item for item in found if item is not None)
        if not files:
            name = _shown(path, scope)
            scope.findings.wrong(FILE, "items.source", name, "holds no picture or recording")
        return Targets(items)
    batches = {}
    for batch, rows in allocation.batches.items():
        made = (make_item(row, "target", path, scope) for row in rows)
        batches[batch] = tuple(item for item in made if item is not None)
    items = tuple(item for batch in batches.values() for item in batch)
    named = {media.path for item in items for media in item.media}
    left = [file for file in files if file.resolve() not in named]
    if left:
        reason = f"is in no batch and is not shown (as are {len(left)} files in all)"
        scope.findings.odd(_shown(left[0], scope), "", None, reason)
    return Targets(items, {batch: tuple(i.id for i in own) for batch, own in batches.items()})


def _walk(path: Path, scope: Scope) -> Iterator[Path]:
    for top, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in folders:
            if (Path(top) / name).is_symlink():
                file = _shown(Path(top) / name, scope)
                scope.findings.wrong(file, "", None, "is a link to a folder; copy the folder")
        yield from (Path(top) / name for name in sorted(files) if not name.startswith("."))


def _file_item(file: Path, folder: Path, scope: Scope) -> Item | None:
    """The item of one file; its id is its path in the folder, without the ending."""
    row = Row(_shown(file, scope), "the name", {})
    try:
        media = open_media(find(scope.folder, file.name, file.parent))
    except Refused as error:
        scope.findings.wrong(row.file, "", None, str(error))
        return None
    name = file.relative_to(folder).with_suffix("").as_posix()
    if not claim(name, row, scope):
        return None
    image, audio = (media, None) if media.mime.startswith("image") else (None, media)
    return Item(name, "target", image=image, audio=audio)


def _shown(path: Path, scope: Scope) -> str:
    return path.relative_to(scope.folder.resolve()).as_posix()


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def from_table(path: Path, kind: ItemKind, scope: Scope) -> list[tuple[Row, Item]]:
    """The items of a ``.csv`` or ``.jsonl`` file, each with its line.

    In a table of checks the column ``kind`` says which are gold and which are for attention.
    """
    name = _shown(path, scope)
    before = len(scope.findings)
    rows = read_rows(name, read_text(path), scope.findings)
    if not rows and len(scope.findings) == before:
        scope.findings.wrong(name, "", None, "holds no item")
    _note_columns(name, rows, (*COLUMNS, *EXTRA[kind]), scope)
    with_ids = any("id" in row.cells for row in rows)
    found = []
    for row in rows:
        if with_ids and "id" not in row.cells:
            row.wrong(scope, "id", "is empty, though other lines have one")
        own = _check_kind(row, scope) if kind == "gold" else kind
        item = make_item(row, own, path.parent, scope)
        if item is not None:
            found.append((row, item))
    return found


def _note_columns(name: str, rows: Iterable[Row], known: tuple[str, ...], scope: Scope) -> None:
    """Any column may stand there; one that looks like a slip of the pen is pointed out."""
    present = dict.fromkeys(column for row in rows for column in row.cells)
    absent = [column for column in known if column not in present]
    for column in present:
        hint = nearest(column, absent)
        if column not in known and hint:
            scope.findings.odd(name, column, None, f"is kept, but means nothing here{hint}")


def _check_kind(row: Row, scope: Scope) -> ItemKind:
    kind = row.cells.get("kind", "gold")
    if kind == "attention":
        return "attention"
    if kind != "gold":
        row.wrong(scope, "kind", "must be gold or attention", known=("gold", "attention"))
    return "gold"

"""One line that describes an item, read: what is shown, what is known, what it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softlabel.study.gold import read_gold
from softlabel.study.media import Channel, open_media
from softlabel.study.model import Item, ItemKind, Media
from softlabel.study.places import Missing, Refused, find, neighbours
from softlabel.study.scope import Row, Scope, fault_of_name, holds_control

SHOWN: tuple[Channel, ...] = ("image", "audio")
COLUMNS = ("id", *SHOWN, "text", "alt", "gold")
EXTRA: dict[ItemKind, tuple[str, ...]] = {
    "target": ("batch",),
    "training": ("feedback",),
    "gold": ("kind",),
    "attention": ("kind",),
}


def make_item(row: Row, kind: ItemKind, base: Path, scope: Scope) -> Item | None:
    """The item of this line, its files seen from ``base``; None if it cannot be one."""
    image, audio = (_media(row, channel, base, scope) for channel in SHOWN)
    text, alt = _text(row, "text", scope), _text(row, "alt", scope)
    feedback = _text(row, "feedback", scope) if kind == "training" else None
    gold = read_gold(row, scope)
    if not any(column in row.cells for column in (*SHOWN, "text")):
        row.wrong(scope, "image", "there must be an image, a text or audio")
        return None
    if kind in ("gold", "attention") and "gold" not in row.cells:
        row.wrong(scope, "gold", "a check must say what is right")
    name = _name(row)
    if not claim(name, row, scope):
        return None
    known = (*COLUMNS, *EXTRA[kind])
    meta = {key: str(value) for key, value in row.cells.items() if key not in known}
    return Item(str(name), kind, text, image, audio, alt or "", gold, feedback, meta)


def claim(name: Any, row: Row, scope: Scope) -> bool:
    """Whether this can be the id of a new item; if so it is taken."""
    fault = "must be a text or a whole number"
    if isinstance(name, str | int) and not isinstance(name, bool):
        fault = fault_of_name(str(name)) or ""
        if not fault and str(name) in scope.ids:
            fault = "is the id of another item too"
    if fault:
        row.wrong_value(scope, "id", name, fault)
        return False
    scope.ids.add(str(name))
    return True


def _name(row: Row) -> Any:
    """The id of an item: as given, or the name of its file, or the number of its line."""
    if "id" in row.cells:
        return row.cells["id"]
    for channel in SHOWN:
        if isinstance(row.cells.get(channel), str):
            return Path(row.cells[channel]).stem
    return row.place.removeprefix("line ")


def _text(row: Row, column: str, scope: Scope) -> str | None:
    value = row.cells.get(column)
    if value is None:
        return None
    if not isinstance(value, str) or holds_control(value, allowed="\n\t"):
        row.wrong(scope, column, "must be a text without control characters")
        return None
    return value


def _media(row: Row, channel: Channel, base: Path, scope: Scope) -> Media | None:
    name = row.cells.get(channel)
    if name is None:
        return None
    if not isinstance(name, str):
        row.wrong(scope, channel, "must be the name of a file")
        return None
    try:
        return open_media(find(scope.folder, name, base), channel)
    except Missing as error:
        row.wrong(scope, channel, str(error), known=neighbours(base, name))
    except Refused as error:
        row.wrong(scope, channel, str(error))
    return None

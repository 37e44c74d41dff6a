"""Items, one per line of a table or one per file of a folder, and the media that they show.

A line gives what is shown (pictures, sound, video, texts), what is known (gold) and the id of the
item.
"""

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from softlabel.errors import nearest
from softlabel.records import CHECKS
from softlabel.study import findings
from softlabel.study.findings import FILE, Findings, Refused, find, find_name_fault, has_control
from softlabel.study.model import Item, ItemKind, Media

Channel = Literal["image", "audio", "video"]
CHANNELS: tuple[Channel, ...] = ("image", "audio", "video")
PAIRS = ("image", "alt")  # columns that have a second one, such as image_2
TEXTS = ("text", "question", "note")  # columns that may also stand under a heading
COLUMNS = ("id", *CHANNELS, "image_2", "text", "alt", "alt_2", "question", "note", "gold")
EXTRA = {"target": ("batch",), "training": ("feedback",)} | dict.fromkeys(CHECKS, ("kind",))
TOLERANCE = 1e-6  # of the sum of probabilities


@dataclass(frozen=True)
class Scope:
    """What the readers of items share: folder, findings, labels, and the ids used so far."""

    folder: Path
    findings: Findings
    labels: tuple[str, ...] | None  # None: they could not be read, and names are not checked
    ids: set[str] = field(default_factory=set)
    certain: dict[str, tuple[float, ...]] = field(default_factory=dict)  # gold that is one label
    headings: Mapping[str, str] = field(
        default_factory=dict
    )  # column of a text: what stands above it
    markdown: bool = False  # whether texts and notes are Markdown

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """The index of each label."""
        return {label: code for code, label in enumerate(self.labels or ())}

    def relative(self, path: Path) -> str:
        return path.relative_to(self.folder.resolve()).as_posix()


class Row(NamedTuple):
    """One line of a table of items, or one entry of an allocation."""

    file: str
    place: str  # "line 7"
    cells: Mapping[str, Any]
    words: Mapping[str, str] = MappingProxyType({})  # what the file calls a column, if otherwise

    def refuse(self, scope: Scope, column: str, reason: str, known: Iterable[str] = ()) -> None:
        """Add a mistake in a cell of this line."""
        self.refuse_value(scope, column, self.cells.get(column), reason, known)

    def refuse_value(
        self, scope: Scope, column: str, value: object, reason: str, known: Iterable[str] = ()
    ) -> None:
        """Add a mistake about a value that is part of the cell, or stands for it."""
        word = self.words.get(column, column)
        scope.findings.add_line(self.file, self.place, word, value, reason, known)


# ── pictures, recordings and videos ──────────────────────────────────────────────────────────────
# Their type is read from the first bytes and never from the name.

HEAD = 256  # bytes that are read
MARKUP = re.compile(rb"\s*<[!?a-z]", re.IGNORECASE)
NAMES = {
    "image": "PNG, JPEG, GIF, WebP and AVIF",
    "audio": "WAV, MP3, Ogg and FLAC",
    "video": "WebM and MP4",
}
MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"OggS": "audio/ogg",
    b"fLaC": "audio/flac",
    b"ID3": "audio/mpeg",
}
EBML = b"\x1a\x45\xdf\xa3"  # of WebM, and of Matroska, which browsers do not play
WEBM = re.compile(rb"\x42\x82(?:[\x80-\xff]|[\x40-\x7f].)webm", re.DOTALL)  # a text and its size
MP4 = {b"mp41", b"mp42", b"avc1", b"av01", b"dash", b"M4V ", b"isom"}
MP4 |= {b"iso%d" % number for number in range(2, 10)}
SOUND_ONLY = {b"M4A ", b"M4B ", b"M4P "}


def detect_type(head: bytes) -> str | None:
    """Return the media type of a file that begins so, or None if it cannot be served."""
    for magic, mime in MAGIC.items():
        if head.startswith(magic):
            return mime
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12])
    if head[4:8] == b"ftyp":
        return _detect_brand(head[8 : int.from_bytes(head[:4], "big")])
    if head.startswith(EBML):
        return "video/webm" if WEBM.search(head) else None
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    # an MPEG frame: eleven bits set, a valid version, layer, bit rate and sampling rate
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    rate, sampling = head[2] >> 4, head[2] >> 2 & 3
    valid = version != 1 and layer != 0 and rate not in (0, 15) and sampling != 3
    return "audio/mpeg" if valid else None


def _detect_brand(brands: bytes) -> str | None:
    """Return the type of a file of the MP4 family: its own brand, a version, and related brands."""
    own = brands[:4]
    known = {own, *(brands[place : place + 4] for place in range(8, len(brands), 4))}
    if not known.isdisjoint({b"avif", b"avis"}):
        return "image/avif"
    return "video/mp4" if own not in SOUND_ONLY and known & MP4 else None


def open_media(path: Path, channel: Channel | None = None) -> Media:
    """Return the picture, recording or video at this path; refuse anything else."""
    findings.require_file(path)
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from error
    mime = detect_type(head)
    if mime is None and MARKUP.match(head.removeprefix(b"\xef\xbb\xbf")):
        raise Refused("is SVG, HTML or XML, which can contain scripts; save the picture as PNG")
    if mime is None or (channel and not mime.startswith(channel)):
        known = NAMES[channel] if channel else "; ".join(NAMES.values())
        raise Refused(f"is {mime or 'of an unknown type'}; what can be shown is {known}")
    return Media(path, mime)


# ── one item ─────────────────────────────────────────────────────────────────────────────────


def make_item(row: Row, kind: ItemKind, base: Path, scope: Scope) -> Item | None:
    """Return the item of this line, with files relative to ``base``; None if it has none.

    Its id is as given, or the name of its file, or its line number.
    """
    row = _split_pairs(row, scope)
    media = {name: _read_media(row, name, base, scope) for name in (*CHANNELS, "image_2")}
    words = {name: _read_text_cell(row, name, scope) for name in (*TEXTS, "alt", "alt_2")}
    named = {name: _read_text_cell(row, name, scope) for name in scope.headings}
    feedback = _read_text_cell(row, "feedback", scope) if kind == "training" else None
    gold = read_gold(row, scope)
    if not any(column in row.cells for column in (*CHANNELS, "text", *scope.headings)):
        row.refuse(scope, "image", "there must be an image, a text, audio or a video")
        return None
    if "image_2" in row.cells and "image" not in row.cells:
        row.refuse(scope, "image_2", "there must be an image beside it")
    if kind in CHECKS and "gold" not in row.cells:
        row.refuse(scope, "gold", "a check must give the right answer")
    files = [row.cells[channel] for channel in CHANNELS if isinstance(row.cells.get(channel), str)]
    default = Path(files[0]).stem if files else row.place.removeprefix("line ")
    name = row.cells.get("id", default)
    if not claim_id(name, row, scope):
        return None
    known = (*COLUMNS, *EXTRA[kind], *scope.headings)
    return Item(
        str(name),
        kind,
        text=None if "text" in scope.headings else words["text"],
        image=media["image"],
        audio=media["audio"],
        alt=words["alt"] or "",
        gold=gold,
        feedback=feedback,
        meta={key: str(value) for key, value in row.cells.items() if key not in known},
        texts=tuple((scope.headings[key], text) for key, text in named.items() if text),
        image_2=media["image_2"],
        alt_2=words["alt_2"] or "",
        video=media["video"],
        question=None if "question" in scope.headings else words["question"],
        note=None if "note" in scope.headings else words["note"],
        markdown=scope.markdown,
    )


def _split_pairs(row: Row, scope: Scope) -> Row:
    """Put the entries of lists, as in ``"image": ["a.png", "b.png"]``, into two columns."""
    if not any(isinstance(row.cells.get(column), list) for column in PAIRS):
        return row
    cells = dict(row.cells)
    for column in PAIRS:
        entries, second = cells.get(column), f"{column}_2"
        if not isinstance(entries, list):
            continue
        if not 1 <= len(entries) <= 2 or second in cells:
            row.refuse(scope, column, f"a list has one or two entries, and no {second} beside it")
        del cells[column]
        cells |= zip((column, second), entries, strict=False)
    given = {name: value for name, value in cells.items() if value not in (None, "")}
    return row._replace(cells=given)


def check_headings(scope: Scope) -> None:
    """Check that every column with a heading is one that can hold a text."""
    known = {*COLUMNS, *(column for extra in EXTRA.values() for column in extra)} - {*TEXTS}
    for column, heading in scope.headings.items():
        if column in known:
            key, reason = f"items.headings.{column}", f"the column {column} holds no text to show"
            scope.findings.add(FILE, key, heading, reason)


def claim_id(name: Any, row: Row, scope: Scope) -> bool:
    """Return whether this can be the id of a new item; if so, mark it as used."""
    fault = "must be a text or a whole number"
    if isinstance(name, str | int) and not isinstance(name, bool):
        fault = find_name_fault(str(name)) or ""
        if not fault and str(name) in scope.ids:
            fault = "is the id of another item, too"
    if fault:
        row.refuse_value(scope, "id", name, fault)
        return False
    scope.ids.add(str(name))
    return True


def _read_text_cell(row: Row, column: str, scope: Scope) -> str | None:
    value = row.cells.get(column)
    if value is None or (isinstance(value, str) and not has_control(value, allowed="\n\t")):
        return value
    row.refuse(scope, column, "must be a text without control characters")
    return None


def _read_media(row: Row, column: str, base: Path, scope: Scope) -> Media | None:
    name = row.cells.get(column)
    channel = next(channel for channel in CHANNELS if column.startswith(channel))
    if name is None:
        return None
    if not isinstance(name, str):
        row.refuse(scope, column, "must be the name of a file")
        return None
    try:
        return open_media(find(scope.folder, name, base), channel)
    except findings.Missing as error:
        row.refuse(scope, column, str(error), known=findings.list_siblings(base, name))
    except Refused as error:
        row.refuse(scope, column, str(error))
    return None


def read_gold(row: Row, scope: Scope) -> tuple[float, ...] | None:
    """Return the distribution in the cell ``gold``, a label or a table of probabilities; None if
    there is none, or if it has a mistake."""
    value = row.cells.get("gold")
    if value is None or scope.labels is None:
        return None
    if isinstance(value, str | int) and not isinstance(value, bool):
        value = str(value)
        if value not in scope.codes:
            row.refuse(scope, "gold", "no such label", known=scope.codes)
            return None
        if value not in scope.certain:  # shared by all items of a label
            scope.certain[value] = tuple(float(label == value) for label in scope.codes)
        return scope.certain[value]
    if not isinstance(value, dict):
        row.refuse(scope, "gold", "must be a label, or a table from label to probability")
        return None
    return _read_distribution(value, row, scope)


def _read_distribution(value: dict[str, Any], row: Row, scope: Scope) -> tuple[float, ...] | None:
    before = len(scope.findings)
    for label, p in value.items():
        if label not in scope.codes:
            row.refuse_value(scope, "gold", label, "no such label", scope.codes)
        elif not isinstance(p, int | float) or isinstance(p, bool) or not 0 <= p <= 1:
            row.refuse_value(scope, f"gold.{label}", p, "must be a probability from 0 to 1")
    if len(scope.findings) == before and abs(sum(value.values()) - 1) > TOLERANCE:
        row.refuse(scope, "gold", "the probabilities must sum to 1")
    if len(scope.findings) > before:
        return None
    return tuple(float(value.get(label, 0.0)) for label in scope.codes)


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def read_others(key: str, name: str | None, kind: ItemKind, scope: Scope) -> tuple[Item, ...]:
    """Return practice items or checks, from the table that this key of ``study.toml`` names."""
    if name is None:
        return ()
    try:
        rows = read_table(findings.find_named(scope.folder, name), kind, scope)
    except Refused as error:
        scope.findings.add(FILE, key, name, str(error))
        return ()
    return tuple(item for _, item in rows)


def read_table(
    path: Path, kind: ItemKind, scope: Scope, base: Path | None = None
) -> list[tuple[Row, Item]]:
    """Return the items of a ``.csv`` or ``.jsonl`` file, each with its line; in a table of checks
    the column ``kind`` tells gold and attention checks apart.  Files are relative to ``base``, by
    default the folder of the table."""
    name, before = scope.relative(path), len(scope.findings)
    text = findings.read_text(path)
    suffix = path.suffix.lower()
    if suffix not in TABLES:
        raise Refused(f"must end in {' or '.join(TABLES)}{nearest(suffix, TABLES)}")
    rows = list(TABLES[suffix](name, text, scope))
    if not rows and len(scope.findings) == before:
        scope.findings.add(name, "", None, "contains no item")
    present = _check_columns(name, rows, kind, scope)
    if rows and not present.keys() & {*CHANNELS, "text", *scope.headings}:
        first = next((column for column in present if column not in COLUMNS), "COLUMN")
        reason = (
            f"no column is called text, image, audio or video; its columns are: "
            f"{', '.join(present)}; rename one of them, or name texts in study.toml: [items] "
            f'headings = {{ {first} = "…" }}'
        )
        scope.findings.add(name, "line 1", None, reason)
        return []
    items = []
    for row in rows:
        if "id" in present and "id" not in row.cells:
            row.refuse(scope, "id", "is empty, though other lines have one")
        own = kind
        if kind == "gold":
            given = row.cells.get("kind", "gold")
            own = "attention" if given == "attention" else "gold"
            if given != own:
                row.refuse(scope, "kind", "must be gold or attention", CHECKS)
        item = make_item(row, own, base or path.parent, scope)
        if item is not None:
            items.append((row, item))
    return items


def _check_columns(name: str, rows: list[Row], kind: ItemKind, scope: Scope) -> dict[str, None]:
    """Return the columns in which something is given, in order."""
    present = dict.fromkeys(column for row in rows for column in row.cells)
    known = (*COLUMNS, *EXTRA[kind], *scope.headings)
    for column, heading in scope.headings.items() if kind == "target" and rows else ():
        if column not in present:
            reason = f"{name} has no such column, or nothing in it{nearest(column, present)}"
            scope.findings.add(FILE, f"items.headings.{column}", heading, reason)
    absent = [column for column in known if column not in present]
    for column in present:  # any column is allowed, but some look like misspelt ones
        if column not in known and (hint := nearest(column, absent)):
            scope.findings.add_note(name, column, None, f"is kept, but means nothing here{hint}")
    return present


def find_separator(header: str) -> str | None:
    """Return what separates the columns of a first line without commas, if anything does."""
    known = {";": "semicolons", "\t": "tabs", "|": "bars"}
    return next((word for mark, word in known.items() if mark in header), None)


def _read_csv(name: str, text: str, scope: Scope) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            place, line = f"line {line}", reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                if len(header) == 1 and (other := find_separator(header[0])):
                    reason = (
                        f"the columns are separated by {other}, as in {header[0][:40]!r}; save "
                        "the table with commas (in a spreadsheet program: CSV, field separator ,)"
                    )
                    scope.findings.add(name, "line 1", None, reason)
                    return
                for column in dict.fromkeys(header):
                    if not column:
                        scope.findings.add(name, "line 1", None, "a column has no name")
                    elif header.count(column) > 1:
                        scope.findings.add(name, "line 1", column, "two columns have this name")
            elif len(cells) != len(header):
                reason = f"has {len(cells)} cells; the first line names {len(header)} columns"
                scope.findings.add(name, place, None, reason)
            else:
                yield Row(name, place, {k: v for k, v in zip(header, cells, strict=True) if v})
    except csv.Error as error:
        scope.findings.add(name, f"line {reader.line_num}", None, f"is not CSV: {error}")


def _read_jsonl(name: str, text: str, scope: Scope) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            cells = findings.load_json(line)
            if not isinstance(cells, dict):
                raise Refused('must be an object: {"text": "…"}')
        except Refused as error:
            scope.findings.add(name, place, None, str(error))
        else:
            yield Row(name, place, {k: v for k, v in cells.items() if v not in (None, "")})


TABLES = {".csv": _read_csv, ".jsonl": _read_jsonl}


# ── folders ──────────────────────────────────────────────────────────────────────────────────


def list_files(path: Path, scope: Scope) -> Iterator[Path]:
    """Yield the files in a folder and its sub-folders, in the order of names."""
    for top, folders, files in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in folders:
            if (Path(top) / name).is_symlink():
                file = scope.relative(Path(top) / name)
                scope.findings.add(file, "", None, "is a link to a folder; copy the folder")
        yield from (Path(top) / name for name in sorted(files) if not name.startswith("."))


def make_file_item(file: Path, folder: Path, scope: Scope) -> Item | None:
    """Return the item of one file; its id is its path in the folder, without the suffix."""
    row = Row(scope.relative(file), "the name", {})
    try:
        media = open_media(find(scope.folder, file.name, file.parent))
    except Refused as error:
        scope.findings.add(row.file, "", None, str(error))
        return None
    name = file.relative_to(folder).with_suffix("").as_posix()
    if not claim_id(name, row, scope):
        return None
    return Item(name, "target", **{media.mime.partition("/")[0]: media})  # type: ignore[arg-type]

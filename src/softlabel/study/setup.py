"""A new study of somebody's own items: a folder of pictures, recordings or videos, a table, or the
export of another annotation program.

Files are copied into the study folder (as hard links where the disk allows it), so that the study
does not depend on where they came from.  If anything is wrong, nothing is written.
"""

import json
import os
import re
import shlex
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from softlabel import io
from softlabel.errors import SoftlabelError, StudyError, nearest
from softlabel.study.findings import Findings, Refused, load_json, read_text
from softlabel.study.folder import read
from softlabel.study.items import CHANNELS, NAMES, TABLES, Channel, Row, Scope, open_media
from softlabel.study.labels import MANY_LABELS
from softlabel.study.new import NEW, to_csv, write_file, write_settings
from softlabel.study.new import require_empty as require_empty
from softlabel.study.presets import write_enlarged
from softlabel.study.schema import StudySection

PER_PERSON = 30  # items that one person answers, unless there are fewer
LISTED = 5  # names in a message
LOOKED_AT = 20  # files of a folder, to guess what it contains
WORDS: dict[str, tuple[str, str]] = {  # what such items are called, and the folder for them
    "image": ("pictures", "images"),
    "audio": ("recordings", "audio"),
    "video": ("videos", "video"),
}
OPTIONS = {"image": "--images", "audio": "--audio", "video": "--video"}
TITLES = {
    "image": "What does this picture show?",
    "audio": "What do you hear?",
    "video": "What does this video show?",
    "text": "Which label fits this text?",
}
UNREADABLE = {  # endings of files that people expect to be shown or played, and cannot be
    "image": ".svg .tif .tiff .heic .heif .bmp .psd .jxl .jp2 .png .jpg .jpeg .gif .webp .avif",
    "audio": ".m4a .aac .wma .aif .aiff .amr .wav .mp3 .ogg .flac .opus",
    "video": ".mov .avi .mkv .wmv .m4v .mpg .mpeg .flv .mp4 .webm",
}
MEDIA_COLUMNS = (*CHANNELS, "image_2")


@dataclass(frozen=True)
class Material:
    """What a study is made of: the lines of its table, the files they name, and its settings."""

    kind: str  # image, audio, video or text
    table: str  # the name of the table in the study folder
    rows: Sequence[Mapping[str, Any]]
    files: Mapping[str, Path] = field(default_factory=dict)  # name in the study folder -> file
    items: Mapping[str, Any] = field(default_factory=dict)  # settings of [items]
    notes: tuple[str, ...] = ()  # what was left out
    enlarge: int | None = None  # pixels of the longer side that smaller pictures are given

    @property
    def folders(self) -> tuple[str, ...]:
        """The sub-folders of a folder of media, which are often called like the labels."""
        parts = [Path(str(row.get("id", ""))).parts for row in self.rows]
        deep = all(len(part) > 1 for part in parts) and self.kind != "text"
        return tuple(sorted({part[0] for part in parts})) if deep else ()


# ── folders of media ─────────────────────────────────────────────────────────────────────────


def find_media(folder: Path, channel: Channel) -> Material:
    """Return the pictures, recordings or videos in a folder and its sub-folders, one per item."""
    words, home = WORDS[channel]
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "no such folder"
        hint = f"; for a table write --table {_quote(folder)}" if folder.suffix in TABLES else ""
        raise SoftlabelError(f"{folder}: {what}; name the folder that contains the {words}{hint}")
    rows: list[dict[str, str]] = []
    files: dict[str, Path] = {}
    others: list[Path] = []
    refused: list[str] = []
    for path in _walk(folder):
        try:
            open_media(path, channel)
        except Refused as error:
            if path.suffix.lower() in UNREADABLE[channel].split():
                refused.append(f"{path}: {error}")
            others.append(path)
            continue
        name = path.relative_to(folder)
        files[f"{home}/{name.as_posix()}"] = path
        row = {"id": name.with_suffix("").as_posix(), channel: f"{home}/{name.as_posix()}"}
        rows.append(row | ({"alt": ""} if channel == "image" else {}))
    if refused:
        more = f"\nand {len(refused) - LISTED} more files" if len(refused) > LISTED else ""
        advice = f"\nconvert these files to one of {NAMES[channel]}, or remove them"
        raise SoftlabelError("\n".join(refused[:LISTED]) + more + advice)
    if not rows:
        raise SoftlabelError(f"{folder}: contains no {words}; {_describe(folder, others)}")
    counts = Counter(row["id"] for row in rows)
    for twice in (name for name, count in counts.items() if count > 1):
        same = sorted(row[channel].partition("/")[2] for row in rows if row["id"] == twice)
        raise SoftlabelError(
            f"{folder}: {' and '.join(same)} would both have the id {twice!r}; rename one of them"
        )
    notes: tuple[str, ...] = ()
    if others:
        named = _shorten([path.relative_to(folder).as_posix() for path in others])
        notes = (f"left out of {folder}, because they are no {words}: {named}",)
    return Material(channel, "items.csv", rows, files, notes=notes)


def contains(folder: Path, channel: Channel) -> bool:
    """Return whether a folder contains such media; only its first files are looked at."""
    for path in islice(_walk(folder), LOOKED_AT):
        with suppress(Refused):
            open_media(path, channel)
            return True
    return False


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and its sub-folders in the order of names, hidden ones not."""
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(top) / name for name in sorted(names) if not name.startswith("."))


def _quote(path: Path) -> str:
    """Return a path as it is typed."""
    return shlex.quote(str(path))


def _describe(folder: Path, files: Sequence[Path]) -> str:
    """Say what is in a folder instead, and which option would be right for it."""
    if not files:
        return "it is empty"
    counts = Counter(path.suffix.lower() or "without an ending" for path in files)
    text = "found " + ", ".join(f"{n} {suffix}" for suffix, n in counts.most_common(LISTED))
    for channel in CHANNELS:
        if contains(folder, channel):
            return f"{text}; for {WORDS[channel][0]} write {OPTIONS[channel]} {_quote(folder)}"
    tables = [path for path in files if path.suffix.lower() in TABLES]
    return f"{text}; for a table write --table {_quote(tables[0])}" if tables else text


def _shorten(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def list_columns(path: Path) -> tuple[str, ...]:
    """Return the columns of a table in which something is given, in order."""
    return tuple(dict.fromkeys(column for row in read_lines(path) for column in row.cells))


def guess_text(path: Path) -> str:
    """Return the column ``text`` of a table, or else the one with the longest texts."""
    lengths: Counter[str] = Counter()
    for row in read_lines(path):
        lengths.update({column: len(str(value)) for column, value in row.cells.items()})
    return "text" if "text" in lengths else lengths.most_common(1)[0][0]


def read_material(path: Path, texts: Sequence[str] = ()) -> Material:
    """Return the items of a table; ``texts`` are the columns to show.

    One column becomes the column ``text``.  Several become texts with headings.
    """
    rows = read_lines(path)
    present = dict.fromkeys(column for row in rows for column in row.cells)
    found = f"its columns are: {', '.join(present)}"
    for column in texts:
        if column not in present:
            hint = nearest(column, present)
            reason = f"has no column {column!r}, or nothing in it{hint}; {found}"
            raise SoftlabelError(f"{path}: {reason}")
        if texts.count(column) > 1:
            raise SoftlabelError(f"{path}: --text names the column {column!r} twice")
    if not texts and not {*CHANNELS, "text"} & present.keys():
        known = {"id", "gold", "batch", "alt", "kind", "label", "labels", "split"}
        likely = next((column for column in present if column.lower() not in known), "COLUMN")
        raise SoftlabelError(
            f"{path}: no column is called text, image, audio or video; {found}; "
            f"name the column that people read: --text {likely}"
        )
    cells = [dict(row.cells) for row in rows]
    settings: dict[str, Any] = {}
    if len(texts) == 1 and "text" not in present:
        cells = [{_rename(key, texts[0]): value for key, value in row.items()} for row in cells]
    elif len(texts) == 1 and texts[0] == "text":
        pass
    elif texts:
        settings["headings"] = {column: _make_heading(column) for column in texts}
    files = {name: file for row in rows for name, file in _find_files(row, path)}
    kind = next((channel for channel in CHANNELS if channel in present), "text")
    if kind == "text" and "id" not in present:
        cells = [({"id": str(number)} | row) for number, row in enumerate(cells, start=1)]
    return Material(kind, f"items{path.suffix.lower()}", cells, files, settings)


def _rename(key: str, text: str) -> str:
    return "text" if key == text else key


def _make_heading(column: str) -> str:
    """Return a heading for a column.

    >>> _make_heading("premise_1")
    'Premise 1'
    """
    words = re.sub(r"[_\s]+", " ", column).strip()
    return words[:1].upper() + words[1:]


def read_lines(path: Path) -> list[Row]:
    """Read a table without looking at what its cells mean."""
    if path.is_dir():
        raise SoftlabelError(f"{path}: is a folder; for pictures write --images {path}")
    if not path.exists():
        raise SoftlabelError(f"{path}: no such file")
    reader = TABLES.get(path.suffix.lower())
    if reader is None:
        raise SoftlabelError(
            f"{path}: a table must end in {' or '.join(TABLES)}; in a spreadsheet program, save it "
            "as CSV in UTF-8, separated by commas"
        )
    findings = Findings()
    scope = Scope(path.parent, findings, None)
    try:
        rows = list(reader(str(path), read_text(path), scope))
    except Refused as error:
        raise SoftlabelError(f"{path}: {error}; save it as CSV in UTF-8") from error
    if findings:
        raise StudyError(findings.problems)
    if not rows:
        raise SoftlabelError(f"{path}: contains no item below its first line")
    return rows


def _find_files(row: Row, table: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files that a line names, which are relative to its table."""
    for column in MEDIA_COLUMNS:
        value = row.cells.get(column, [])
        for name in value if isinstance(value, list) else [value]:
            path = table.parent / str(name)
            if Path(str(name)).is_absolute() or ".." in Path(str(name)).parts:
                reason = f"must be in the folder of the table, {table.parent}, or below it"
            elif not path.is_file():
                reason = f"no such file in {table.parent}"
            else:
                yield Path(str(name)).as_posix(), path
                continue
            raise SoftlabelError(f"{table}, {row.place}, {column} = {name!r}: {reason}")


# ── exports of other programs ────────────────────────────────────────────────────────────────


def read_export(
    path: Path, how: Any = None, texts: Sequence[str] = ()
) -> tuple[Material, tuple[str, ...]]:
    """Return the items of another program's export, and the labels that were given to them.

    ``how`` is its format; None: told from the content.  ``texts`` are the fields to show.
    """
    found = io.formats.find_format(path, how)
    if found is None:
        raise SoftlabelError(
            f"{path}: is no export of a program that softlabel knows (see 'softlabel list format');"
            f" for a table of items write --table {path}"
        )
    table = io.formats.read_table(*found)
    shown = {item: _flatten(content) for item, content in table.contents.items()}
    fields = dict.fromkeys(field for content in shown.values() for field in content)
    if not fields:
        name = found[0].name
        raise SoftlabelError(f"{path}: a file of {name} does not contain what people saw")
    media = {field: _find_channel(field, shown.values()) for field in fields}
    kinds = {channel: field for field, channel in media.items() if channel is not None}
    columns = _choose_texts(path, list(texts), [field for field in fields if not media[field]])
    if not columns and not kinds:
        raise SoftlabelError(
            f"{path}: no field is called text; its fields are: {', '.join(fields)}; name those "
            f"that people read: --text {next(iter(fields))}"
        )
    rows: list[dict[str, str]] = []
    files: dict[str, Path] = {}
    for item, content in shown.items():
        row = {"id": item}
        for channel, name in kinds.items():
            if name in content:
                row[channel], file = _find_beside(path, item, name, content[name], channel)
                files[row[channel]] = file
        several = len(columns) > 1
        row |= {name if several else "text": content[name] for name in columns if name in content}
        rows.append(row)
    settings = {"headings": {name: _make_heading(name) for name in columns}} if several else {}
    kind = next((channel for channel in CHANNELS if channel in kinds), "text")
    unused = [field for field in fields if field not in columns and field not in kinds.values()]
    notes = (f"fields that are not shown: {', '.join(unused)}",) if unused else ()
    labels: tuple[str, ...] = ()
    if table.rows:
        made = io.formats.make_answers(path, found[0], table, None, io.Reading())
        labels = tuple(made.answers.index.labels.tolist())
    return Material(kind, "items.jsonl", rows, files, settings, notes), labels


def _flatten(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of an item; those of a text in parts under the names of the parts."""
    flat: dict[str, str] = {}
    for key, value in content.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value)
        elif isinstance(value, str | int | float) and str(value).strip():
            flat[str(key)] = str(value)
    return flat


def _find_channel(field: str, contents: Iterable[Mapping[str, str]]) -> str | None:
    """Return image, audio or video if all values of a field end like such files."""
    endings = {Path(content[field]).suffix.lower() for content in contents if field in content}
    for channel in CHANNELS:
        if endings <= set(UNREADABLE[channel].split()):
            return channel
    return None


def _choose_texts(path: Path, asked: list[str], fields: list[str]) -> list[str]:
    """Return the fields to show: those asked for, else text, the only one, or a text's parts."""
    for name in asked:
        if name not in fields:
            hint = nearest(name, fields)
            raise SoftlabelError(
                f"{path}: --text {name}: no such field{hint}; there are: {', '.join(fields)}"
            )
    if asked or "text" in fields:
        return asked or ["text"]
    parts = [name for name in fields if name not in ("split", "lang")]
    return parts if len(parts) == 1 or len(parts) < len(fields) else []


def _find_beside(path: Path, item: str, field: str, value: str, channel: str) -> tuple[str, Path]:
    """Return the name in the study folder and the place of a file that an export names: the path
    itself, or its last part, beside the export."""
    for name in (value.lstrip("/"), Path(value).name):
        place = path.parent / name
        if ".." not in Path(name).parts and place.is_file():
            return f"{WORDS[channel][1]}/{Path(name).as_posix()}", place
    raise SoftlabelError(
        f"{path}, item {item!r}, {field} = {value!r}: no such file beside the export; copy the "
        f"{WORDS[channel][0]} to {path.parent}"
    )


# ── labels ───────────────────────────────────────────────────────────────────────────────────


def check_labels(text: str, names: Sequence[str]) -> list[str]:
    """Return labels that are different and at least two; ``text`` is what was typed."""
    if len(names) < 2:
        other = next((mark for mark in ";|\t" if mark in text), None)
        advice = "give at least two, separated by commas: cat,dog"
        if other:
            parts = [part.strip() for part in text.split(other)]
            advice = f"separate them by commas: {','.join(parts)}"
        raise SoftlabelError(f"--labels {text!r}: found one label, {text.strip()!r}; {advice}")
    return list(names)


def read_label_file(path: Path) -> list[str]:
    """Return the labels in a file: one per line, or a JSON list."""
    try:
        text = read_text(path)
        names = [line.strip() for line in text.splitlines() if line.strip()]
        if path.suffix.lower() == ".json":
            names = load_json(text)
    except Refused as error:
        raise SoftlabelError(f"--labels {path}: {error}") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SoftlabelError(f'--labels {path}: must hold a list of labels: ["cat", "dog"]')
    if len(names) < 2:
        found = f"found {len(names)} label{'s' if len(names) != 1 else ''}"
        raise SoftlabelError(f"--labels {path}: {found}; write at least two, one per line")
    for name, count in Counter(names).items():
        if count > 1:
            raise SoftlabelError(f"--labels {path}: names {name!r} {count} times; write it once")
    return names


def choose_mode(labels: Sequence[str]) -> str:
    """Return the mode for so many labels: with many, typing finds one sooner than looking."""
    return "search" if len(labels) > MANY_LABELS else "quick"


def list_languages() -> tuple[str, ...]:
    """Return the languages in which a study can be."""
    return get_args(StudySection.model_fields["language"].annotation)


# ── writing ──────────────────────────────────────────────────────────────────────────────────


def write_own(
    folder: Path,
    material: Material,
    labels: Sequence[str],
    *,
    mode: str | None = None,
    study: Mapping[str, Any] | None = None,
    items: Mapping[str, Any] | None = None,
    contact: str | None = None,
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Write a study of this material into a new or empty folder; return its files and notes.

    ``study`` and ``items`` are further settings of these tables of ``study.toml``.
    """
    notes = list(material.notes)
    if mode is None:
        mode = choose_mode(labels)
        if mode == "search":
            notes.append(
                f"with {len(labels)} labels people type to find one (mode search); another mode: "
                "--mode chips"
            )
    require_empty(folder)
    batched = any("batch" in row for row in material.rows)
    amount = {} if batched else {"per_annotator": min(PER_PERSON, len(material.rows))}
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")[:64] or "study"
    values: dict[str, dict[str, Any]] = {
        "study": {"name": name, "title": TITLES[material.kind], "labels": list(labels)},
        "items": {"source": material.table, "per_item": NEW["settings"]["items"]["per_item"]},
        "pages": {"contact": contact or NEW["settings"]["pages"]["contact"]},
    }
    frame = "third_person" if mode.partition(":")[0] == "classic" else "self"
    values["study"] |= {"mode": mode, "frame": frame, **(study or {})}
    values["items"] |= {**amount, **material.items, **(items or {})}
    with _stage(folder) as stage:
        for target, file in material.files.items():
            side = material.enlarge
            if side is None or not write_enlarged(file, stage / target, side):
                _place(file, stage / target)
        if len(labels) > MANY_LABELS:
            write_file(stage / "labels.txt", "".join(f"{label}\n" for label in labels))
            values["study"]["labels"] = "labels.txt"
        write_file(stage / material.table, _render_table(material))
        write_settings(stage, values)
        notes += map(str, read(stage).notes)
    return tuple(sorted(path for path in folder.iterdir() if path.is_file())), tuple(notes)


def _render_table(material: Material) -> str:
    if material.table.endswith(".jsonl"):
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in material.rows)
    columns = dict.fromkeys(column for row in material.rows for column in row)
    return to_csv([{column: row.get(column, "") for column in columns} for row in material.rows])


def _place(file: Path, target: Path) -> None:
    """Make a hard link to a file, or a copy where that is not possible."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file.resolve(), target)
    except OSError:
        shutil.copyfile(file, target)


@contextmanager
def _stage(folder: Path) -> Iterator[Path]:
    """Return a folder whose contents move into ``folder`` if all goes well."""
    existed = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as name:
            stage = Path(name)
            yield stage
            for path in stage.iterdir():
                path.rename(folder / path.name)
    except BaseException:
        if not existed:
            shutil.rmtree(folder)
        raise

"""The questions of ``softlabel new``: what is judged, and which labels there are.

Options answer them on the command line; a terminal asks them.  Every question says what it is for
and has a default, which Enter takes.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import typer

from softlabel.cli import shared
from softlabel.errors import SoftlabelError, nearest

if TYPE_CHECKING:
    from softlabel.study import presets, setup

    Material = setup.Material
    Preset = presets.Preset

Value = TypeVar("Value")
KINDS = {"pictures": "image", "recordings": "audio", "videos": "video", "table": "table"}
OPTIONS = {"image": "--images", "audio": "--audio", "video": "--video", "table": "--table"}
OPTIONS |= {"export": "EXPORT"}
EXAMPLE = "example"
FEW = 20  # different values of a column that may be labels
Made = tuple[tuple[Path, ...], tuple[str, ...]]


def is_terminal() -> bool:
    """Return whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


# ── from options ─────────────────────────────────────────────────────────────────────────────


def choose_source(
    given: Mapping[str, Path | None], text: str | None
) -> tuple[str, Path, list[str]] | None:
    """Return kind, place and columns of the items that the options name; None if they name none."""
    named = {kind: path for kind, path in given.items() if path is not None}
    if text is not None and not {"table", "export"} & named.keys():
        raise SoftlabelError(f"--text {text!r} needs a table: add --table FILE.csv")
    if len(named) > 1:
        several = " and ".join(OPTIONS[kind] for kind in named)
        raise SoftlabelError(
            f"{several}: give one of them; a table can combine media (columns text, image, audio "
            "and video)"
        )
    for kind, path in named.items():
        return kind, path, split_columns(text or "")
    return None


class Asked(NamedTuple):
    """How people are to answer, how large their pictures are, and the preset that says so."""

    mode: str | None
    enlarge: int | None
    preset: Preset | None = None


def choose_preset(
    name: str | None, mode: str | None, enlarge: int | None, has_items: bool
) -> Asked:
    """Return what ``--preset``, ``--mode`` and ``--enlarge`` ask for together."""
    if enlarge is not None and not has_items:
        raise SoftlabelError(f"--enlarge {enlarge} needs pictures: add --images or --table")
    if name is None:
        return Asked(mode, enlarge)
    from softlabel.study import presets

    preset = presets.find_preset(name)
    if mode is not None:
        reason = f"sets the mode, {preset.mode}; leave --mode out"
        raise SoftlabelError(f"--mode {mode}: --preset {name} {reason}")
    return Asked(preset.mode, enlarge or (preset.enlarge if has_items else None), preset)


def split_columns(text: str) -> list[str]:
    """Split ``a,b`` into columns; quotes hold commas."""
    return [name.strip() for name in next(csv.reader([text]), []) if name.strip()]


def open_material(
    kind: str, path: Path, columns: list[str], how: Any = None
) -> tuple[Material, tuple[str, ...]]:
    """Return the items at this place, and their labels where an export names them."""
    from softlabel.study import setup

    if kind == "export":
        return setup.read_export(path, how, columns)
    if kind == "table":
        return setup.read_material(path, columns), ()
    return setup.find_media(path, kind), ()  # type: ignore[arg-type]  # one of the three


def read_labels(text: str | None, material: Material | None) -> list[str]:
    """Return the labels that were typed, or those in a file."""
    from softlabel.study import setup

    if text is None:
        folders = material.folders if material else ()
        found = f", such as the names of the sub-folders: {','.join(folders)}" if folders else ""
        raise SoftlabelError(
            f"--labels is missing: write the labels to choose from as --labels cat,dog{found}, or "
            "name a file with one per line"
        )
    path = Path(text)
    if path.suffix.lower() in (".txt", ".json") or path.is_file():
        return setup.read_label_file(path)
    return setup.check_labels(text, shared.split_labels(text) or [])


# ── from a terminal ──────────────────────────────────────────────────────────────────────────


def ask_all(folder: Path) -> Made:
    """Ask for everything that a new study needs, and write it."""
    from softlabel import study
    from softlabel.study import setup

    setup.require_empty(folder)
    typer.echo("A new study. Enter takes the answer in brackets; everything can be changed later.")
    kind = ask(
        "What do people judge: pictures, recordings, videos, a table, or the example?",
        "A table holds texts, one per line. The example is a small study with drawn shapes.",
        _guess_kind(),
        lambda text: _choose(text.lower(), (*KINDS, EXAMPLE)),
    )
    if kind == EXAMPLE:
        return study.write_new(folder), ()
    material = _ask_material(KINDS[kind])
    labels = ask(
        "Labels",
        "What people choose from, separated by commas, or a file with one label per line.",
        ",".join(_guess_labels(material)),
        lambda text: read_labels(text, material),
    )
    mode = _ask_mode(labels)
    title = ask(
        "Title",
        "The question as people see it on every page.",
        setup.TITLES[material.kind],
        str,
    )
    per_item = ask("Answers per item", "How many people answer each item.", "6", _read_count)
    items: dict[str, Any] = {"per_item": per_item}
    if not any("batch" in row for row in material.rows):
        most = len(material.rows)
        items["per_annotator"] = ask(
            "Items per person",
            f"How many of the {most:,} items one person answers.",
            str(min(setup.PER_PERSON, most)),
            lambda text: _read_count(text, most),
        )
    known = setup.list_languages()
    language = ask(
        "Language",
        f"Of buttons and default texts: {', '.join(known)}.",
        "en",
        lambda text: _choose(text, known),
    )
    contact = ask(
        "Contact",
        "Whom participants write to; shown on the first and the last page.",
        "you@example.org",
        str,
    )
    settings = {"title": title, "language": language}
    return setup.write_own(
        folder, material, labels, mode=mode, study=settings, items=items, contact=contact
    )


def ask(question: str, purpose: str, default: str, read: Callable[[str], Value]) -> Value:
    """Ask until the answer can be used."""
    typer.echo(f"\n{purpose}")
    while True:
        answer = str(typer.prompt(question, default=default, type=str)).strip()
        try:
            return read(answer)
        except SoftlabelError as error:
            typer.echo(f"{error}")


def _ask_material(kind: str) -> Material:
    if kind != "table":
        word = next(name for name, channel in KINDS.items() if channel == kind)
        return ask(
            f"Folder of the {word}",
            f"All {word} in it and in its sub-folders become items; they are copied.",
            _guess_folder(kind),
            lambda text: open_material(kind, Path(text).expanduser(), [])[0],
        )
    from softlabel.study import setup

    path, columns = ask(
        "Table",
        "A .csv file with commas or a .jsonl file, one item per line; it is copied.",
        next((str(path) for path in sorted(Path().glob("*.csv"))), "items.csv"),
        lambda text: (Path(text).expanduser(), setup.list_columns(Path(text).expanduser())),
    )
    return ask(
        "Columns to show",
        f"The columns that people read: {', '.join(columns)}. Several get headings.",
        setup.guess_text(path),
        lambda text: setup.read_material(path, split_columns(text)),
    )


def _ask_mode(labels: list[str]) -> str:
    from softlabel import registry
    from softlabel.study import setup

    known = sorted(registry.members("mode"))
    return ask(
        "Mode",
        f"How people answer: {', '.join(known)}; see 'softlabel list mode'.",
        setup.choose_mode(labels),
        lambda text: registry.parse("mode", text) and text,
    )


def _guess_kind() -> str:
    for word, kind in KINDS.items():
        if kind != "table" and _guess_folder(kind) != ".":
            return word
    return "table" if any(Path().glob("*.csv")) else EXAMPLE


def _guess_folder(kind: Any) -> str:
    """Return the first folder here that contains such media, or the current one."""
    from softlabel.study import setup

    for path in sorted(Path().iterdir()):
        if path.is_dir() and not path.name.startswith(".") and setup.contains(path, kind):
            return str(path)
    return "."


def _guess_labels(material: Material) -> tuple[str, ...]:
    for column in ("gold", "label"):
        values = {str(row[column]) for row in material.rows if row.get(column)}
        if 2 <= len(values) <= FEW:
            return tuple(sorted(values))
    return material.folders if len(material.folders) > 1 else ("yes", "no")


def _read_count(text: str, most: int = 1_000) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise SoftlabelError(f"{text!r}: write a whole number from 1 to {most:,}")
    return int(text)


def _choose(text: str, known: Any) -> str:
    starts = [name for name in known if text and name.startswith(text)]
    if len(starts) != 1:
        hint = nearest(text, known)
        raise SoftlabelError(f"{text!r}: write one of {', '.join(known)}{hint}")
    return str(starts[0])

"""The folder a fit works in: its parts, its checkpoint, and what it is a fit of."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from softlabel._util.files import aside
from softlabel.errors import SoftlabelError

ABOUT, FACTS = "fit.json", "facts.json"


@contextmanager
def room(checkpoint: Path | None, beside: Path, about: Mapping[str, Any]) -> Iterator[Path]:
    """The folder of the checkpoint, if it is empty or of the same fit, or one that is removed at
    the end.  The workers of a cluster must see it: it lies beside the output."""
    if checkpoint is not None:
        checkpoint.mkdir(parents=True, exist_ok=True)
        _check_same(checkpoint, about)
        yield checkpoint.resolve()
        return
    place = beside.resolve()
    with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as folder:
        yield Path(folder)


def _check_same(folder: Path, about: Mapping[str, Any]) -> None:
    path = folder / ABOUT
    if not path.exists():
        if any(folder.iterdir()):
            raise SoftlabelError(f"--checkpoint {folder}: holds other files; name an empty folder")
        write_json(path, about)
        return
    kept = read_json(path)
    for key, value in about.items():
        if kept.get(key) != value:
            raise SoftlabelError(
                f"--checkpoint {folder}: is of another fit, whose {key} was {kept.get(key)!r} and "
                f"not {value!r}; remove it, or name another folder"
            )


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    with aside(path) as part:
        part.write_text(json.dumps(content, indent=1), "utf-8")


def read_json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise SoftlabelError(f"{path}: is damaged ({error}); remove its folder") from None
    return content

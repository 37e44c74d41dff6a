"""A run's state in a file that is either whole or the one before, whenever the power goes."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from softlabel._util.files import aside
from softlabel.errors import FileError

CHECKPOINT, LOG = "checkpoint.pt", "log.jsonl"


def save(folder: Path, state: Mapping[str, Any]) -> None:
    """Write ``checkpoint.pt``; what was there before stays until the new one is on the disk."""
    with aside(folder / CHECKPOINT) as part, part.open("wb") as file:
        torch.save(dict(state), file)
        file.flush()
        os.fsync(file.fileno())


def load(folder: Path, made_by: Mapping[str, Any]) -> dict[str, Any] | None:
    """What ``save`` wrote, or nothing; a checkpoint of another run is refused.

    Only tensors and plain values are read: nothing in the file is executed.
    """
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, pickle.UnpicklingError, EOFError):
        reason = "is no checkpoint, or a damaged one; remove it to begin anew"
        raise FileError(path, reason) from None
    for key, value in made_by.items():
        if state["made_by"].get(key) != value:
            raise FileError(
                path,
                f"is of another run: there {key} is {state['made_by'].get(key)!r}, here {value!r}; "
                "remove it to begin anew, or use another folder",
            )
    return state


def write_log(folder: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """The log as it is, one JSON object per line."""
    with aside(folder / LOG) as part:
        part.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def add_to_log(folder: Path, line: Mapping[str, Any]) -> None:
    """One more line."""
    with (folder / LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")

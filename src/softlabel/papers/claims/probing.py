"""What a paper measures on a finished run, kept in its folder: computed once.

A run may serve several cells and papers (hard labels are hard labels), so ``probes.json`` keeps
what each of them found.  Remove the file to have it computed again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from softlabel._util.files import aside
from softlabel.errors import FileError
from softlabel.train import Run

PROBES = "probes.json"


def known(run: Run, paper: str, cell: str) -> dict[str, float] | None:
    """What was found on this run for this cell; None if nobody has looked yet."""
    found = _read(run).get(paper, {}).get(cell)
    return None if found is None else {name: float(value) for name, value in found.items()}


def keep(run: Run, paper: str, cell: str, found: Mapping[str, float]) -> None:
    """Write it down, whole or not at all, beside what others found."""
    table = _read(run)
    table.setdefault(paper, {})[cell] = {
        name: value if abs(value) < float("inf") else str(value)  # JSON has no NaN
        for name, value in ((name, float(value)) for name, value in found.items())
    }
    with aside(run.path / PROBES) as part:
        part.write_text(json.dumps(table, allow_nan=False, indent=1), "utf-8")


def _read(run: Run) -> dict[str, dict[str, Any]]:
    path = run.path / PROBES
    if not path.exists():
        return {}
    try:
        table: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise FileError(path, f"is damaged ({error}); remove it") from None
    return table

"""Runs that have been made: all of them, some of them, in groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from softlabel.errors import FileError, UnknownName
from softlabel.train.runs.folder import CONFIG, Run
from softlabel.train.runs.naming import NAMED

OWN = ("labels", "seed")  # what a run knows of itself besides its configuration
FIRST = ("recipe", "images", "labels", "deliver")  # by these people tell runs apart


def every(root: str | Path) -> Iterator[Run]:
    """Every run folder in ``root``, finished or not, by name."""
    root = Path(root)
    if not root.is_dir():
        wrong = "is a file, not a folder" if root.exists() else "there is no such folder"
        raise FileError(root, f"{wrong} of runs")
    yield from (Run(path.parent) for path in sorted(root.glob(f"[!.]*/{CONFIG}")))


def find(root: str | Path, **where: Any) -> list[Run]:
    """The finished runs of which all this is true: ``find("runs", deliver="sls", lr=0.1)``.

    They come in groups of one configuration, and by seed within them.
    """
    found = [run for run in every(root) if run.finished]
    for key, value in where.items():
        known = {key for run in found for key in keys(run)}
        if found and key not in known:
            raise UnknownName("setting of these runs", key, known)
        found = [run for run in found if run.value(key) == value]
    return sorted(found, key=lambda run: (str(_settings(run)), run.seed))


def group(
    runs: Iterable[Run], by: str | Sequence[str], *, named: bool = False
) -> dict[str, list[Run]]:
    """Runs by what they say under one setting or several, in the order of first appearance.

    A group is called by its values (``sls, 0.1``) or, if ``named``, by settings and values
    (``deliver=sls, lr=0.1``).
    """
    wanted = [by] if isinstance(by, str) else list(by)
    groups: dict[str, list[Run]] = {}
    for run in runs:
        known = keys(run)
        for key in wanted:
            if key not in known:
                raise UnknownName(f"setting of run {run.name}", key, known)
        values = (f"{key}={run.value(key)}" if named else str(run.value(key)) for key in wanted)
        label = ", ".join(values)
        groups.setdefault(label, []).append(run)
    return groups


def differing(runs: Sequence[Run]) -> list[str]:
    """The fewest settings, besides the seed, that tell these runs apart, the telling ones first."""
    known = {key for run in runs for key in keys(run)} - {"seed"}
    kept: list[str] = []
    parts = 1
    for key in (*FIRST, *sorted(known - set(FIRST))):
        finer = len({tuple(str(run.value(one)) for one in (*kept, key)) for run in runs})
        if finer > parts:
            kept.append(key)
            parts = finer
    return kept


def keys(run: Run) -> set[str]:
    """Every setting of a run."""
    return {*run.config.get(NAMED, {}), *run.config, *OWN} - {NAMED}


def _settings(run: Run) -> list[tuple[str, Any]]:
    return [(key, run.value(key)) for key in sorted(keys(run)) if key != "seed"]

"""Items that were added while a study runs: numbered tables in ``added``, read after the source."""

import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from softlabel.errors import Problem, StudyError
from softlabel.study import findings, items
from softlabel.study.batches import Targets
from softlabel.study.findings import Refused, find_name_fault
from softlabel.study.items import Row, Scope
from softlabel.study.model import Item

FOLDER = "added"
NUMBERED = re.compile(r"([0-9]{4,})-.+\.(csv|jsonl)")


def list_added(folder: Path) -> tuple[Path, ...]:
    """Return the tables that were added to a study, in the order in which they were."""
    try:
        names = os.listdir(folder / FOLDER)
    except OSError:
        return ()
    found = [match for match in map(NUMBERED.fullmatch, names) if match]
    ordered = sorted(found, key=lambda match: (int(match[1]), match[0]))
    return tuple(folder.resolve() / FOLDER / match[0] for match in ordered)


def read_added(targets: Targets, scope: Scope, also: Path | None = None) -> Targets:
    """Return the targets with those of the added tables, and of ``also``, a table to be added."""
    for path in (*list_added(scope.folder), *(() if also is None else (also.resolve(),))):
        try:
            rows = items.read_table(path, "target", scope, base=scope.folder)
        except Refused as error:
            scope.findings.add(scope.relative(path), "", None, str(error))
            continue
        batches = {name: [*ids] for name, ids in targets.batches.items()}
        for row, item in rows:
            if targets.batches:
                _add_to_batch(row, item, batches, scope)
            elif "batch" in row.cells:
                row.refuse(scope, "batch", "the study has no batches; leave the column out")
        targets = Targets(
            (*targets.items, *(item for _, item in rows)),
            {name: tuple(ids) for name, ids in batches.items()},
        )
    return targets


def _add_to_batch(row: Row, item: Item, batches: dict[str, list[str]], scope: Scope) -> None:
    batch = row.cells.get("batch")
    if not isinstance(batch, str | int) or isinstance(batch, bool):
        row.refuse(scope, "batch", "must name a batch, new or known, as in the study")
    elif fault := find_name_fault(str(batch)):
        row.refuse(scope, "batch", fault)
    else:
        batches.setdefault(str(batch), []).append(item.id)


def count_items(folder: Path, table: Path) -> int:
    """Return the number of items in a table without mistakes."""
    scope = Scope(folder, findings.Findings(), None)
    return len(items.read_table(table.resolve(), "target", scope, base=folder))


def rename_problems(error: StudyError, folder: Path, table: Path, name: str) -> StudyError:
    """Return the mistakes under the name that the user gave the table."""
    inside = table.resolve().relative_to(folder.resolve()).as_posix()

    def rename(problem: Problem) -> Problem:
        file = name if problem.file == inside else problem.file
        return Problem(file, problem.key, problem.value, problem.reason)

    return StudyError([rename(problem) for problem in error.problems])


def keep_table(folder: Path, table: Path, name: str) -> Path:
    """Put a table under the next number into ``added``, whole or not at all; return its path."""
    home = folder / FOLDER
    home.mkdir(exist_ok=True)
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(name).stem).strip("-.") or "items"
    for path in _next_paths(home, f"{safe[:60]}{table.suffix.lower()}"):
        try:
            os.link(table, path)  # unlike rename, refuses to replace a file
        except FileExistsError:
            continue
        return path
    raise AssertionError("numbers do not end")


def _next_paths(home: Path, name: str) -> Iterator[Path]:
    last = [int(path.name.partition("-")[0]) for path in list_added(home.parent)][-1:]
    return (home / f"{number:04}-{name}" for number in count(1 + sum(last)))

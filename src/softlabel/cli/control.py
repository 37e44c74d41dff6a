"""Commands that run a study: the same actions as on the dashboard, and the audit log."""

from __future__ import annotations

import getpass
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from softlabel.cli.shared import command, load_strategies, show_table
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.serve import actions


@command()
def pause(folder: Path, db: str | None = None, yes: bool = False, load: Path | None = None) -> None:
    """Pause a study: nobody new begins, nobody gets further items; works at once."""
    from softlabel.serve import actions

    _act(folder, db, yes, load, lambda find: actions.Pause())


@command()
def resume(
    folder: Path, db: str | None = None, yes: bool = False, load: Path | None = None
) -> None:
    """Resume a paused study."""
    from softlabel.serve import actions

    _act(folder, db, yes, load, lambda find: actions.Resume())


@command()
def close(folder: Path, db: str | None = None, yes: bool = False, load: Path | None = None) -> None:
    """Close a study: people finish what they hold, and reach the end."""
    from softlabel.serve import actions

    _act(folder, db, yes, load, lambda find: actions.Close())


@command()
def reopen(
    folder: Path, db: str | None = None, yes: bool = False, load: Path | None = None
) -> None:
    """Reopen a closed study."""
    from softlabel.serve import actions

    _act(folder, db, yes, load, lambda find: actions.Reopen())


@command()
def quota(
    folder: Path,
    number: str,
    db: str | None = None,
    yes: bool = False,
    load: Path | None = None,
) -> None:
    """Set how many answers the items of a running study are to get."""
    from softlabel.serve import actions

    wanted = actions.read_number("answers per item", number)
    _act(folder, db, yes, load, lambda find: actions.SetPerItem(wanted))


@command()
def cap(
    folder: Path,
    number: str,
    db: str | None = None,
    yes: bool = False,
    load: Path | None = None,
) -> None:
    """Set the largest number of people who are given items."""
    from softlabel.serve import actions

    most = actions.read_number("people", number)
    _act(folder, db, yes, load, lambda find: actions.SetPeopleCap(most))


@command()
def add(
    folder: Path,
    table: Path,
    db: str | None = None,
    yes: bool = False,
    load: Path | None = None,
) -> None:
    """Add the items of a table to a running study.

    The table has the columns of the study's items, and its files are relative to the study folder.
    It is copied to DIR/added.
    """
    from softlabel.serve import actions

    _act(folder, db, yes, load, lambda find: actions.AddItems(table, table.name))


@command()
def exclude(
    folder: Path,
    person: str,
    reason: str,
    db: str | None = None,
    yes: bool = False,
    load: Path | None = None,
) -> None:
    """Leave a person out: their answers are marked, and others get their items.

    Nothing is deleted; exports hold the answers and the reason.
    """
    from softlabel.serve import actions

    _act(folder, db, yes, load, lambda find: actions.Exclude(find(person), reason))


@command()
def include(
    folder: Path, person: str, db: str | None = None, yes: bool = False, load: Path | None = None
) -> None:
    """Take a person back in who was left out."""
    from softlabel.serve import actions

    _act(folder, db, yes, load, lambda find: actions.Include(find(person)))


@command()
def end(
    folder: Path, person: str, db: str | None = None, yes: bool = False, load: Path | None = None
) -> None:
    """End a person's session; their answers stay and count."""
    from softlabel.serve import actions

    _act(folder, db, yes, load, lambda find: actions.EndSession(find(person)))


@command()
def audit(folder: Path, db: str | None = None, most: int = 100, load: Path | None = None) -> None:
    """List who did what to a running study, newest first."""
    from softlabel import study as studies
    from softlabel.serve import databases

    load_strategies(load)
    study = studies.read(folder)
    with databases.open_to_read(folder, db) as store:
        entries = store.audit(study.name, most=most)
    rows = [
        {
            "time (UTC)": datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
            "who": entry.actor,
            "action": entry.action,
            "detail": json.dumps(entry.detail, ensure_ascii=False),
        }
        for entry in entries
    ]
    show_table(f"{len(rows)} actions" if rows else "no actions", rows, most)


def _act(
    folder: Path,
    db: str | None,
    yes: bool,
    load: Path | None,
    make: Callable[[Callable[[str], str]], actions.Action],
) -> None:
    """Say what will happen, ask, and do it; ``make`` is given a function that finds people."""
    from softlabel.serve import actions, databases, recruit

    load_strategies(load)
    with databases.open_study(folder, db) as (study, store, key):
        action = make(lambda person: recruit.find_annotator(study, store, key, person))
        desk = actions.Desk(study, store, _user(), time.time())
        said = action.explain(desk)
        if not yes:
            for sentence in said:
                typer.echo(sentence, err=True)
            typer.confirm(f"{action.title}?", abort=True, err=True)
        typer.echo(action.do(desk))


def _user() -> str:
    """Return the name under which this person has logged in to the machine."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise SoftlabelError(
            "the name of the user who acts is not known; set it in LOGNAME"
        ) from None

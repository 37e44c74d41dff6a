"""``backup``, ``restore`` and ``migrate``: looking after a study's database."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softlabel.cli.serve import Database, Folder
from softlabel.cli.shared import app, show_facts

if TYPE_CHECKING:
    from softlabel.store import Contents


@app.command()
def backup(
    folder: Folder,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The copy to write. Default: the folder's name and the time, here.",
        ),
    ] = None,
    db: Database = None,
) -> None:
    """Copy a study's database to a file, also while it is being served.

    The copy is checked, and only its owner can read it. The study's secret.json is not in it: keep
    a copy of that apart, because pseudonyms depend on it.
    """
    from softlabel import store
    from softlabel.serve import databases

    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = file or Path(f"{folder.resolve().name}-{stamp}.db")
    found = store.backup(databases.place_of(folder, db), target)
    show_facts(_rows(found) | {"wrote": str(target)})


@app.command()
def restore(
    folder: Folder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What softlabel backup wrote.")],
    db: Database = None,
    new_database: Annotated[
        bool,
        typer.Option(
            "--new-database", help="Also take a backup of another database than the study's own."
        ),
    ] = False,
) -> None:
    """Put a backup in the place of a study's database.

    Refused while a server or another command has the database open. The file that was there is
    kept under another name.
    """
    from softlabel.serve import databases

    found, kept = databases.restore(folder, db, file, new_database=new_database)
    show_facts(_rows(found) | ({"kept": str(kept)} if kept else {}) | {"restored": str(file)})


@app.command()
def migrate(folder: Folder, db: Database = None) -> None:
    """Bring the database of a study up to the schema of this version of softlabel.

    Commands that only read refuse an older one. Take a backup first: an older softlabel cannot
    read the database afterwards.
    """
    from softlabel import store
    from softlabel.serve import databases

    with store.open(databases.place_of(folder, db), create=False) as opened:
        typer.echo(f"{opened.name} is up to date")


def _rows(found: Contents) -> dict[str, str]:
    return {name: f"{rows:,}" for name, rows in found.rows.items()}

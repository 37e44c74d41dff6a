"""``new``, ``check``, ``backup``, ``restore``, ``migrate``: a study folder and its database."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softlabel.cli import shared
from softlabel.errors import StudyError

if TYPE_CHECKING:
    from softlabel.study import Study


@shared.app.command()
def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    mode: Annotated[str, shared.strategy_option("mode", "How people answer")] = "quick",
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the pictures.")] = 0,
    load: shared.Load = None,
) -> None:
    """Create a working sample study with pictures, ready to edit."""
    from softlabel import study

    shared.load_strategies(load)
    for path in study.write_new(folder, mode=mode, seed=seed):
        typer.echo(f"wrote {path}")
    pictures = len(list((folder / "images").iterdir()))
    typer.echo(f"wrote {pictures} pictures in {folder / 'images'}")
    typer.echo(f"\nnext: softlabel check {folder}, then softlabel serve {folder}")


@shared.app.command()
def check(folder: shared.Folder, load: shared.Load = None) -> None:
    """Check a study folder: list all mistakes, or estimate people, time and pay."""
    from softlabel import study

    shared.load_strategies(load)
    try:
        checked = study.read(folder)
    except StudyError as error:
        for problem in error.problems:
            typer.echo(str(problem))
        count = len(error.problems)
        typer.echo(f"error: {count} mistake{'s' if count > 1 else ''} in {folder}", err=True)
        raise typer.Exit(1) from None
    for note in checked.notes:
        typer.echo(f"note: {note}", err=True)
    shared.show_facts(_describe(checked))


def _describe(study: Study) -> dict[str, str]:
    from softlabel.study import estimate

    guess = estimate(study)
    source = "measured" if guess.measured else "predicted"
    facts = {
        "study": f"{study.name}: {study.title}",
        "labels": f"{len(study.labels):,}",
        "mode": f"{study.mode_text}, {study.frame.replace('_', ' ')}",
        "items": f"{len(study.items):,}, {len(study.practice)} for practice, "
        f"{len(study.checks)} checks",
    }
    if study.batches:
        facts["batches"] = f"{len(study.batches):,}"
    facts |= {
        "per person": f"{study.items_per_person:,} items, {study.showings_per_person:,} answers "
        "with practice, checks and repeats",
        "people": f"{study.people_needed:,} at least, for {study.per_item} answers per item",
        "minutes": f"about {guess.minutes:.0f} per person at {guess.seconds:g} s per answer "
        f"({source})",
    }
    if study.pay is not None:
        currency = study.pay.currency
        facts["pay"] = (
            f"{guess.session:.2f} {currency} per person, {guess.total:,.2f} {currency} in total; "
            f"about {guess.per_hour:.2f} {currency} per hour"
        )
    return facts


@shared.app.command()
def backup(
    folder: shared.Folder,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The file to write (default: DIR-TIME.db)."),
    ] = None,
    db: shared.Database = None,
) -> None:
    """Copy a study's database to a file, even while it is being served.

    The copy is verified and readable only by its owner. It does not contain the study's
    secret.json; back that up separately, because pseudonyms depend on it.
    """
    from softlabel import store
    from softlabel.serve import databases

    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    target = file or Path(f"{folder.resolve().name}-{stamp}.db")
    copied = store.backup(databases.place_of(folder, db), target)
    shared.show_facts({name: f"{n:,}" for name, n in copied.rows.items()} | {"wrote": str(target)})


@shared.app.command()
def restore(
    folder: shared.Folder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup to restore.")],
    db: shared.Database = None,
    new_database: Annotated[
        bool, typer.Option("--new-database", help="Accept a backup of a different database.")
    ] = False,
) -> None:
    """Replace a study's database with a backup.

    Refused while a server or another command has the database open. The previous file is kept
    under another name.
    """
    from softlabel.serve import databases

    copied, kept = databases.restore(folder, db, file, new_database=new_database)
    facts = {name: f"{n:,}" for name, n in copied.rows.items()}
    shared.show_facts(facts | ({"kept": str(kept)} if kept else {}) | {"restored": str(file)})


@shared.app.command()
def migrate(folder: shared.Folder, db: shared.Database = None) -> None:
    """Upgrade a study's database to the schema of this version of softlabel.

    Commands that only read refuse an older schema. Back up first: an older softlabel cannot read
    the database afterwards.
    """
    from softlabel import store
    from softlabel.serve import databases

    with store.open(databases.place_of(folder, db), create=False) as opened:
        typer.echo(f"{opened.name} is up to date")

"""``new`` and ``check``: a study folder that runs as it is, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softlabel.cli.shared import Load, app, load_strategies, show_facts
from softlabel.errors import StudyError

if TYPE_CHECKING:
    from softlabel.study import Study

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the study.")]


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    mode: Annotated[
        str,
        typer.Option(
            metavar="NAME[:key=value,...]",
            help="How people answer; see 'softlabel list mode'.",
        ),
    ] = "quick",
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other pictures.")] = 0,
    load: Load = None,
) -> None:
    """Write a study that runs as it is, with pictures, for you to change."""
    from softlabel import study

    load_strategies(load)
    for path in study.write_new(folder, mode=mode, seed=seed):
        typer.echo(f"wrote {path}")
    pictures = len(list((folder / "images").iterdir()))
    typer.echo(f"wrote {pictures} pictures in {folder / 'images'}")
    typer.echo(f"\nnext: softlabel check {folder}, then softlabel serve {folder}")


@app.command()
def check(folder: Folder, load: Load = None) -> None:
    """List every mistake in a study folder, or say what the study will take."""
    from softlabel import study

    load_strategies(load)
    try:
        found = study.read(folder)
    except StudyError as error:
        for problem in error.problems:
            typer.echo(str(problem))
        count = len(error.problems)
        typer.echo(f"error: {count} mistake{'s' if count > 1 else ''} in {folder}", err=True)
        raise typer.Exit(1) from None
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    show_facts(_facts(found))


def _facts(study: Study) -> dict[str, str]:
    from softlabel.study import estimate

    guess = estimate(study)
    source = "as measured" if guess.measured else "a prediction"
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
            f"{guess.session:.2f} {currency} per person, {guess.total:,.2f} {currency} in all; "
            f"about {guess.per_hour:.2f} {currency} per hour"
        )
    return facts

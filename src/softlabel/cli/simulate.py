"""``simulate``: simulated people take part in a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softlabel.cli.serve import Folder
from softlabel.cli.shared import Load, app, load_strategies, show_facts, show_table

if TYPE_CHECKING:
    from softlabel.simulate import Report
    from softlabel.study import Study

IN_A_BROWSER = 2  # people; a browser takes seconds where the small client takes milliseconds


@app.command()
def simulate(  # noqa: PLR0913  options, each with its own help
    folder: Folder,
    db: Annotated[
        str | None,
        typer.Option(
            "--db",
            metavar="URL",
            help="The database of the rehearsal: a file, sqlite:///FILE or "
            "postgresql://USER@HOST/NAME. A database with real answers is refused. Default: "
            "DIR/.softlabel/rehearsal.db.",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="A server started with 'softlabel serve DIR --rehearsal'. Default: start one and "
            "stop it at the end.",
        ),
    ] = None,
    annotators: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of people. Default: as many as the study needs (2 with --browser)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the people.")] = 0,
    think: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Mean real time that people spend on each page and item.",
        ),
    ] = 0.0,
    faults: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            help="Share of answers sent twice, and of answers cut off in the middle.",
        ),
    ] = 0.01,
    browser: Annotated[
        bool, typer.Option("--browser", help="Use a real browser, one person after another.")
    ] = False,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Also write what is known about each person: noise, sharpness, carelessness, "
            "wobble, and the response_uuid of their first answer, by which they can be found in an "
            "export.",
        ),
    ] = None,
    load: Load = None,
) -> None:
    """Run a study with simulated people whose beliefs and errors are known."""
    from softlabel import study as studies
    from softlabel.io import check_output
    from softlabel.simulate import Habits, fill_study

    load_strategies(load)
    study = studies.read(folder)
    count = annotators or (IN_A_BROWSER if browser else study.people_needed)
    if people is not None:
        check_output(people, ("csv",), str(folder))
    habits = Habits(duplicates=faults, disconnects=faults, think=think)
    with _served(study, url, db, load) as address, _bar() as progress:
        told: dict[str, Any] = {"annotators": count, "seed": seed, "progress": progress, "db": db}
        if browser:
            from softlabel.simulate import fill_in_browser

            report = fill_in_browser(address, study, **told)
        else:
            report = fill_study(address, study, habits=habits, **told)
    if people is not None:
        _write_people(people, seed, report)
    _show(report, "" if url is not None else _shown(folder, db))
    if report.errors:
        raise typer.Exit(1)


@contextmanager
def _served(study: Study, url: str | None, db: str | None, load: Path | None) -> Iterator[str]:
    """The address given, or that of a server of our own."""
    if url is not None:
        yield url
        return
    from softlabel.simulate import run_server

    options = ["--rehearsal", "--no-token"]
    options += [] if db is None else ["--db", db]
    options += [] if load is None else ["--load", str(load)]
    with run_server(study.folder, *options) as server:
        yield server.url


def _shown(folder: Path, db: str | None) -> str:
    from softlabel.serve import databases
    from softlabel.store import display_name

    place = databases.place_of(folder, db, rehearsal=True)
    return str(place) if isinstance(place, Path) else display_name(place)


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("answers"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("answers", total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)


def _write_people(path: Path, seed: int, report: Report) -> None:
    """Write one row per person, in the order of their numbers."""
    from softlabel.io import write_table
    from softlabel.simulate import draw_participants

    people = draw_participants(len(report.people), seed)
    rows = []
    for number, outcome in enumerate(report.people):
        rows.append(
            {
                "person": number + 1,
                **asdict(people[number].person),
                "response_uuid": outcome.acknowledged[0] if outcome.acknowledged else None,
            }
        )
    write_table(rows, path)


def _show(report: Report, database: str) -> None:
    show_facts(
        {
            "people finished": f"{report.finished:,} of {len(report.people):,}",
            "answers acknowledged": f"{report.acknowledged:,}",
            "seconds": f"{report.seconds:.1f}",
            "errors": f"{sum(report.errors.values()):,}",
            **({"database": database} if database else {}),
        }
    )
    if report.errors:
        rows = [{"error": what, "times": times} for what, times in report.errors.items()]
        show_table("what went wrong", rows, 20)

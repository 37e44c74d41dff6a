"""``simulate``: simulated people take part in a study."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from softlabel.cli import shared

IN_BROWSER = 2  # people; a browser takes seconds where the HTTP client takes milliseconds


@shared.app.command()
def simulate(  # noqa: PLR0913  options, each with its own help
    folder: shared.Folder,
    db: shared.Database = None,
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
        typer.Option(min=0, metavar="SECONDS", help="Mean real time per page and per item."),
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
        bool, typer.Option("--browser", help="Use a real browser, one person at a time.")
    ] = False,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Also write what is known about each person: noise, sharpness, carelessness, "
            "wobble, and the response_uuid of their first answer, to find them in an export.",
        ),
    ] = None,
    load: shared.Load = None,
) -> None:
    """Run a study with simulated people whose beliefs and errors are known.

    This is a rehearsal; a database with real answers is refused.
    """
    from softlabel import study as studies
    from softlabel.io import check_output, write_table
    from softlabel.serve import databases
    from softlabel.simulate import (
        Habits,
        draw_participants,
        fill_in_browser,
        fill_study,
        run_server,
    )
    from softlabel.store import display_name

    shared.load_strategies(load)
    study = studies.read(folder)
    if people is not None:
        check_output(people, ("csv",), str(folder))
    number = annotators or (IN_BROWSER if browser else study.people_needed)
    habits = Habits(duplicates=faults, disconnects=faults, think=think)
    options = ["--rehearsal", "--no-token"]
    options += [] if db is None else ["--db", db]
    options += [] if load is None else ["--load", str(load)]
    serving: AbstractContextManager[Any] = nullcontext()
    if url is None:
        serving = run_server(study.folder, *options)
    with serving as server, shared.progress() as tell:

        def count(done: int, total: int) -> None:
            tell(f"answers: {done:,} of {total:,}", done, total)

        address = str(url) if server is None else server.url
        common: dict[str, Any] = {"annotators": number, "seed": seed, "progress": count, "db": db}
        if browser:
            report = fill_in_browser(address, study, **common)
        else:
            report = fill_study(address, study, habits=habits, **common)
    if people is not None:
        drawn = draw_participants(len(report.people), seed)
        rows = [
            {
                "person": place + 1,
                **asdict(drawn[place].person),
                "response_uuid": outcome.acknowledged[0] if outcome.acknowledged else None,
            }
            for place, outcome in enumerate(report.people)
        ]
        write_table(rows, people)
    facts = {
        "people finished": f"{report.finished:,} of {len(report.people):,}",
        "answers acknowledged": f"{report.acknowledged:,}",
        "seconds": f"{report.seconds:.1f}",
        "errors": f"{sum(report.errors.values()):,}",
    }
    if url is None:
        place = databases.place_of(folder, db, rehearsal=True)
        facts["database"] = str(place) if isinstance(place, Path) else display_name(place)
    shared.show_facts(facts)
    if report.errors:
        errors = [{"error": what, "times": times} for what, times in report.errors.items()]
        shared.show_table("errors", errors, 20)
        raise typer.Exit(1)

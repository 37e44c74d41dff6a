"""``simulate``: simulated people take part in a study."""

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from softlabel.cli import shared


@shared.command()
def simulate(  # noqa: PLR0913  options, each with its own help
    folder: Path,
    db: str | None = None,
    url: str | None = None,
    annotators: int | None = None,
    seed: int = 0,
    think: float = 0.0,
    faults: float = 0.01,
    browser: bool = False,
    people: Path | None = None,
    load: Path | None = None,
) -> None:
    """Run a study with simulated people whose beliefs and errors are known.

    This is a rehearsal; a database with real answers is refused.
    """
    from softlabel import simulate as room
    from softlabel import study as studies
    from softlabel.io import check_output, write_table
    from softlabel.serve import databases
    from softlabel.store import display_name

    shared.load_strategies(load)
    study = studies.read(folder)
    if people is not None:
        check_output(people, ("csv",), str(folder))
    # a browser takes seconds where the HTTP client takes milliseconds
    number = annotators or (2 if browser else study.people_needed)
    habits = room.Habits(duplicates=faults, disconnects=faults, think=think)
    options = ["--rehearsal", "--no-token"]
    options += [] if db is None else ["--db", db]
    options += [] if load is None else ["--load", str(load)]
    serving: Any = room.run_server(study.folder, *options) if url is None else nullcontext()
    with serving as server, shared.progress() as tell:

        def count(done: int, total: int) -> None:
            tell(f"answers: {done:,} of {total:,}", done, total)

        address = str(url) if server is None else server.url
        common: dict[str, Any] = {"annotators": number, "seed": seed, "progress": count, "db": db}
        if browser:
            report = room.fill_in_browser(address, study, **common)
        else:
            report = room.fill_study(address, study, habits=habits, **common)
    if people is not None:
        drawn = room.draw_participants(len(report.people), seed)
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

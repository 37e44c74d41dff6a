"""``simulate``: people we made up take part in a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softlabel.cli.shared import app, show_facts, show_table

if TYPE_CHECKING:
    from softlabel.crowd import Report
    from softlabel.study import Study

IN_A_BROWSER = 2  # people; a browser takes seconds where the small client takes milliseconds


@app.command()
def simulate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the study.")],
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where the study is being served. Without it, a server is started on the study's "
            "own database and stopped in the end.",
        ),
    ] = None,
    annotators: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many people; by default as many as the study needs (2 in browsers)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed is other people.")] = 0,
    think: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Mean time that people really take over each page and item, all at once.",
        ),
    ] = 0.0,
    faults: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            help="Share of answers that are sent twice, and of those broken off in the middle.",
        ),
    ] = 0.01,
    browser: Annotated[
        bool, typer.Option("--browser", help="Let them use a real browser, one after the other.")
    ] = False,
) -> None:
    """Let simulated people with known beliefs and faults take part in a study."""
    from softlabel import crowd
    from softlabel import study as studies

    study = studies.read(folder)
    people = annotators or (IN_A_BROWSER if browser else study.people_needed)
    habits = crowd.Habits(duplicates=faults, disconnects=faults, think=think)
    with _served(study, url) as address, _bar() as progress:
        if browser:
            from softlabel.crowd import browser as real

            report = real.fill(address, study, annotators=people, seed=seed, progress=progress)
        else:
            report = crowd.fill(
                address, study, annotators=people, seed=seed, habits=habits, progress=progress
            )
    _show(report)
    if report.errors:
        raise typer.Exit(1)


@contextmanager
def _served(study: Study, url: str | None) -> Iterator[str]:
    """The address given, or that of a server of our own."""
    if url is not None:
        yield url
        return
    from softlabel.crowd.server import serving

    with serving(study.folder) as server:
        yield server.url


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("answers"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("answers", total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)


def _show(report: Report) -> None:
    show_facts(
        {
            "people finished": f"{report.finished:,} of {len(report.people):,}",
            "answers acknowledged": f"{report.acknowledged:,}",
            "seconds": f"{report.seconds:.1f}",
            "errors": f"{sum(report.errors.values()):,}",
        }
    )
    if report.errors:
        rows = [{"error": what, "times": times} for what, times in report.errors.items()]
        show_table("what went wrong", rows, 20)

"""``grid``: many runs, and a table of how far they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softlabel.cli.evaluate import show_runs
from softlabel.cli.progress import progress
from softlabel.cli.shared import app
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.train import Job, Standing

ORDER = ("running", "died", "failed", "finished", "waiting")


@app.command()
def grid(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.toml",
            help="Keys recipe, images, labels, against, deliver, out, seeds, load, and a table "
            "[set]; every value may be a list, and each combination is a run per seed.",
        ),
    ],
    processes: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many at once (default: one per core, or GPU)."),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="dask[://HOST:PORT]",
            help="Make the runs on a Dask cluster whose workers see the same folders.",
        ),
    ] = None,
    dry: Annotated[
        bool, typer.Option("--dry", help="Only say how many runs there are and what they cost.")
    ] = False,
) -> None:
    """Make every run of a grid that is not finished yet, several at once.

    It can be stopped at any time: what is finished is kept, and the rest goes on from its
    checkpoints when the grid is started again. A worker that dies is reported, and another one goes
    on with its run.
    """
    from softlabel.train import read_grid

    carry_out(read_grid(file), processes, engine, dry)


def carry_out(
    jobs: Sequence[Job], processes: int | None = None, engine: str | None = None, dry: bool = False
) -> None:
    """Say what it will cost, do it, and show what came of it."""
    from softlabel.train import crew, price

    at_once = processes or crew.places()
    with progress() as tell:
        standings = crew.stand(jobs, tell)
        tell("trying one step of each kind")
        line = price(standings, 1 if len(standings) == 1 else at_once)
    typer.echo(line)
    if dry:
        return
    if len(jobs) == 1 and engine is None:
        _alone(standings[0])
    else:
        with live() as hear:
            crew.work(standings, hear, processes=at_once, engine=engine)
    show_runs([one.run for one in standings if one.state == "finished"])
    wrong = [one for one in standings if one.state in ("failed", "died")]
    if wrong:
        raise SoftlabelError(
            f"{len(wrong)} of {len(standings)} runs did not finish; the first, "
            f"{wrong[0].run.path}, {wrong[0].state}: {wrong[0].note}"
        )


def _alone(one: Standing) -> None:
    """A single run has this process and all its cores."""
    if one.state != "finished":
        with progress() as tell:
            one.job.completed(tell)
        one.state = "finished"


# ── the table ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def live(
    told_apart: Callable[[Sequence[Standing]], list[list[str]]] | None = None,
) -> Iterator[Callable[[Sequence[Standing]], None]]:
    """On a terminal a table that is drawn again and again; elsewhere only what goes wrong.

    ``told_apart`` gives a row of titles, and one for each run; without it: what settings say.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    told: set[tuple[str, str]] = set()

    def complain(standings: Sequence[Standing]) -> None:
        for one in standings:
            if one.note and (one.run.name, one.note) not in told:
                told.add((one.run.name, one.note))
                console.print(f"{one.run.name}: {one.note}", markup=False, highlight=False)

    if not console.is_terminal:
        yield complain
        return
    with Live(console=console, refresh_per_second=4, transient=True) as drawn:

        def hear(standings: Sequence[Standing]) -> None:
            complain(standings)
            drawn.update(table(standings, console.height - 4, told_apart or settings))

        yield hear


def settings(standings: Sequence[Standing]) -> list[list[str]]:
    """The settings in which these runs differ, and their seeds."""
    from softlabel.train import runs

    differing = runs.differing([one.run for one in standings])
    rows = [[str(one.run.value(key)) for key in (*differing, "seed")] for one in standings]
    return [[*differing, "seed"], *rows]


def table(
    standings: Sequence[Standing],
    most: int,
    told_apart: Callable[[Sequence[Standing]], list[list[str]]] = settings,
) -> Any:
    """State, epoch, loss and time left of each run, those that are being made first."""
    from rich.table import Table

    titles, *rows = told_apart(standings)
    pairs = sorted(zip(standings, rows, strict=True), key=lambda pair: ORDER.index(pair[0].state))
    title = ", ".join(f"{n} {state}" for state in ORDER if (n := _count(standings, state)))
    made = Table(title=title, title_justify="left", box=None)
    for name in ("run", *titles, "state", "epoch", "loss", "left"):
        made.add_column(name)
    for one, row in pairs[: max(most, 1)]:
        epoch = f"{one.epoch}/{one.epochs}" if one.epoch else ""
        made.add_row(
            *(one.run.name, *row, one.state, epoch),
            *(_number(one.loss), _time(one.left) if one.state == "running" else ""),
        )
    return made


def _count(standings: Sequence[Standing], state: str) -> int:
    return sum(one.state == state for one in standings)


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _time(seconds: float) -> str:
    from softlabel.train import spoken

    return "" if math.isnan(seconds) else spoken(seconds)

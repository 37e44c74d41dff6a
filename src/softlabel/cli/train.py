"""``train`` and ``grid``: one recipe with a few seeds, or many runs with a live table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softlabel.cli.evaluate import show_runs
from softlabel.cli.progress import progress
from softlabel.cli.shared import Load, app
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.train import Job, JobState


ORDER = ("running", "died", "failed", "finished", "waiting")


@app.command()
def grid(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.toml",
            help="Keys recipe, images, labels, against, deliver, out, seeds, load, and a table "
            "[set]. Any value may be a list; every combination is run once per seed.",
        ),
    ],
    processes: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Runs at the same time (default: one per core or GPU)."
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="dask[://HOST:PORT]",
            help="Run on a Dask cluster whose workers see the same folders.",
        ),
    ] = None,
    dry: Annotated[
        bool, typer.Option("--dry", help="Only print how many runs there are and what they cost.")
    ] = False,
) -> None:
    """Make all unfinished runs of a grid, several at a time.

    Stop it at any time: finished runs are kept, and the others resume from their checkpoints when
    you start the grid again. If a worker dies, this is reported and another one resumes its run.
    """
    from softlabel.train import read_grid

    carry_out(read_grid(file), processes, engine, dry)


def carry_out(
    jobs: Sequence[Job], processes: int | None = None, engine: str | None = None, dry: bool = False
) -> None:
    """Print what the jobs will cost, run them, and show their scores."""
    from softlabel.train import estimate_jobs, runner

    at_once = processes or runner.count_slots()
    with progress() as tell:
        standings = runner.find_states(jobs, tell)
        tell("trying one step of each kind")
        line = estimate_jobs(standings, 1 if len(standings) == 1 else at_once)
    typer.echo(line)
    if dry:
        return
    if len(jobs) == 1 and engine is None:
        _alone(standings[0])
    else:
        with live() as hear:
            runner.run_jobs(standings, hear, processes=at_once, engine=engine)
    show_runs([one.run for one in standings if one.state == "finished"])
    wrong = [one for one in standings if one.state in ("failed", "died")]
    if wrong:
        raise SoftlabelError(
            f"{len(wrong)} of {len(standings)} runs did not finish; the first, "
            f"{wrong[0].run.path}, {wrong[0].state}: {wrong[0].note}"
        )


def _alone(one: JobState) -> None:
    """Run a single job in this process, with all cores."""
    if one.state != "finished":
        with progress() as tell:
            one.job.complete_run(tell)
        one.state = "finished"


# ── the table ────────────────────────────────────────────────────────────────────────────────


@contextmanager
def live(
    told_apart: Callable[[Sequence[JobState]], list[list[str]]] | None = None,
) -> Iterator[Callable[[Sequence[JobState]], None]]:
    """Show a live table on a terminal; elsewhere print only problems.

    ``told_apart`` gives a row of titles, and one for each run; without it: what settings say.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    told: set[tuple[str, str]] = set()

    def complain(standings: Sequence[JobState]) -> None:
        for one in standings:
            if one.note and (one.run.name, one.note) not in told:
                told.add((one.run.name, one.note))
                console.print(f"{one.run.name}: {one.note}", markup=False, highlight=False)

    if not console.is_terminal:
        yield complain
        return
    with Live(console=console, refresh_per_second=4, transient=True) as drawn:

        def hear(standings: Sequence[JobState]) -> None:
            complain(standings)
            drawn.update(table(standings, console.height - 4, told_apart or settings))

        yield hear


def settings(standings: Sequence[JobState]) -> list[list[str]]:
    """The settings in which these runs differ, and their seeds."""
    from softlabel.train import runs

    differing = runs.find_differences([one.run for one in standings])
    rows = [[str(one.run.value(key)) for key in (*differing, "seed")] for one in standings]
    return [[*differing, "seed"], *rows]


def table(
    standings: Sequence[JobState],
    most: int,
    told_apart: Callable[[Sequence[JobState]], list[list[str]]] = settings,
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


def _count(standings: Sequence[JobState], state: str) -> int:
    return sum(one.state == state for one in standings)


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _time(seconds: float) -> str:
    from softlabel.train import format_seconds

    return "" if math.isnan(seconds) else format_seconds(seconds)


@app.command()
def train(  # noqa: PLR0913  (a command has as many arguments as options)
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            help="From scratch: small, c22-resnet34a, c22-vgg11, c22-resnet50, u20 or g26. On "
            "frozen features of a pre-trained network: features or features-linear.",
        ),
    ],
    images: Annotated[
        str,
        typer.Option(
            metavar="FILE.npz|NAME",
            help="A file with images, uint8 (m, h, w, 3), or features, float32 (m, d), and items, "
            "their names; or cifar10h or cifar10s, with labels and split as published.",
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The .npz file written by 'softlabel label'; or any file of answers it reads, for "
            "deliveries that need every annotator's label.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.npz",
            help="Soft labels of the test items, which are not trained on. Default: the published "
            "split or, for your own items, one in five by name.",
        ),
    ] = None,
    deliver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:key=value,...]",
            help="How labels reach training (default: aggregate); see 'softlabel list deliver'.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of runs; a single run has no interval.")
    ] = 5,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="key=value", help="Change a setting of the recipe; may be repeated."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder for the run folders.")
    ] = Path("runs"),
    load: Load = None,
) -> None:
    """Train a recipe with several seeds and compare its predictions with people.

    Every run has a folder named by everything that decides it. A finished run is not repeated, and
    an interrupted one resumes from its checkpoint. Several runs use one process per core; a single
    run uses all cores.
    """
    from softlabel.train import file_job as Job
    from softlabel.train import parse_settings

    job = Job(
        recipe,
        images,
        labels=labels,
        against=against,
        deliver=deliver,
        settings=parse_settings(settings or []),
        out=str(out),
        load=None if load is None else str(load),
    )
    carry_out([replace(job, seed=seed) for seed in range(seeds)])

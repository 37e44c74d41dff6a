"""``train`` and ``grid``: one recipe with a few seeds, or many runs with a live table; and
``predict``, which uses a trained network."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from softlabel.cli.evaluate import show_runs
from softlabel.cli.shared import command, progress
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.train import Job, JobState

Describe = Callable[[Sequence["JobState"]], list[list[str]]]  # a row of titles, one for each run
SHOWN = 10  # names of classes in a line
ORDER = ("running", "died", "failed", "finished", "waiting")


@command()
def grid(
    file: Path, processes: int | None = None, engine: str | None = None, dry: bool = False
) -> None:
    """Train all unfinished runs of a grid, several at a time.

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
        states = runner.find_states(jobs, tell)
        tell("trying one step of each kind")
        line = estimate_jobs(states, 1 if len(states) == 1 else at_once)
    typer.echo(line)
    if dry:
        return
    if len(jobs) > 1 or engine is not None:
        with live() as hear:
            runner.run_jobs(states, hear, processes=at_once, engine=engine)
    elif states[0].state != "finished":  # a single job uses this process and all cores
        with progress() as tell:
            states[0].job.complete_run(tell)
        states[0].state = "finished"
    show_runs([state.run for state in states if state.state == "finished"])
    wrong = [state for state in states if state.state in ("failed", "died")]
    if wrong:
        raise SoftlabelError(
            f"{len(wrong)} of {len(states)} runs did not finish; the first, "
            f"{wrong[0].run.path}, {wrong[0].state}: {wrong[0].note}"
        )


def describe_settings(states: Sequence[JobState]) -> list[list[str]]:
    """Return the settings in which these runs differ, and their seeds."""
    from softlabel.train import runs

    keys = [*runs.find_differences([state.run for state in states]), "seed"]
    return [keys, *([str(state.run.value(key)) for key in keys] for state in states)]


@contextmanager
def live(describe: Describe = describe_settings) -> Iterator[Callable[[Sequence[JobState]], None]]:
    """Show a live table on a terminal; elsewhere print only problems."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    printed: set[tuple[str, str]] = set()

    def complain(states: Sequence[JobState]) -> None:
        for state in states:
            if state.note and (state.run.name, state.note) not in printed:
                printed.add((state.run.name, state.note))
                console.print(f"{state.run.name}: {state.note}", markup=False, highlight=False)

    if not console.is_terminal:
        yield complain
        return
    with Live(console=console, refresh_per_second=4, transient=True) as drawn:

        def hear(states: Sequence[JobState]) -> None:
            complain(states)
            drawn.update(table(states, console.height - 4, describe))

        yield hear


def table(states: Sequence[JobState], most: int, describe: Describe = describe_settings) -> Any:
    """Return the state, epoch, loss and time left of each run, running ones first."""
    from rich.table import Table

    from softlabel.train import format_seconds

    titles, *rows = describe(states)
    pairs = sorted(zip(states, rows, strict=True), key=lambda pair: ORDER.index(pair[0].state))
    counts = Counter[str](state.state for state in states)
    title = ", ".join(f"{counts[name]} {name}" for name in ORDER if counts[name])
    made = Table(title=title, title_justify="left", box=None)
    for name in ("run", *titles, "state", "epoch", "loss", "left"):
        made.add_column(name)
    for state, row in pairs[: max(most, 1)]:
        timed = state.state == "running" and not math.isnan(state.left)
        made.add_row(
            *(state.run.name, *row, state.state),
            f"{state.epoch}/{state.epochs}" if state.epoch else "",
            "" if math.isnan(state.loss) else f"{state.loss:.3f}",
            format_seconds(state.left) if timed else "",
        )
    return made


@command()
def train(  # noqa: PLR0913  (a command has as many arguments as options)
    recipe: str,
    images: str,
    labels: str | None = None,
    against: str | None = None,
    deliver: str | None = None,
    seeds: int = 5,
    settings: list[str] | None = None,
    out: Path = Path("runs"),
    load: Path | None = None,
) -> None:
    """Train a recipe with several seeds and compare its predictions with people's labels.

    The name of a run's folder is a hash of everything that determines the run. A finished run is
    not repeated, and an interrupted run resumes from its checkpoint. Several runs use one process
    per core; a single run uses all cores.
    """
    from softlabel.train import file_job, parse_settings

    job = file_job(
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


@command()
def predict(run: Path, items: str, out: Path) -> None:
    """Predict other items with the network of a finished run.

    Each item gets a probability for every class. 'softlabel score' compares the file with people's
    labels.
    """
    from softlabel import io
    from softlabel.train import Run, read_inputs
    from softlabel.train import predict as networks

    with progress() as tell:
        tell(f"reading {items}")
        networks.refuse_objects(items)
        called, inputs = read_inputs(items)
        made = networks.predict_with_run(Run(run), inputs, called.tolist(), tell)
        io.write.write_predictions(made, out)
    classes = made.index.labels.tolist()
    shown = ", ".join(classes[:SHOWN]) + (" …" if len(classes) > SHOWN else "")
    typer.echo(f"{out}: {len(made):,} items, {len(classes)} classes ({shown})")

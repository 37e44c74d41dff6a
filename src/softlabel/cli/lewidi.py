"""``lewidi``: a baseline for Learning with Disagreements, beside others' results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from softlabel.cli import shared
from softlabel.errors import MissingExtra, SoftlabelError

if TYPE_CHECKING:
    from softlabel.papers import lewidi as tasks


@shared.command()
def lewidi(
    year: Literal["2023", "2025"],
    only: list[str] | None = None,
    out: Path = Path("lewidi"),
    sentences: bool = False,
) -> None:
    """Predict the test sets of Learning with Disagreements, score and compare them.

    Reads your copy of the organisers' files, trains a cheap baseline that is chosen on dev, prints
    its scores by the official measures beside controls and published ones, and writes submission
    files. It takes about two minutes in all.
    """
    from importlib.util import find_spec

    if not shared.has_papers():
        raise SoftlabelError(shared.NO_PAPERS)
    if find_spec("sklearn") is None:
        raise MissingExtra("softlabel lewidi", "sklearn")
    from softlabel.papers import lewidi as tasks

    names = only or list(tasks.SETS[year])
    for name in names:
        with shared.progress() as tell:
            entry = tasks.run_task(year, name, out, sentences, tell)
        show_entry(entry, tasks.read_published(name))


def show_entry(entry: tasks.Entry, published: dict[str, dict[str, float]]) -> None:
    """Print the table of one set."""
    task = entry.task
    measures = task.measures
    rows = {**entry.scores, **published}
    width = max(map(len, rows))
    seen = " and ".join(entry.choice.strengths)
    typer.echo(f"\n{task.name}: {len(task.rows['test'])} test items; softlabel sees {seen}")
    typer.echo("  ".join(["system".ljust(width), *(name.rjust(13) for name in measures)]))
    for system, scores in rows.items():
        cells = (f"{scores[name]:.3f}" if name in scores else "–" for name in measures)
        typer.echo("  ".join([system.ljust(width), *(cell.rjust(13) for cell in cells)]))
    for file in entry.files:
        typer.echo(f"wrote {file}")

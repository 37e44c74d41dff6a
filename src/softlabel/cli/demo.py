"""``demo``: a study with simulated people, and a page about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from softlabel.cli.shared import app, progress, show_table

LEARNED = ("delivered", "kl", "total-variation", "entropy-pearson")


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder to write to; made if need be.")
    ] = Path("softlabel-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Another seed is another study.")] = 0,
) -> None:
    """Make a study with simulated people, label it, train on it, and write a page about it.

    Training needs torch; without it the page has all the rest.
    """
    from softlabel import demo as study

    with progress() as tell:
        result = study.run(folder, seed=seed, progress=lambda step, done, of: tell(step))
    rows = [{key: _shown(value) for key, value in row.items()} for row in result.rows]
    show_table("how far each label is from the known truth (95 % intervals over items)", rows, 99)
    if result.learned:
        learned = [{key: _shown(row[key]) for key in LEARNED} for row in result.learned]
        show_table("how far trained networks are from it (95 % intervals over runs)", learned, 99)
    else:
        typer.echo(f"\nnothing was trained: {study.INSTALL}, then run the demo again")
    typer.echo(f"\nwrote {result.path}")


def _shown(value: Any) -> str:
    """A name as it is, a score with its interval, a dash where it is not defined."""
    score = getattr(value, "value", None)
    if score is None:
        return str(value)
    if score != score:
        return "-"
    return f"{score:.3f} [{value.low:.3f}, {value.high:.3f}]"

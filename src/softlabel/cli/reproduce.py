"""``reproduce``: numbers worked out again from the data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softlabel.cli.progress import progress
from softlabel.cli.shared import app, show_table

if TYPE_CHECKING:
    from softlabel.reproduce.scoring import Table

reproduce = typer.Typer(
    help="Work out published or promised numbers again, from the data.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(reproduce, name="reproduce")


@reproduce.callback()
def _reproduce() -> None:
    """A group, although it has one command."""


@reproduce.command()
def pooling(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="The folder of data sets; without it $SOFTLABEL_DATA and the cache.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One split and a fifth of the images.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Also write everything as a page.")
    ] = None,
) -> None:
    """Replay votes of CIFAR-10H, rich answers of CIFAR-10S and ChaosNLI, and print how well each
    pool foretells the votes held out, beside the targets."""
    from softlabel.files.aside import aside
    from softlabel.reproduce import page
    from softlabel.reproduce import pooling as replay

    if data is not None:
        os.environ["SOFTLABEL_DATA"] = str(data)  # where all data sets are looked for
    with progress() as tell:
        outcome = replay.run(quick, tell)
    for table in (*outcome.tables, page.target_table(outcome)):
        _show(table)
    if output is not None:
        with aside(output) as part:
            part.write_text(page.markdown(outcome), "utf-8")
        typer.echo(f"\nwrote {output}")


def _show(table: Table) -> None:
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    show_table(table.title, rows, len(rows))

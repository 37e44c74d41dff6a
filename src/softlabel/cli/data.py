"""``data``: published data sets, and where they are."""

from __future__ import annotations

from typing import Annotated

import typer

from softlabel.cli.contents import Contents
from softlabel.cli.shared import app, download_bars, show_facts
from softlabel.errors import SoftlabelError

data = typer.Typer(
    cls=Contents,
    help="Published data sets: which there are, and where.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(data, name="data")


@data.command("list")
def list_data() -> None:
    """List the published data sets that softlabel can read."""
    from softlabel import datasets

    for info in datasets.infos():
        places = datasets.where(info.name).values()
        here = sum(place is not None for place in places)
        typer.echo(f"{info.name}: {info.title}; licence: {info.licence}")
        typer.echo(f"      {here} of {len(places)} files are here; {info.home}")
        if info.parts:
            typer.echo(f"      parts: {', '.join(info.parts)}")


Name = Annotated[str, typer.Argument(metavar="NAME", help="See 'softlabel data list'.")]


@data.command()
def fetch(name: Name) -> None:
    """Download the files of a data set that are not here yet."""
    from softlabel import datasets

    with download_bars() as report:
        new = datasets.fetch(name, report)
    for path in new:
        typer.echo(path)
    if not new:
        typer.echo(f"{name}: every file is here already")


@data.command()
def where(
    name: Name,
    check: Annotated[
        bool, typer.Option("--check", help="Also compare the files with their known checksums.")
    ] = False,
) -> None:
    """Say where the files of a data set are on this machine."""
    from softlabel import datasets

    wrong = datasets.verify(name) if check else []
    if wrong:
        raise SoftlabelError("; ".join(wrong))
    show_facts({file: str(path or "not here") for file, path in datasets.where(name).items()})

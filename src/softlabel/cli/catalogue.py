"""``list`` and ``data``: strategies by name, and published data sets."""

from __future__ import annotations

import inspect
import re
from typing import Annotated, Any

import typer

from softlabel.cli.contents import Contents
from softlabel.cli.shared import Load, app, download_bars, load_strategies, show_facts
from softlabel.errors import SoftlabelError


@app.command("list")
def list_strategies(
    family: Annotated[
        str | None,
        typer.Argument(
            metavar="FAMILY", help="mode, construct, aggregate, deliver or metric. Default: all."
        ),
    ] = None,
    load: Load = None,
) -> None:
    """List all strategies with their parameters, defaults and papers."""
    from softlabel import registry

    load_strategies(load)
    chosen = registry.families() if family is None else {family: registry.members(family)}
    for name, known in chosen.items():
        typer.echo(f"{name}:")
        for member, kind in known.items():
            typer.echo(f"  {member}{_parameters(kind)}")
            for line in (_first_sentence(kind), getattr(kind, "paper", None)):
                if line:
                    typer.echo(f"      {line}")


def _parameters(kind: Any) -> str:
    """``:top=all,spread=0.1`` as it may be typed; of a metric, its options and direction."""
    from softlabel import registry
    from softlabel.tables import ESTIMATES

    if inspect.isclass(kind):
        shown = [f"{key}={default}" for key, (_, default) in registry.parameters(kind).items()]
        note = f" (estimates {ESTIMATES[kind.estimand]})" if hasattr(kind, "estimand") else ""
        return (f":{','.join(shown)}" if shown else "") + note
    options = list(inspect.signature(kind).parameters.values())[2:]
    shown = [f"{kind.better} is better", *(f"{o.name}={o.default}" for o in options)]
    return f" ({', '.join(shown)})"


def _first_sentence(kind: Any) -> str:
    text = " ".join((inspect.getdoc(kind) or "").split())
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


data = typer.Typer(
    cls=Contents,
    help="List, download and locate published data sets.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(data, name="data")


@data.command("list")
def list_data() -> None:
    """List the published data sets that softlabel can read."""
    from softlabel import datasets

    for info in datasets.list_infos():
        places = datasets.find_files(info.name).values()
        here = sum(place is not None for place in places)
        typer.echo(f"{info.name}: {info.title}; licence: {info.licence}")
        typer.echo(f"      {here} of {len(places)} files present; {info.home}")
        if info.parts:
            typer.echo(f"      parts: {', '.join(info.parts)}")


Name = Annotated[str, typer.Argument(metavar="NAME", help="See 'softlabel data list'.")]


@data.command()
def fetch(name: Name) -> None:
    """Download the missing files of a data set."""
    from softlabel import datasets

    with download_bars() as report:
        new = datasets.fetch(name, report)
    for path in new:
        typer.echo(path)
    if not new:
        typer.echo(f"{name}: all files are present")


@data.command()
def where(
    name: Name,
    check: Annotated[
        bool, typer.Option("--check", help="Also compare the files with their known checksums.")
    ] = False,
) -> None:
    """Print where the files of a data set are on this machine."""
    from softlabel import datasets

    wrong = datasets.verify(name) if check else []
    if wrong:
        raise SoftlabelError("; ".join(wrong))
    show_facts({file: str(path or "missing") for file, path in datasets.find_files(name).items()})

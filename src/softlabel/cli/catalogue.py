"""``list`` and ``data``: strategies by name, and published data sets."""

import inspect
import re
from pathlib import Path
from typing import Any

import typer

from softlabel.cli.shared import app, command, load_strategies, make_group, show_facts
from softlabel.errors import SoftlabelError


@command(name="list")
def list_strategies(family: str | None = None, load: Path | None = None) -> None:
    """List all strategies with their parameters, defaults and papers."""
    from softlabel import registry

    load_strategies(load)
    chosen = registry.families() if family is None else {family: registry.members(family)}
    for name, members in chosen.items():
        typer.echo(f"{name}:")
        for member, kind in members.items():
            typer.echo(f"  {member}{_parameters(kind)}")
            text = " ".join((inspect.getdoc(kind) or "").split())
            first_sentence = re.split(r"(?<=\.)\s", text, maxsplit=1)[0]
            for line in (first_sentence, getattr(kind, "paper", None)):
                if line:
                    typer.echo(f"      {line}")


def _parameters(kind: Any) -> str:
    """Return ``:top=all,spread=0.1`` as typed; for a metric, its options and direction."""
    from softlabel import registry
    from softlabel.tables import ESTIMATES

    if inspect.isclass(kind):
        shown = [f"{key}={default}" for key, (_, default) in registry.parameters(kind).items()]
        note = f" (estimates {ESTIMATES[kind.estimand]})" if hasattr(kind, "estimand") else ""
        return (f":{','.join(shown)}" if shown else "") + note
    options = list(inspect.signature(kind).parameters.values())[2:]
    shown = [f"{kind.better} is better", *(f"{o.name}={o.default}" for o in options)]
    return f" ({', '.join(shown)})"


data = make_group("List, download and locate published data sets.")
app.add_typer(data, name="data")


@command(data, name="list")
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


@command(data)
def fetch(name: str) -> None:
    """Download the missing files of a data set."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

    from softlabel import datasets

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as bars:

        def report(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file, total=total)
            bars.update(tasks[file], completed=done, total=total)

        new = datasets.fetch(name, report)
    for path in new:
        typer.echo(path)
    if not new:
        typer.echo(f"{name}: all files are present")


@command(data)
def where(name: str, check: bool = False) -> None:
    """Print where the files of a data set are on this machine."""
    from softlabel import datasets

    if wrong := datasets.verify(name) if check else []:
        raise SoftlabelError("; ".join(wrong))
    show_facts({file: str(path or "missing") for file, path in datasets.find_files(name).items()})

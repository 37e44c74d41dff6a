"""``list``: what can be chosen by name."""

from __future__ import annotations

import inspect
import re
from typing import Annotated, Any

import typer

from softlabel.cli.shared import Load, app, load_strategies


@app.command("list")
def list_strategies(
    family: Annotated[
        str | None,
        typer.Argument(
            metavar="FAMILY", help="mode, construct, aggregate, deliver or metric; or all."
        ),
    ] = None,
    load: Load = None,
) -> None:
    """List what can be chosen by name, with parameters, defaults and paper."""
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

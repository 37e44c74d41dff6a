"""``train``: one recipe, a few seeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli.grid import carry_out
from softlabel.cli.shared import Load, app


@app.command()
def train(  # noqa: PLR0913  (a command has as many arguments as options)
    recipe: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE",
            help="small, c22-resnet34a, c22-vgg11, c22-resnet50, u20 or g26: from scratch; "
            "features or features-linear: on features of a network that has seen other pictures.",
        ),
    ],
    images: Annotated[
        str,
        typer.Option(
            metavar="FILE.npz|NAME",
            help="images uint8 (m, h, w, 3) or features float32 (m, d), and items, their names; "
            "or cifar10h or cifar10s, with labels and split as published.",
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The .npz that 'softlabel label' writes; or the answers themselves, of any kind "
            "that it reads, for deliveries that need each annotator's.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.npz",
            help="Soft labels of the items to be tested on, which are not learned from. Without "
            "it: as published or, of other items, one in five by its name.",
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
        int, typer.Option(min=1, metavar="N", help="How many runs; one has no interval.")
    ] = 5,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="key=value", help="Another value of the recipe's, as often as needed."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the folder of each run goes.")
    ] = Path("runs"),
    load: Load = None,
) -> None:
    """Train, predict the items held out, and say how close to people that came.

    Every run has a folder, named by all that decides it: a finished run is not repeated, and one
    that was interrupted goes on from its checkpoint. Several runs are made at once, a process per
    core; a single one has all cores.
    """
    from softlabel.train import file_job as Job
    from softlabel.train import parsed

    job = Job(
        recipe,
        images,
        labels=labels,
        against=against,
        deliver=deliver,
        settings=parsed(settings or []),
        out=str(out),
        load=None if load is None else str(load),
    )
    carry_out([replace(job, seed=seed) for seed in range(seeds)])

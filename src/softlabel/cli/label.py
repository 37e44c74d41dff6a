"""``label`` and ``export``: from answers to files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli.shared import (
    Construct,
    Input,
    Labels,
    Load,
    Mode,
    Pool,
    Repeats,
    app,
    make_mode,
    make_plan,
    open_source,
    progress,
    show_facts,
    split,
)


@app.command()
def label(  # noqa: PLR0913  (a command has as many arguments as options)
    source: Input,
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="A .csv, .parquet, .jsonl or .npz file.")
    ],
    construct: Construct = None,
    aggregate: Pool = "mean",
    repeats: Repeats = None,
    labels: Labels = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="M", help="Use M annotators per item, by chance.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --sample.")] = 0,
    mode: Mode = None,
    load: Load = None,
) -> None:
    """Write one soft label per item: item, one column per class, count."""
    from softlabel import files

    plan = make_plan(load, construct, aggregate, repeats=repeats, sample=sample, seed=seed)
    files.check_target(output, files.SOFT_KINDS, source)
    with progress() as tell:
        found = open_source(source, split(labels), tell, make_mode(mode))
        facts = files.label(found, output, plan, tell)
    show_facts(facts)


@app.command()
def export(
    source: Input,
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="A .csv, .parquet, .jsonl or .json file.")
    ],
    construct: Construct = None,
    repeats: Repeats = None,
    labels: Labels = None,
    mode: Mode = None,
    load: Load = None,
) -> None:
    """Write every answer as it was read or, with --construct, as a soft vote.

    Responses go to .jsonl, .csv, .parquet or .json (the keys of CIFAR-10S, without annotators);
    votes to .csv, .parquet or .jsonl. An answer that was mended on reading is written as mended,
    and says by which repair (but in .json); --mode classic:repairs=none mends nothing. Names are
    written as they are: one that begins with = + - @ or a tab is run as a formula by a spreadsheet
    that opens the CSV.
    """
    from softlabel import files

    plan = make_plan(load, construct, repeats=repeats)
    files.check_target(output, files.SAID_KINDS, source)
    with progress() as tell:
        found = open_source(source, split(labels), tell, make_mode(mode))
        facts = files.export(found, output, plan, tell)
    show_facts(facts)

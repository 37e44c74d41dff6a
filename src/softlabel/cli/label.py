"""``label`` and ``export``: from answers to files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli.progress import progress
from softlabel.cli.serve import Database
from softlabel.cli.shared import (
    Construct,
    Gold,
    Input,
    Labels,
    Load,
    Mode,
    Pool,
    Repeats,
    app,
    load_strategies,
    make_mode,
    make_plan,
    open_source,
    show_facts,
    split,
)
from softlabel.cli.status import export_study
from softlabel.errors import SoftlabelError


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
    gold: Gold = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="dask[://HOST:PORT]",
            help="Pool in parts: on a cluster of this machine's cores, or on the Dask cluster "
            "whose scheduler is at HOST:PORT. INPUT may then also be a folder of .parquet files "
            "of votes, each item in one of them.",
        ),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With --engine: how many (default: one per core)."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --engine: keep what is learned there after every step, and go on from it.",
        ),
    ] = None,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            help="Also write 90 % credible intervals (low:CLASS, high:CLASS) and the expected gain "
            "of one more vote in nats (gain). For auto, dirichlet, dirichlet-mixture and atoms.",
        ),
    ] = False,
    mode: Mode = None,
    load: Load = None,
) -> None:
    """Write one soft label per item: item, one column per class, count."""
    from softlabel import io as files
    from softlabel.label import label_source

    rest = {"repeats": repeats, "sample": sample, "seed": seed}
    plan = make_plan(load, construct, aggregate, **rest, gold=gold, intervals=intervals)
    files.check_output(output, files.LABEL_KINDS, source)
    if engine is None and (parts or checkpoint):
        name = "parts" if parts else "checkpoint"
        raise SoftlabelError(f"--{name} {parts or checkpoint}: is for --engine; say --engine dask")
    with progress() as tell:
        read = partial(open_source, source, split(labels), tell, make_mode(mode))
        if engine is None:
            facts = label_source(read(), output, plan, tell)
        else:
            from softlabel.engine import ClusterPlan, label_on_cluster

            whole = ClusterPlan(source, output, plan, read, split(labels), parts, checkpoint)
            facts = label_on_cluster(whole, engine, tell)
    show_facts(facts)


@app.command()
def export(  # noqa: PLR0913  (a command has as many arguments as options)
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT", help="A study folder, or whatever 'softlabel label' takes as INPUT."
        ),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="A .csv, .parquet, .jsonl or .json file.")
    ],
    construct: Construct = None,
    repeats: Repeats = None,
    labels: Labels = None,
    mode: Mode = None,
    db: Database = None,
    load: Load = None,
) -> None:
    """Write every answer as it was read or, with --construct, as a soft vote.

    Of a study folder: everything that is stored, practice and checks too, while the study is
    served or without a server; exactly as it was sent to .jsonl, one flat row per answer to .csv
    or .parquet, and to .json (mode classic) the keys of CIFAR-10S. Text files may end in .gz.

    Of other inputs: responses go to .jsonl, .csv, .parquet or .json (the keys of CIFAR-10S,
    without annotators); votes to .csv, .parquet or .jsonl. An answer that was mended on reading is
    written as mended, and says by which repair (but in .json); --mode classic:repairs=none mends
    nothing.

    In CSV, text that begins with = + - @ or a tab has an apostrophe before it, so that a
    spreadsheet does not run it; numbers stay numbers, and softlabel takes it away on reading.
    """
    from softlabel import io as files
    from softlabel.label import export_source

    if Path(source).is_dir():
        _refuse({"construct": construct, "repeats": repeats, "labels": labels, "mode": mode})
        load_strategies(load)
        export_study(Path(source), output, db)
        return
    if db is not None:
        raise SoftlabelError(f"--db {db}: {source} is no study folder, so it has no database")
    plan = make_plan(load, construct, repeats=repeats)
    files.check_output(output, files.ANSWER_KINDS, source)
    with progress() as tell:
        found = open_source(source, split(labels), tell, make_mode(mode))
        facts = export_source(found, output, plan, tell)
    show_facts(facts)


def _refuse(options: Mapping[str, str | None]) -> None:
    """A study folder is exported as it is."""
    for name, value in options.items():
        if value is not None:
            raise SoftlabelError(
                f"--{name} {value}: a study folder is exported as it is; export it to a .jsonl "
                "file, and then that file with this option"
            )

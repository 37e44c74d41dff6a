"""``label`` and ``export``: from answers to files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli import shared
from softlabel.cli.status import export_study
from softlabel.errors import SoftlabelError


@shared.app.command()
def label(  # noqa: PLR0913  (a command has as many arguments as options)
    source: shared.Input,
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="A .csv, .parquet, .jsonl or .npz file.")
    ],
    construct: shared.Construct = None,
    aggregate: shared.Pool = "mean",
    repeats: shared.Repeats = None,
    labels: shared.Labels = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="M", help="Sample M annotators per item at random.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of --sample.")] = 0,
    gold: shared.Gold = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="dask[://HOST:PORT]",
            help="Pool on a Dask cluster: one on the cores of this machine, or the one whose "
            "scheduler is at HOST:PORT. INPUT may then also be a folder of .parquet files of "
            "votes; all votes on an item must be in the same file.",
        ),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Parts for --engine (default: one per core)."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="With --engine: save a checkpoint here after every step, and resume from it.",
        ),
    ] = None,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            help="Also write 90 % credible intervals (low:CLASS, high:CLASS) and the expected gain "
            "from one more vote in nats (gain). For auto, dirichlet, dirichlet-mixture and atoms.",
        ),
    ] = False,
    mode: shared.Mode = None,
    load: shared.Load = None,
) -> None:
    """Write one soft label per item: item, one column per class, count."""
    from softlabel import io
    from softlabel.label import label_source

    rest = {"repeats": repeats, "sample": sample, "seed": seed}
    plan = shared.make_plan(load, construct, aggregate, **rest, gold=gold, intervals=intervals)
    io.check_output(output, io.LABEL_KINDS, source)
    if engine is None and (parts or checkpoint):
        name = "parts" if parts else "checkpoint"
        raise SoftlabelError(f"--{name} {parts or checkpoint}: is for --engine; use --engine dask")
    classes = shared.split_labels(labels)
    with shared.progress() as tell:
        read = partial(
            shared.open_source, source, classes, tell, shared.parse_strategy("mode", mode)
        )
        if engine is None:
            facts = label_source(read(), output, plan, tell)
        else:
            from softlabel.engine import ClusterPlan, label_on_cluster

            whole = ClusterPlan(source, output, plan, read, classes, parts, checkpoint)
            facts = label_on_cluster(whole, engine, tell)
    shared.show_facts(facts)


@shared.app.command()
def export(  # noqa: PLR0913  (a command has as many arguments as options)
    source: Annotated[
        str,
        typer.Argument(metavar="INPUT", help="A study folder, or any INPUT of 'softlabel label'."),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="A .csv, .parquet, .jsonl or .json file.")
    ],
    construct: shared.Construct = None,
    repeats: shared.Repeats = None,
    labels: shared.Labels = None,
    mode: shared.Mode = None,
    db: shared.Database = None,
    load: shared.Load = None,
) -> None:
    """Write every answer as it was read or, with --construct, as a soft vote.

    From a study folder, everything that is stored is exported, including practice and checks, with
    or without a running server: exactly as sent to .jsonl, one flat row per answer to .csv or
    .parquet, and with the keys of CIFAR-10S to .json (mode classic). Text files may end in .gz.

    From other inputs, responses go to .jsonl, .csv, .parquet or .json (with the keys of CIFAR-10S,
    without annotators); votes go to .csv, .parquet or .jsonl. An answer that was repaired on
    reading is written as repaired, with the name of the repair (except in .json); --mode
    classic:repairs=none repairs nothing.

    In CSV files, text that begins with = + - @ or a tab gets an apostrophe in front, so that a
    spreadsheet does not execute it; softlabel removes it on reading. Numbers stay numbers.
    """
    from softlabel import io
    from softlabel.label import export_source

    if Path(source).is_dir():
        options = {"construct": construct, "repeats": repeats, "labels": labels, "mode": mode}
        for name, value in options.items():
            if value is not None:
                raise SoftlabelError(
                    f"--{name} {value}: a study folder is exported as it is; export it to a .jsonl "
                    "file, and then export that file with this option"
                )
        shared.load_strategies(load)
        export_study(Path(source), output, db)
        return
    if db is not None:
        raise SoftlabelError(f"--db {db}: {source} is no study folder, so it has no database")
    plan = shared.make_plan(load, construct, repeats=repeats)
    io.check_output(output, io.ANSWER_KINDS, source)
    with shared.progress() as tell:
        answers = shared.open_source(
            source, shared.split_labels(labels), tell, shared.parse_strategy("mode", mode)
        )
        facts = export_source(answers, output, plan, tell)
    shared.show_facts(facts)

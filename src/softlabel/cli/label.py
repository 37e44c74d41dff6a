"""``label``, ``export`` and ``convert``: from answers to files."""

from functools import partial
from pathlib import Path
from typing import Any

import typer

from softlabel.cli import shared
from softlabel.cli.status import export_study
from softlabel.errors import SoftlabelError


@shared.command()
def label(  # noqa: PLR0913  (a command has as many arguments as options)
    source: str,
    output: Path,
    construct: str | None = None,
    aggregate: str = "mean",
    repeats: shared.Repeats | None = None,
    labels: str | None = None,
    sample: int | None = None,
    seed: int = 0,
    gold: Path | None = None,
    judges: str | None = None,
    engine: str | None = None,
    parts: int | None = None,
    checkpoint: Path | None = None,
    intervals: bool = False,
    ordered: bool = False,
    mode: str | None = None,
    arm: str | None = None,
    load: Path | None = None,
    told: shared.Told = shared.NOTHING_TOLD,
) -> None:
    """Write one soft label per item: item, one column per class, count."""
    from softlabel import io
    from softlabel.labelling import label_source

    rest: dict[str, Any] = {"repeats": repeats, "sample": sample, "seed": seed}
    rest |= {"gold": gold, "intervals": intervals, "judges": shared.open_judges(judges)}
    plan = shared.make_plan(load, construct, aggregate, **rest)
    io.check_output(output, io.write.LABEL_KINDS, source)
    if engine is None and (parts or checkpoint):
        name = "parts" if parts else "checkpoint"
        raise SoftlabelError(f"--{name} {parts or checkpoint}: is for --engine; use --engine dask")
    if engine is not None and judges is not None:
        raise SoftlabelError("--judges: is not for --engine, whose pools see people only")
    if engine is not None and ordered:
        raise SoftlabelError("--ordered: is not for --engine, whose pools do not use the order")
    if engine is not None and arm is not None:
        raise SoftlabelError(f"--arm {arm}: is not for --engine, which reads votes only")
    classes = shared.split_labels(labels)
    reading = told.make_reading()
    with shared.progress() as tell:
        asked = shared.parse_strategy("mode", mode)
        read = partial(shared.open_source, source, classes, tell, asked, reading)
        if engine is None:
            answers = shared.mark_ordered(read()) if ordered else read()
            answers = answers if arm is None else answers.take_arm(arm)
            facts = label_source(answers, output, plan, tell)
        else:
            from softlabel.engine import ClusterPlan, label_on_cluster

            whole = ClusterPlan(source, output, plan, read, classes, parts, checkpoint, reading)
            facts = label_on_cluster(whole, engine, tell)
    shared.show_facts(facts, output)


@shared.command()
def export(  # noqa: PLR0913  (a command has as many arguments as options)
    source: str,
    output: Path,
    construct: str | None = None,
    repeats: shared.Repeats | None = None,
    labels: str | None = None,
    mode: str | None = None,
    db: str | None = None,
    load: Path | None = None,
    told: shared.Told = shared.NOTHING_TOLD,
) -> None:
    """Write every answer as it was read or, with --construct, as a soft vote.

    From a study folder, everything that is stored is exported, including practice and checks, with
    or without a running server: exactly as sent to .jsonl, one flat row per answer to .csv or
    .parquet, and with the keys of CIFAR-10S to .json (mode classic). Text files may end in .gz. A
    file called people.csv gets one row per person, and questions.jsonl one line per answer to the
    questions before and after the items.

    From other inputs, responses go to .jsonl, .csv, .parquet or .json (with the keys of CIFAR-10S,
    without annotators); votes go to .csv, .parquet or .jsonl. An answer that was repaired on
    reading is written as repaired, with the name of the repair (except in .json); --mode
    classic:repairs=none repairs nothing.

    In CSV files, text that begins with = + - @ or a tab gets an apostrophe in front, so that a
    spreadsheet does not execute it; softlabel removes it on reading. Numbers stay numbers.
    """
    from softlabel import io
    from softlabel.labelling import export_source

    if _is_study(Path(source)) and told.from_ is None:
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
    io.check_output(output, io.write.ANSWER_KINDS, source)
    with shared.progress() as tell:
        classes, asked = shared.split_labels(labels), shared.parse_strategy("mode", mode)
        reading = told.make_reading()
        answers = shared.open_source(source, classes, tell, asked, reading)
        facts = export_source(answers, output, plan, tell)
    shared.show_facts(facts, output)


def _is_study(folder: Path) -> bool:
    """Return whether this is a folder of a study, not one of another program's files."""
    from softlabel import io

    if (folder / "study.toml").exists():
        return True
    return folder.is_dir() and io.formats.find_format(folder) is None


@shared.command()
def convert(  # noqa: PLR0913  (a command has as many arguments as options)
    source: str,
    output: Path,
    from_: str | None = None,
    to: str | None = None,
    keep_ids: bool = False,
    repeats: shared.Repeats | None = None,
    labels: str | None = None,
    aggregate: str = "mean",
    columns: str | None = None,
    missing: shared.Missing = "refuse",
    spelling: shared.Spelling = "refuse",
) -> None:
    """Write the answers in a file in the format of another program.

    The format of the input is told from its content. Without --to, answers become a table that
    softlabel reads (.csv, .parquet or .jsonl). What a format cannot hold is printed first.
    Annotators are called a1, a2 and so on, in random order, unless you give --keep-ids.
    """
    from softlabel import io
    from softlabel.labelling import convert_source

    how = shared.parse_strategy("format", to)
    kinds = io.write.ANSWER_KINDS
    if how is not None and how.suffixes:
        kinds = tuple(suffix.removeprefix(".") for suffix in how.suffixes)
    io.check_output(output, kinds, source)
    plan = shared.make_plan(None, None, aggregate, repeats=repeats)
    reading = shared.Told(from_, columns, missing, spelling).make_reading()
    with shared.progress() as tell:
        answers = shared.open_source(source, shared.split_labels(labels), tell, reading=reading)
        facts = convert_source(
            answers,
            output,
            how,
            plan,
            keep_ids=keep_ids,
            warn=lambda text: typer.echo(f"note: {text}", err=True),
            progress=tell,
        )
    shared.show_facts(facts | {"written as": how.name if how else "a table"}, output)

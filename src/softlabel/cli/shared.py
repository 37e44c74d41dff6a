"""What the commands share: the application, its options, opening inputs, showing results.

Imports of numpy, polars and scipy wait inside the functions, so that ``--help`` is quick.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from softlabel.cli.contents import Contents
from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.datasets import Dataset
    from softlabel.io import AnswerTable, Progress, Source
    from softlabel.label import Plan
    from softlabel.tables import Floats, Ints

DATASET = "dataset:"
NO_PAPERS = "the papers are not part of this installation: it has no softlabel.papers"

app = typer.Typer(
    cls=Contents,
    help="Turn what people said about items into soft labels.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="dataset:NAME[/PART], or a .csv, .parquet or .jsonl file of votes (item, annotator, "
        "label), of soft votes (item, annotator, one column per class) or of responses; or the "
        ".json of CIFAR-10S. Text files may end in .gz.",
    ),
]
Construct = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:key=value,...]",
        help="How an answer becomes a label; see 'softlabel list construct'.",
    ),
]
Repeats = Annotated[
    Literal["first", "mean", "all", "error"] | None,
    typer.Option(
        help="Where one person answered one item more than once: keep the first answer, the mean "
        "of the labels, all of them, or stop. The default is error for files, but first for data "
        "sets and for repeats that a study asked for.",
    ),
]
Mode = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[:key=value,...]",
        help="How answers are read, for instance classic:repairs=none; answers that were asked for "
        "through another mode are left out. See 'softlabel list mode'.",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        help="All classes, in order. Without it: those that occur, by number or by alphabet.",
    ),
]
Load = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.py",
        help="A Python file whose softlabel.registry.register(...) calls add strategies; it is "
        "executed, and each strategy is checked.",
    ),
]
Pool = Annotated[
    str,
    typer.Option(
        metavar="NAME[:key=value,...]",
        help="How the labels of an item are pooled; see 'softlabel list aggregate'.",
    ),
]
Gold = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.csv", help="The right classes, where known: columns item and label."
    ),
]


# ── opening ──────────────────────────────────────────────────────────────────────────────────


def open_source(text: str, labels: list[str] | None, tell: Progress, mode: Any = None) -> Source:
    """The input that ``text`` names: a file, or a published data set."""
    from softlabel import io as files

    found = open_dataset(text, tell, mode)
    if found is None:
        tell(f"reading {text}")
        source = files.read_answers(text, labels, mode, tell)
        if source.simulated:
            typer.echo(
                f"warning: {text}: {source.simulated:,} of {len(source.answers):,} answers were "
                "given by simulated people",
                err=True,
            )
        return source
    said = _said(text, found)
    classes = said.index.labels.tolist()
    if labels is not None and labels != classes:
        raise SoftlabelError(f"{text} has its own classes, {', '.join(classes)}; drop --labels")
    return files.Source(text, said, repeats="first")


class Answers(NamedTuple):
    """Every answer, repeats too; the gold classes (m,) and the seconds of each answer (n,), where
    these are known; what must be told about the reading; and what each person skipped."""

    said: AnswerTable
    gold: Ints | None
    seconds: Floats | None
    told: dict[str, str]
    skips: Mapping[str, Mapping[str, int]]


def open_answers(text: str, labels: list[str] | None, tell: Progress) -> Answers:
    """All that is known about the people behind the input that ``text`` names."""
    found = open_dataset(text, tell)
    if found is None:
        opened = open_source(text, labels, tell)
        return Answers(opened.answers, None, opened.seconds, opened.facts, opened.skips)
    said = _said(text, found)
    seconds = found.arrays["rt_ms"] / 1000 if "rt_ms" in found.arrays else None
    if "duplicate" in found.arrays:  # rows that the release holds twice
        once = ~found.arrays["duplicate"]
        said, seconds = said.take(once), None if seconds is None else seconds[once]
    return Answers(said, found.gold, seconds, {}, {})


def _said(text: str, found: Dataset) -> AnswerTable:
    said = found.statements if found.statements is not None else found.annotations
    if said is None:
        raise SoftlabelError(f"{text} has no annotations, so there is nothing to label")
    return said


def open_dataset(text: str, tell: Progress, mode: Any = None) -> Dataset | None:
    """The published data set that ``text`` names, with all its answers; None if it names a file."""
    if not text.startswith(DATASET):
        return None
    from softlabel import datasets

    tell(f"reading {text}")
    name = text.removeprefix(DATASET)
    if name == "cifar10s":  # with its repeats, which are then dropped, and counted, like all
        return datasets.cifar10s.load("all", mode)
    return datasets.load(name)


def has_papers() -> bool:
    """Return whether the reproduced papers are installed; everything else works without them."""
    return importlib.util.find_spec("softlabel.papers") is not None


def load_strategies(path: Path | None) -> None:
    if path is not None:
        from softlabel import plugins, testing

        plugins.load_strategies(path, testing.check_family)


def make_plan(
    load: Path | None, construct: str | None, aggregate: str = "mean", **rest: Any
) -> Plan:
    from softlabel import registry
    from softlabel.label import Plan

    load_strategies(load)
    return Plan(
        construct=None if construct is None else registry.parse("construct", construct),
        aggregate=registry.parse("aggregate", aggregate),
        **rest,
    )


def make_mode(text: str | None) -> Any:
    """The mode that ``--mode`` describes, or None."""
    from softlabel import registry

    return None if text is None else registry.parse("mode", text)


def split(labels: str | None) -> list[str] | None:
    """``a,b,c`` to a list of classes, each there once."""
    if labels is None:
        return None
    names = [name.strip() for name in next(csv.reader([labels]), [""])]  # quotes hold commas
    for name in names:
        if not name or names.count(name) > 1:
            fault = f"names {name!r} twice" if name else "holds an empty name"
            raise SoftlabelError(f"--labels {labels!r} {fault}; write the classes as a,b,c")
    return names


# ── showing ──────────────────────────────────────────────────────────────────────────────────


def show_facts(facts: Mapping[str, str]) -> None:
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {value}")


def show_table(title: str, rows: Sequence[Mapping[str, Any]], most: int) -> None:
    """A title and the first rows, columns aligned; what is left out is counted."""
    typer.echo(f"\n{title}{':' if rows else ''}")
    if not rows:
        return
    lines = [list(rows[0]), *([str(cell) for cell in row.values()] for row in rows[:most])]
    widths = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
    for line in lines:
        typer.echo(
            "  " + "  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)).rstrip()
        )
    if len(rows) > most:
        typer.echo(f"  and {len(rows) - most:,} more")


def json_text(value: Any) -> str:
    """For programs; numbers that are not defined become null, which is JSON."""
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


@contextmanager
def download_bars() -> Iterator[Callable[[str, int, int | None], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    bars: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def report(file: str, done: int, total: int | None) -> None:
            if file not in bars:
                bars[file] = progress.add_task(file, total=total)
            progress.update(bars[file], completed=done, total=total)

        yield report

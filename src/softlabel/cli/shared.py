"""What the commands share: the application, its options, opening inputs, showing results.

Imports of numpy, polars and scipy wait inside the functions, so that ``--help`` is quick.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.datasets import Dataset
    from softlabel.files import Plan, Source

DATASET = "dataset:"
PATIENCE = 1.5  # seconds before progress is shown

app = typer.Typer(
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
        help="How answers are read, for instance classic:repairs=none; see 'softlabel list mode'.",
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


# ── opening ──────────────────────────────────────────────────────────────────────────────────


def open_source(
    text: str, labels: list[str] | None, tell: Callable[[str], None], mode: Any = None
) -> Source:
    """The input that ``text`` names: a file, or a published data set."""
    from softlabel import files

    found = open_dataset(text, tell, mode)
    if found is None:
        tell(f"reading {text}")
        return files.read(text, labels, mode)
    said = found.statements if found.statements is not None else found.annotations
    if said is None:
        raise SoftlabelError(f"{text} has no annotations, so there is nothing to label")
    classes = said.index.labels.tolist()
    if labels is not None and labels != classes:
        raise SoftlabelError(f"{text} has its own classes, {', '.join(classes)}; drop --labels")
    return files.source_of(text, said)


def open_dataset(text: str, tell: Callable[[str], None], mode: Any = None) -> Dataset | None:
    """The published data set that ``text`` names, with all its answers; None if it names a file."""
    if not text.startswith(DATASET):
        return None
    from softlabel import datasets

    tell(f"reading {text}")
    name = text.removeprefix(DATASET)
    if name == "cifar10s":  # with its repeats, which are then dropped, and counted, like all
        return datasets.cifar10s.load("all", mode)
    return datasets.load(name)


def load_strategies(path: Path | None) -> None:
    if path is not None:
        from softlabel import testing
        from softlabel.files import loading

        loading.load_strategies(path, testing.check_family)


def make_plan(
    load: Path | None, construct: str | None, aggregate: str = "mean", **rest: Any
) -> Plan:
    from softlabel import files, registry

    load_strategies(load)
    return files.Plan(
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


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A line on stderr that says what is going on, once that takes long enough to wonder."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda step: None
        return
    status = console.status("starting")
    timer = Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda step: status.update(escape(step))
    finally:
        timer.cancel()
        timer.join()
        status.stop()


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

"""What the commands share: the application, options, opening inputs, showing results, progress.

Imports of numpy, polars and scipy wait inside the functions, so that ``--help`` is quick.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from typer.core import TyperGroup

from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.datasets import Dataset
    from softlabel.io import AnswerTable, Progress, Source
    from softlabel.label import Plan
    from softlabel.tables import Floats, Ints

DATASET = "dataset:"
NO_PAPERS = "the papers are not part of this installation: it has no softlabel.papers"
PATIENCE = 1.5  # seconds before progress is shown
ORDER = (
    *("new", "check", "simulate", "serve", "invite", "status", "export", "forget"),
    *("backup", "restore", "migrate"),
    *("label", "inspect", "agree", "annotators"),
    *("train", "grid", "evaluate", "report", "reproduce"),
    *("list", "data", "demo"),
)  # collect answers; keep them safe; make labels; train and measure; look around


class Contents(TyperGroup):
    """List commands by ``ORDER``, then as they were added, each with the first paragraph of its
    help.  Typer would cut what does not fit a line, and take "et al." for the end of a sentence."""

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = []
        for name in self.list_commands(ctx):
            first, _, _ = (self.commands[name].help or "").partition("\n\n")
            rows.append((name, " ".join(first.split())))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def make_group(help_text: str, **settings: Any) -> typer.Typer:
    """Return a group of commands: the application, or one with commands of its own."""
    return typer.Typer(
        cls=Contents, help=help_text, no_args_is_help=True, rich_markup_mode=None, **settings
    )


app = make_group(
    "Collect beliefs from annotators and turn them into soft labels.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def strategy_option(family: str, text: str) -> Any:
    """Return an option that names a strategy of a family."""
    help_text = f"{text}; see 'softlabel list {family}'."
    return typer.Option(metavar="NAME[:key=value,...]", help=help_text)


Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="dataset:NAME[/PART]; or a .csv, .parquet or .jsonl file of votes (item, annotator, "
        "label), soft votes (item, annotator, one column per class) or responses; or the .json "
        "file of CIFAR-10S. Text files may end in .gz.",
    ),
]
Construct = Annotated[
    str | None, strategy_option("construct", "How to turn an answer into a label")
]
Repeats = Annotated[
    Literal["first", "mean", "all", "error"] | None,
    typer.Option(
        help="What to do if a person answered an item more than once: keep the first answer, the "
        "mean of the labels or all of them, or stop with an error. Default: error for files; first "
        "for data sets and for repeats that a study asked for."
    ),
]
Mode = Annotated[
    str | None,
    strategy_option(
        "mode",
        "How to read answers, for example classic:repairs=none (answers collected with another "
        "mode are left out)",
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        help="All classes, in order. Default: those that occur, by number or alphabetically.",
    ),
]
Load = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.py",
        help="Run a Python file that adds strategies with softlabel.registry.register(...), and "
        "check each strategy.",
    ),
]
Pool = Annotated[str, strategy_option("aggregate", "How to pool the labels of an item")]
Gold = Annotated[
    Path | None,
    typer.Option(metavar="FILE.csv", help="Known correct classes: columns item and label."),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The study folder.")]
Database = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="URL",
        help="The database: a file, sqlite:///FILE or postgresql://USER@HOST/NAME. "
        "Default: DIR/.softlabel/answers.db, or rehearsal.db for a rehearsal.",
    ),
]


# ── opening ──────────────────────────────────────────────────────────────────────────────────


def open_source(text: str, labels: list[str] | None, tell: Progress, mode: Any = None) -> Source:
    """Open an input: a file or a published data set."""
    from softlabel import io

    dataset = _open_dataset(text, tell, mode)
    if dataset is None:
        tell(f"reading {text}")
        source = io.read_answers(text, labels, mode, tell)
        if source.simulated:
            typer.echo(
                f"warning: {text}: {source.simulated:,} of {len(source.answers):,} answers were "
                "given by simulated people",
                err=True,
            )
        return source
    answers = _answers_of(text, dataset)
    classes = answers.index.labels.tolist()
    if labels is not None and labels != classes:
        raise SoftlabelError(f"{text} has its own classes, {', '.join(classes)}; omit --labels")
    return io.Source(text, answers, repeats="first")


class Answers(NamedTuple):
    """Every answer, including repeats; the gold classes (m,) and the seconds of each answer (n,),
    where known; facts to report about the reading; and what each person skipped."""

    table: AnswerTable
    gold: Ints | None
    seconds: Floats | None
    facts: dict[str, str]
    skips: Mapping[str, Mapping[str, int]]


def open_answers(text: str, labels: list[str] | None, tell: Progress) -> Answers:
    """Open an input with everything that is known about its annotators."""
    dataset = _open_dataset(text, tell)
    if dataset is None:
        source = open_source(text, labels, tell)
        return Answers(source.answers, None, source.seconds, source.facts, source.skips)
    table = _answers_of(text, dataset)
    seconds = dataset.arrays["rt_ms"] / 1000 if "rt_ms" in dataset.arrays else None
    if "duplicate" in dataset.arrays:  # rows that the release holds twice
        once = ~dataset.arrays["duplicate"]
        table, seconds = table.take(once), None if seconds is None else seconds[once]
    return Answers(table, dataset.gold, seconds, {}, {})


def _answers_of(text: str, dataset: Dataset) -> AnswerTable:
    table = dataset.statements if dataset.statements is not None else dataset.annotations
    if table is None:
        raise SoftlabelError(f"{text} has no annotations, so there is nothing to label")
    return table


def _open_dataset(text: str, tell: Progress, mode: Any = None) -> Dataset | None:
    """Open a published data set with all its answers; return None if ``text`` names a file."""
    if not text.startswith(DATASET):
        return None
    from softlabel import datasets

    tell(f"reading {text}")
    name = text.removeprefix(DATASET)
    if name == "cifar10s":  # with its repeats, which are dropped and counted as those of others
        return datasets.cifar10s.load("all", mode)
    return datasets.load(name)


def has_papers() -> bool:
    """Return whether the reproduced papers are installed; everything else works without them."""
    return importlib.util.find_spec("softlabel.papers") is not None


def load_strategies(path: Path | None) -> None:
    if path is not None:
        from softlabel import plugins, testing

        plugins.load_strategies(path, testing.check_family)


def parse_strategy(family: str, text: str | None) -> Any:
    """Return the strategy that an option describes; None for None."""
    from softlabel import registry

    return None if text is None else registry.parse(family, text)


def make_plan(
    load: Path | None, construct: str | None, aggregate: str = "mean", **rest: Any
) -> Plan:
    from softlabel.label import Plan

    load_strategies(load)
    return Plan(
        construct=parse_strategy("construct", construct),
        aggregate=parse_strategy("aggregate", aggregate),
        **rest,
    )


def split_labels(labels: str | None) -> list[str] | None:
    """Split ``a,b,c`` into different classes."""
    if labels is None:
        return None
    names = [name.strip() for name in next(csv.reader([labels]), [""])]  # quotes hold commas
    for name in names:
        if not name or names.count(name) > 1:
            fault = f"names {name!r} twice" if name else "contains an empty name"
            raise SoftlabelError(f"--labels {labels!r} {fault}; write the classes as a,b,c")
    return names


# ── showing ──────────────────────────────────────────────────────────────────────────────────


def show_facts(facts: Mapping[str, str]) -> None:
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {value}")


def show_table(title: str, rows: Sequence[Mapping[str, Any]], most: int) -> None:
    """Print a title and the first rows in aligned columns, and how many rows are left out."""
    typer.echo(f"\n{title}{':' if rows else ''}")
    if not rows:
        return
    lines = [list(rows[0]), *([str(cell) for cell in row.values()] for row in rows[:most])]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        typer.echo(f"  {'  '.join(cells)}".rstrip())
    if len(rows) > most:
        typer.echo(f"  and {len(rows) - most:,} more")


def json_text(value: Any) -> str:
    """Return JSON, in which undefined numbers are null."""
    return json.dumps(_without_nan(value), ensure_ascii=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _without_nan(entry) for key, entry in value.items()}
    return [_without_nan(entry) for entry in value] if isinstance(value, list | tuple) else value


def write_text(path: Path, text: str) -> None:
    from softlabel._util.files import write_atomically

    with write_atomically(path) as part:
        part.write_text(text, "utf-8")


@contextmanager
def progress() -> Iterator[Progress]:
    """Show on stderr what is being done; where the length is known, a bar and the time left.

    Nothing is shown if stderr is no terminal, or if the work is done within ``PATIENCE``.
    """
    from rich import progress as bars
    from rich.console import Console

    from softlabel._util.progress import silent

    console = Console(stderr=True)
    if not console.is_terminal:
        yield silent
        return
    always = (bars.SpinnerColumn(), bars.TextColumn("{task.description}", markup=False))
    left = bars.TimeRemainingColumn(compact=True)
    timed = (*always, bars.BarColumn(bar_width=24), left, bars.TextColumn("left"))
    bar = bars.Progress(*always, console=console, transient=True)
    shown = {"starting": bar.add_task("starting", total=None)}

    def tell(step: str, done: int = 0, total: int | None = None) -> None:
        kind = step.partition(":")[0]
        if kind not in shown:  # another step: its time is counted from here
            bar.remove_task(shown.popitem()[1])
            shown[kind] = bar.add_task(step, total=total)
        bar.columns = always if total is None else timed
        bar.update(shown[kind], completed=done, total=total, description=step)

    timer = Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield tell
    finally:
        timer.cancel()
        timer.join()
        bar.stop()

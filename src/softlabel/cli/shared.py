"""What the commands share: the application, options, opening inputs, showing results, progress.

Imports of numpy, polars and scipy wait inside the functions, so that ``--help`` is quick.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import typer
from typer.core import TyperGroup

from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
    from softlabel.datasets import Dataset
    from softlabel.io import AnswerTable, Progress, Reading, Source
    from softlabel.labelling import Plan
    from softlabel.tables import Ints

Command = TypeVar("Command", bound=Callable[..., None])
DATASET = "dataset:"
NO_PAPERS = "the papers are not part of this installation: it has no softlabel.papers"
PATIENCE = 1.5  # seconds before progress is shown
ORDER = (
    *("new", "batches", "check", "preview", "simulate", "serve", "invite", "status"),
    *("export", "forget"),
    *("pause", "resume", "close", "reopen", "quota", "cap", "add"),
    *("exclude", "include", "end", "audit"),
    *("who", "pay", "prolific", "rehearse"),
    *("backup", "restore", "migrate"),
    *("judge", "label", "inspect", "agree", "annotators", "compare-modes", "convert", "publish"),
    *("plan", "replay"),
    *("score", "train", "grid", "predict", "evaluate", "report", "reproduce", "lewidi"),
    *("list", "data", "demo"),
)  # collect; run a study; pay; keep answers safe; make labels; plan; train; look around


class Contents(TyperGroup):
    """List commands by ``ORDER``, those of a group as they were added, each with the first
    paragraph of its help.  Typer would cut what does not fit a line, and take "et al." for the end
    of a sentence."""

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        if self.name:
            return names
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


OPTIONS = tomllib.loads((Path(__file__).parent / "options.toml").read_text("utf-8"))
Repeats = Literal["first", "last", "mean", "all", "error"]
Missing = Literal["refuse", "drop"]
Spelling = Literal["refuse", "merge", "keep"]
STREAM = "-"  # standard input, or standard output


@dataclass(frozen=True)
class Told:
    """What the options of a command say about how to read a file: as a parameter of the command, it
    stands for these options."""

    from_: str | None = None
    columns: str | None = None
    missing: Missing = "refuse"
    spelling: Spelling = "refuse"

    def make_reading(self) -> Reading:
        """Return how to read a file; formats may have been added since the command was typed."""
        from softlabel import io

        named: dict[str, str] = {}
        for pair in next(csv.reader([self.columns or ""]), []):
            ours, equals, theirs = (part.strip() for part in pair.partition("="))
            known = ours in ("item", "annotator", "label")
            if not known or not (equals and theirs) or ours in named:
                raise SoftlabelError(
                    f"--columns {self.columns!r}: {pair!r} is not one of item=NAME, annotator=NAME "
                    "and label=NAME, each given once"
                )
            named[ours] = theirs
        return io.Reading(parse_strategy("format", self.from_), named, self.missing, self.spelling)


NOTHING_TOLD = Told()


def command(group: typer.Typer = app, **settings: Any) -> Callable[[Command], Command]:
    """Make a function a command of a group; ``options.toml`` describes its parameters.  The table
    of a parameter is that of the function, or else the one in ``shared``."""

    def add(function: Command) -> Command:
        own = OPTIONS.get(function.__name__, {})
        kinds = get_type_hints(function)
        told = next((name for name, kind in kinds.items() if kind is Told), None)
        if told is not None:
            kinds |= get_type_hints(Told)
        described: dict[str, Any] = {}
        for name, kind in kinds.items():
            if name in ("return", told):
                continue
            about = dict(own.get(name) or OPTIONS["shared"][name])
            flags = about.pop("flags", [f"--{name.replace('_', '-')}"] if kind is bool else [])
            make: Any = typer.Argument if about.pop("argument", False) else typer.Option
            described[name] = Annotated[kind, make(*flags, **about)]
        if told is None:
            function.__annotations__ |= described
            return group.command(**settings)(function)
        return group.command(**settings)(_spread_told(function, told, described))

    return add


def _spread_told(function: Command, told: str, described: Mapping[str, Any]) -> Command:
    """Return the function with the options of ``Told`` in the place of the parameter ``told``."""
    kind, options = Parameter.POSITIONAL_OR_KEYWORD, [one.name for one in fields(Told)]

    @wraps(function)
    def call(**given: Any) -> None:
        about = {name: given.pop(name) for name in options}
        function(**given, **{told: Told(**about)})

    spread: list[Parameter] = []
    for name, one in signature(function).parameters.items():
        if name == told:
            spread += [Parameter(two.name, kind, default=two.default) for two in fields(Told)]
        else:
            spread.append(one)
    shown = [one.replace(annotation=described[one.name]) for one in spread]
    call.__annotations__ = dict(described)
    call.__signature__ = Signature(shown)  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


# ── opening ──────────────────────────────────────────────────────────────────────────────────


def open_source(
    text: str,
    labels: list[str] | None,
    tell: Progress,
    mode: Any = None,
    reading: Reading | None = None,
) -> Source:
    """Open an input: a file or a published data set."""
    from softlabel import io

    dataset = _open_dataset(text, tell, mode)
    if dataset is None:
        tell(f"reading {text}")
        source = io.read_answers(text, labels, mode, tell, reading)
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


def open_answers(
    text: str, labels: list[str] | None, tell: Progress, reading: Reading | None = None
) -> tuple[Source, Ints | None]:
    """Open an input with every answer, including repeats, and the gold classes (m,) if known."""
    from softlabel import io

    dataset = _open_dataset(text, tell)
    if dataset is None:
        return open_source(text, labels, tell, reading=reading), None
    table = _answers_of(text, dataset)
    seconds = dataset.arrays["rt_ms"] / 1000 if "rt_ms" in dataset.arrays else None
    if "duplicate" in dataset.arrays:  # rows that the release holds twice
        once = ~dataset.arrays["duplicate"]
        table, seconds = table.take(once), None if seconds is None else seconds[once]
    return io.Source(text, table, seconds=seconds), dataset.gold


def open_judges(text: str | None) -> Any:
    """Return what models said: the data set that ``text`` names, or the file."""
    if text is None or not text.startswith(DATASET):
        return text
    from softlabel import datasets

    return datasets.load(text.removeprefix(DATASET))


def mark_ordered(source: Source) -> Source:
    """Return the same answers, whose classes are steps of a scale."""
    index = replace(source.answers.index, ordered=True)
    return replace(source, answers=replace(source.answers, index=index))


def _answers_of(text: str, dataset: Dataset) -> AnswerTable:
    table = dataset.statements if dataset.statements is not None else dataset.annotations
    if table is None and dataset.machines is not None:
        raise SoftlabelError(
            f"{text} has labels of models only, and these are not pooled as if people had given "
            "them; in Python they are Dataset.machines"
        )
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
    from softlabel.labelling import Plan

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


def show_facts(facts: Mapping[str, str], output: Path | None = None) -> None:
    """Print what happened: on stderr if the ``output`` of the command goes to stdout."""
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {value}", err=str(output) == STREAM)


def show_table(
    title: str, rows: Sequence[Mapping[str, Any]], most: int, *, rich: bool = False
) -> None:
    """Print a title and the first rows in aligned columns, and how many rows are left out.
    ``rich``: on a terminal, with lines and colours."""
    typer.echo(f"\n{title}{':' if rows else ''}")
    if not rows:
        return
    if rich and sys.stdout.isatty():
        _show_rich_table(rows[:most])
        return
    lines = [list(rows[0]), *([str(cell) for cell in row.values()] for row in rows[:most])]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        typer.echo(f"  {'  '.join(cells)}".rstrip())
    if len(rows) > most:
        typer.echo(f"  and {len(rows) - most:,} more")


def _show_rich_table(rows: Sequence[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for column in rows[0]:
        table.add_column(Text(column), style="cyan" if column == next(iter(rows[0])) else "")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row.values()))
    Console().print(table)


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

"""The command line: every command is a skin over one function.

Exit codes: 0 done, 1 something in the user's input, 2 wrong usage, 70 a mistake of ours.
Imports of numpy, polars and scipy wait inside the commands, so that ``--help`` is quick.
"""

from __future__ import annotations

import inspect
import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from softlabel.errors import SoftlabelError

if TYPE_CHECKING:
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
data = typer.Typer(
    help="Published data sets: which there are, and where.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(data, name="data")

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
        "of the labels, all of them, or stop. For files the default is error, for data sets first.",
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


# ── commands ─────────────────────────────────────────────────────────────────────────────────


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Say the version and stop.")] = False,
) -> None:
    if version:
        from softlabel import __version__

        typer.echo(f"softlabel {__version__}")
        raise typer.Exit


@app.command()
def label(  # noqa: PLR0913  (a command has as many arguments as options)
    source: Input,
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="A .csv, .parquet, .jsonl or .npz file.")
    ],
    construct: Construct = None,
    aggregate: Annotated[
        str,
        typer.Option(
            metavar="NAME[:key=value,...]",
            help="How the labels of an item are pooled; see 'softlabel list aggregate'.",
        ),
    ] = "mean",
    repeats: Repeats = None,
    labels: Labels = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="M", help="Use M annotators per item, by chance.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of --sample.")] = 0,
    load: Load = None,
) -> None:
    """Write one soft label per item: item, one column per class, count."""
    from softlabel import files

    plan = _plan(load, construct, aggregate, repeats=repeats, sample=sample, seed=seed)
    files.check_target(output, files.SOFT_KINDS, source)
    with _progress() as tell:
        found = open_source(source, _split(labels), tell)
        facts = files.label(found, output, plan, tell)
    _show(facts)


@app.command()
def export(
    source: Input,
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="A .csv, .parquet, .jsonl or .json file.")
    ],
    construct: Construct = None,
    repeats: Repeats = None,
    labels: Labels = None,
    load: Load = None,
) -> None:
    """Write every answer as it was given or, with --construct, as a soft vote.

    Responses go to .jsonl, .csv, .parquet or .json (the keys of CIFAR-10S, without annotators);
    votes to .csv, .parquet or .jsonl. Names are written as they are: one that begins with = + - @
    or a tab is run as a formula by a spreadsheet that opens the CSV.
    """
    from softlabel import files

    plan = _plan(load, construct, repeats=repeats)
    files.check_target(output, files.SAID_KINDS, source)
    with _progress() as tell:
        found = open_source(source, _split(labels), tell)
        facts = files.export(found, output, plan, tell)
    _show(facts)


@app.command("list")
def list_strategies(
    family: Annotated[
        str | None,
        typer.Argument(metavar="FAMILY", help="mode, construct, aggregate or metric; or all."),
    ] = None,
    load: Load = None,
) -> None:
    """List what can be chosen by name, with parameters, defaults and paper."""
    from softlabel import registry

    _load(load)
    for name in [family] if family else registry.FAMILIES:
        typer.echo(f"{name}:")
        for member, kind in registry.members(name).items():
            typer.echo(f"  {member}{_parameters(kind)}")
            for line in (_first_sentence(kind), getattr(kind, "paper", None)):
                if line:
                    typer.echo(f"      {line}")


@data.command("list")
def list_data() -> None:
    """List the published data sets that softlabel can read."""
    from softlabel import datasets

    for info in datasets.infos():
        places = datasets.where(info.name).values()
        here = sum(place is not None for place in places)
        typer.echo(f"{info.name}: {info.title}; licence: {info.licence}")
        typer.echo(f"      {here} of {len(places)} files are here; {info.home}")
        if info.parts:
            typer.echo(f"      parts: {', '.join(info.parts)}")


Name = Annotated[str, typer.Argument(metavar="NAME", help="See 'softlabel data list'.")]


@data.command()
def fetch(name: Name) -> None:
    """Download the files of a data set that are not here yet."""
    from softlabel import datasets

    with _download_bars() as report:
        new = datasets.fetch(name, report)
    for path in new:
        typer.echo(path)
    if not new:
        typer.echo(f"{name}: every file is here already")


@data.command()
def where(name: Name) -> None:
    """Say where the files of a data set are on this machine."""
    from softlabel import datasets

    _show({file: str(path or "not here") for file, path in datasets.where(name).items()})


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder to write to; made if need be.")
    ] = Path("softlabel-demo"),
    seed: Annotated[int, typer.Option(help="Another seed is another study.")] = 0,
) -> None:
    """Make a study with simulated people, label it, and write a page about it."""
    from softlabel import demo as study

    with _progress() as tell:
        result = study.run(folder, seed=seed, progress=lambda step, done, of: tell(step))
    typer.echo(f"wrote {result.path}")


# ── what the commands share ──────────────────────────────────────────────────────────────────


def open_source(text: str, labels: list[str] | None, tell: Callable[[str], None]) -> Source:
    """The input that ``text`` names: a file, or a published data set."""
    from softlabel import files

    tell(f"reading {text}")
    if not text.startswith(DATASET):
        return files.read(text, labels)
    from softlabel import datasets

    name = text.removeprefix(DATASET)
    # CIFAR-10S leaves its repeats out unless asked; here they are dropped, and counted, like all
    found = datasets.cifar10s.load("all") if name == "cifar10s" else datasets.load(name)
    said = found.statements if found.statements is not None else found.annotations
    if said is None:
        raise SoftlabelError(f"{text} has no annotations, so there is nothing to label")
    classes = said.index.labels.tolist()
    if labels is not None and labels != classes:
        raise SoftlabelError(f"{text} has its own classes, {', '.join(classes)}; drop --labels")
    return files.source_of(text, said)


def _load(path: Path | None) -> None:
    if path is not None:
        from softlabel import testing
        from softlabel.files.loading import load_strategies

        load_strategies(path, testing.check_family)


def _plan(load: Path | None, construct: str | None, aggregate: str = "mean", **rest: Any) -> Plan:
    from softlabel import files, registry

    _load(load)
    return files.Plan(
        construct=None if construct is None else registry.parse("construct", construct),
        aggregate=registry.parse("aggregate", aggregate),
        **rest,
    )


def _split(labels: str | None) -> list[str] | None:
    """``a,b,c`` to a list of classes, each there once."""
    if labels is None:
        return None
    names = [name.strip() for name in labels.split(",")]
    for name in names:
        if not name or names.count(name) > 1:
            fault = f"names {name!r} twice" if name else "holds an empty name"
            raise SoftlabelError(f"--labels {labels!r} {fault}; write the classes as a,b,c")
    return names


def _show(facts: Mapping[str, str]) -> None:
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name:<{width}}  {value}")


def _parameters(kind: Any) -> str:
    """``:top=2,spread=0.1`` as it may be typed; of a metric, its options and direction."""
    from softlabel import registry

    if inspect.isclass(kind):
        shown = [f"{key}={default}" for key, (_, default) in registry.parameters(kind).items()]
        return f":{','.join(shown)}" if shown else ""
    options = list(inspect.signature(kind).parameters.values())[2:]
    shown = [f"{kind.better} is better", *(f"{o.name}={o.default}" for o in options)]
    return f" ({', '.join(shown)})"


def _first_sentence(kind: Any) -> str:
    text = " ".join((inspect.getdoc(kind) or "").split())
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
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
def _download_bars() -> Iterator[Callable[[str, int, int | None], None]]:
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


# ── the door ─────────────────────────────────────────────────────────────────────────────────


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.  No traceback leaves this function."""
    try:
        app(args=argv, prog_name="softlabel")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except SoftlabelError as error:
        return _fail(str(error), error)
    except OSError as error:
        return _fail(f"{error.filename or 'a file'}: {error.strerror or error}", error)
    except Exception as error:  # noqa: BLE001  the one place where everything ends
        from softlabel.files.loading import their_mistake

        if theirs := their_mistake(error):
            return _fail(theirs, error)
        name = f"{type(error).__name__}: {error}"
        _fail(f"softlabel made a mistake ({name}); please report it, with SOFTLABEL_DEBUG=1", error)
        return 70
    raise AssertionError("the application always exits")


def _fail(message: str, error: BaseException) -> int:
    """One line on stderr, with all that is known; the traceback only if asked for."""
    if os.environ.get("SOFTLABEL_DEBUG") == "1":
        traceback.print_exception(error)
    notes: Iterable[str] = getattr(error, "__notes__", ())
    doing = [note for note in notes if note.removeprefix("in ") not in message]
    text = message + (f" ({'; '.join(doing)})" if doing else "")
    typer.echo(f"error: {' '.join(text.split())}", err=True)
    return 1

"""The command line: every command is a skin over one function.

Exit codes: 0 done, 1 something in the user's input, 2 wrong usage, 70 a mistake of ours.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from softlabel.cli import (
    annotators,
    catalogue,
    data,
    databases,
    demo,
    evaluate,
    grid,
    label,
    look,
    report,
    reproduce,
    serve,
    simulate,
    status,
    study,
    train,
)
from softlabel.cli.shared import app
from softlabel.errors import SoftlabelError

COMMANDS = (
    study,
    label,
    look,
    report,
    annotators,
    train,
    grid,
    evaluate,
    catalogue,
    data,
    demo,
    reproduce,
    serve,
    simulate,
    status,
    databases,
)  # importing them has added their commands


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Say the version and stop.")] = False,
) -> None:
    if version:
        from softlabel import __version__

        typer.echo(f"softlabel {__version__}")
        raise typer.Exit


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
    except MemoryError as error:
        return _fail("there is not enough memory for this; fewer classes or items would do", error)
    except Exception as error:  # noqa: BLE001  the one place where everything ends
        from softlabel.plugins import describe_user_error

        if theirs := describe_user_error(error):
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
    if "\n" not in message:  # else they are instructions, to be copied as they are
        text = " ".join(text.split())
    typer.echo(f"error: {text}", err=True)
    return 1

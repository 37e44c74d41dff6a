"""The command line: every command is a thin layer over one function.

Exit codes: 0 success, 1 a problem with the input, 2 wrong usage, 70 a bug in softlabel.
"""

import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from softlabel.cli import (  # noqa: F401  importing them adds their commands
    allocate,
    annotators,
    catalogue,
    compare,
    control,
    demo,
    evaluate,
    judge,
    label,
    lewidi,
    pay,
    prolific,
    publish,
    reproduce,
    score,
    serve,
    simulate,
    status,
    study,
    train,
)
from softlabel.cli.shared import app
from softlabel.errors import SoftlabelError

__all__ = ["app", "main"]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from softlabel import __version__

        typer.echo(f"softlabel {__version__}")
        raise typer.Exit


@cache
def _program() -> Callable[..., Any]:
    """Put all commands together: most of the time of a short command, in tests of many."""
    return typer.main.get_command(app)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; print a traceback only with SOFTLABEL_DEBUG=1."""
    try:
        _program()(args=argv, prog_name="softlabel")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except SoftlabelError as error:
        return _fail(str(error), error)
    except OSError as error:
        return _fail(f"{error.filename or 'a file'}: {error.strerror or error}", error)
    except MemoryError as error:
        return _fail("not enough memory; use fewer classes or items", error)
    except Exception as error:  # noqa: BLE001  the one place where everything ends
        from softlabel.plugins import describe_user_error

        if theirs := describe_user_error(error):
            return _fail(theirs, error)
        name = f"{type(error).__name__}: {error}"
        text = f"this is a bug in softlabel ({name}); please report it, with SOFTLABEL_DEBUG=1"
        _fail(text, error)
        return 70
    raise AssertionError("the application always exits")


def _fail(message: str, error: BaseException) -> int:
    """Print the message, with the notes of the error, on stderr; return the exit code 1."""
    if os.environ.get("SOFTLABEL_DEBUG") == "1":
        traceback.print_exception(error)
    notes: Iterable[str] = getattr(error, "__notes__", ())
    doing = [note for note in notes if note.removeprefix("in ") not in message]
    text = message + (f" ({'; '.join(doing)})" if doing else "")
    if "\n" not in message:  # otherwise these are instructions to copy
        text = " ".join(text.split())
    typer.echo(f"error: {text}", err=True)
    return 1

"""Writes docs/commands.md: the help text of every command, as the program prints it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer.main
from typer.testing import CliRunner

from softlabel.cli import app
from softlabel.cli.shared import Contents

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
HEAD = """\
# Commands

Tables go to stdout, progress to stderr. Exit codes: 0 done, 1 something in your input, 2 wrong
usage, 70 a mistake of ours (please report it; `SOFTLABEL_DEBUG=1` shows where). Output is written
aside and renamed: a command that fails leaves no file, and an existing one as it was. This page is
made by `make docs`.
"""


def names(command: Any, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command and group, depth first, in the order in which ``--help`` shows them."""
    found = [before]
    if isinstance(command, Contents):
        for name in command.list_commands(None):
            found += names(command.commands[name], (*before, name))
    return found


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for words in names(typer.main.get_command(app)):
        shown = CliRunner(env={"COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb"}).invoke(
            app, [*words, "--help"], prog_name="softlabel"
        )
        assert shown.exit_code == 0, shown.output
        parts.append(
            f"## `{' '.join(('softlabel', *words))}`\n\n```\n{shown.output.strip()}\n```\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}", file=sys.stderr)

"""What ``--help`` says of commands: in the order of the work, each in a whole sentence."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

ORDER = (
    *("new", "check", "simulate", "serve", "invite", "status", "export", "forget"),
    *("backup", "restore", "migrate"),
    *("label", "inspect", "agree", "annotators"),
    *("train", "grid", "evaluate", "report", "reproduce"),
    *("list", "data", "demo"),
)  # ask people; keep what they said; make labels; teach and measure; look around


class Contents(TyperGroup):
    """Commands that are not in ``ORDER`` follow as they were added.  Left to itself the library
    cuts what does not fit a line, and takes the stop of "et al." for the end of a sentence."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, sorted."""
        names = super().list_commands(ctx)
        return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """A row for each: its name and the first paragraph of its help."""
        rows = []
        for name in self.list_commands(ctx):
            first, _, _ = (self.commands[name].help or "").partition("\n\n")
            rows.append((name, " ".join(first.split())))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

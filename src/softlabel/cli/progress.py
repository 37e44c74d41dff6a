"""How far a command is, on stderr, once it takes long enough to wonder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import ProgressColumn

    from softlabel.io import Progress

PATIENCE = 1.5  # seconds before anything is shown


@contextmanager
def progress() -> Iterator[Progress]:
    """A line that says what is going on; where that is known, with a bar and the time left.

    Nothing is shown to a program that reads stderr, nor of work that is done at once.
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _nothing
        return
    words = TextColumn("{task.description}", markup=False)
    bar = Progress(SpinnerColumn(), words, *_columns(), console=console, transient=True)
    shown = {"starting": bar.add_task("starting", total=None)}

    def tell(step: str, done: int = 0, total: int | None = None) -> None:
        kind = step.partition(":")[0]
        if kind not in shown:  # something else is being done: its time is counted from here
            bar.remove_task(shown.popitem()[1])
            shown[kind] = bar.add_task(step, total=total)
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


def _nothing(step: str, done: int = 0, total: int | None = None) -> None:
    """For a stderr that nobody looks at."""


def _columns() -> tuple[ProgressColumn, ...]:
    """The bar and the time left, of steps whose length is known."""
    from rich.progress import BarColumn, ProgressColumn, Task, TimeRemainingColumn
    from rich.text import Text

    class Known(ProgressColumn):
        def __init__(self, column: ProgressColumn, after: str = "") -> None:
            super().__init__()
            self.column, self.after = column, after

        def render(self, task: Task) -> RenderableType:
            if task.total is None:
                return ""
            shown = self.column.render(task)
            return shown.append(self.after) if isinstance(shown, Text) else shown

    left = TimeRemainingColumn(compact=True, elapsed_when_finished=False)
    return Known(BarColumn(bar_width=24)), Known(left, " left")

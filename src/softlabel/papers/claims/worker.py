"""A process that makes runs of papers: see ``softlabel.train.recipes.worker``.

A task names paper, recipe, cell and seed; its lesson is made here, once per cell.
"""

from __future__ import annotations

from softlabel.papers.claims.tasks import Task
from softlabel.train import made, main


def done(text: str) -> dict[str, str]:
    """Make the run of this task, and its probes."""
    return made(Task.of(text).completed)


if __name__ == "__main__":
    main(done)

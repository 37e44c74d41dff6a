"""All runs of a paper: which there are, which are left, and what came of those that are finished.

Everything stands in folders: whatever stops this leaves runs that go on from their checkpoints, a
finished one is never repeated, and results are read of those that are finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from softlabel.errors import SoftlabelError
from softlabel.io import Tell, silent
from softlabel.papers.claims import papers, worker
from softlabel.papers.claims.claims import Recipe
from softlabel.papers.claims.collecting import collect, keep_map
from softlabel.papers.claims.results import Results
from softlabel.papers.claims.tasks import Task, cells, in_order
from softlabel.train import Hear, Run, Standing, crew

QUICK_SEEDS = 2  # the fewest that have an interval
PROCESSES = 2


def run(
    paper: str,
    recipe: Recipe = "cpu",
    seeds: int | None = None,
    out: str | Path = "runs",
    quick: bool = False,
    tell: Tell = silent,
) -> Results:
    """Make all that is left to make of a paper, two at a time, and return what was scored."""
    standings = stand(paper, recipe, seeds, out, quick, tell)
    work(standings, lambda standings: tell("training", *_done(standings)))
    if trouble := unfinished(standings):
        raise SoftlabelError(trouble)
    return collect(out, papers.find(paper).NAME, recipe, quick)


def stand(
    paper: str,
    recipe: Recipe,
    seeds: int | None,
    out: str | Path,
    quick: bool = False,
    tell: Tell = silent,
) -> list[Standing]:
    """Where every run of a paper stands, in the order in which they will be made.

    Two cells may come to one run: it stands here once, and is probed for both.
    """
    found = papers.find(paper)
    number = seeds or (QUICK_SEEDS if quick else papers.seeds(found, recipe))
    names = cells(paper, recipe, quick)
    if not names:
        raise SoftlabelError(f"{found.NAME}: nothing is trained with recipe {recipe!r}")
    tasks = [
        Task(paper, recipe, cell, seed, str(out), quick).anywhere()
        for cell in names
        for seed in range(number)
    ]
    runs: dict[str, dict[int, Run]] = {}
    first: dict[str, Standing] = {}
    for one, task in zip(crew.stand(tasks, tell), tasks, strict=True):
        runs.setdefault(task.cell, {})[task.seed] = one.run
        leader = first.setdefault(one.run.name, one)
        if leader is not one:
            job = task_of(leader)
            leader.job = replace(job, also=(*job.also, task.cell))
    keep_map(out, found.NAME, recipe, quick, runs)
    for one in first.values():
        if one.state == "finished" and not task_of(one).probed(one.run):
            one.state = "waiting"
    order = in_order(recipe)
    return sorted(first.values(), key=lambda one: order(task_of(one)))


def task_of(one: Standing) -> Task:
    """What this standing is about."""
    assert isinstance(one.job, Task), "only tasks stand here"
    return one.job


def work(standings: Sequence[Standing], hear: Hear, **how: Any) -> None:
    """Make every run that is not finished and probed; ``how`` is as in ``crew.work``."""
    crew.work(standings, hear, **{"processes": PROCESSES, **how}, by=worker)


def unfinished(standings: Sequence[Standing]) -> str:
    """What to say of runs that did not finish; nothing if all did."""
    wrong = [one for one in standings if one.state in ("failed", "died")]
    if not wrong:
        return ""
    return (
        f"{len(wrong)} of {len(standings)} runs did not finish; the first, {wrong[0].run.path}, "
        f"{wrong[0].state}: {wrong[0].note}"
    )


def _done(standings: Sequence[Standing]) -> tuple[int, int]:
    return sum(one.state == "finished" for one in standings), len(standings)

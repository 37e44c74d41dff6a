"""All runs of a paper: the job of each cell and seed, which are left, and the results.

Everything is in run folders: whatever stops this leaves runs that resume from their checkpoints, a
finished one is never repeated, and results are read from those that are finished.
"""

from __future__ import annotations

import fnmatch
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from softlabel import train
from softlabel.errors import SoftlabelError, UnknownName
from softlabel.io import Progress, silent
from softlabel.papers.claims import papers, tuning
from softlabel.papers.claims.collecting import (
    collect,
    map_path,
    read_probes,
    save_probes,
    write_map,
)
from softlabel.papers.claims.papers import Cell
from softlabel.papers.claims.results import Results, Scale

QUICK_SEEDS = 2  # the fewest that have an interval
PROCESSES = 2
BASES: dict[Scale, str] = {
    "cpu": "small",
    "cpu-tuned": "small",
    "features": "features",
    "features-tuned": "features",
    "fine-tuned": "tuned",
}


@dataclass(frozen=True)
class CellSource(train.Source):
    """A cell of a paper as the source of a job.  ``paper`` is a name or a Python file; ``also`` are
    cells that come to the same run (the same labels, delivered the same way), for which it is only
    probed."""

    paper: str
    recipe: Scale
    cell: str
    quick: bool = False
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "also", tuple(self.also))  # JSON has lists alone

    def find_cell(self, name: str = "") -> Cell:
        """Return the cell of this name, or this cell itself."""
        known = find_cells(self.paper, self.recipe, self.quick)
        if (name or self.cell) not in known:
            raise UnknownName(f"cell of {self.paper} ({self.recipe})", name or self.cell, known)
        return known[name or self.cell]

    def read(self) -> train.Split:
        return self.find_cell().lesson()

    def key(self) -> tuple[object, ...]:
        return self.paper, self.recipe, self.cell, self.quick

    def resolve(self) -> CellSource:
        is_file = self.paper.endswith(".py")
        return replace(self, paper=str(Path(self.paper).resolve()) if is_file else self.paper)

    def trainer(self) -> train.Trainer | None:
        return self.find_cell().trainer

    def command(self, job: train.Job) -> str:
        words = ["softlabel", "reproduce", self.paper, "--recipe", self.recipe, "--out", job.out]
        return shlex.join([*words, *(["--quick"] if self.quick else [])])

    def is_probed(self, run: train.Run) -> bool:
        return not self._unprobed(run)

    def probe(self, run: train.Run, tell: Progress) -> None:
        paper = papers.find(self.paper)
        for name in self._unprobed(run):
            tell("probing")
            save_probes(run, paper.NAME, name, paper.probes(run, self.find_cell(name)))

    def _unprobed(self, run: train.Run) -> list[str]:
        paper = papers.find(self.paper).NAME
        return [one for one in (self.cell, *self.also) if read_probes(run, paper, one) is None]


@cache
def find_cells(paper: str, recipe: Scale, quick: bool = False) -> dict[str, Cell]:
    """Return the cells of a paper by name, most valuable first."""
    cells: dict[str, Cell] = {}
    for cell in papers.find(paper).cells(recipe, quick):
        if cell.name in cells:
            raise SoftlabelError(f"{paper} ({recipe}) has two cells called {cell.name!r}")
        cells[cell.name] = cell
    return cells


def cell_job(
    paper: str, recipe: Scale, cell: str, seed: int, out: str, quick: bool = False
) -> train.Job:
    """Return the job of one cell and seed."""
    source = CellSource(paper, recipe, cell, quick)
    one = source.find_cell()
    base = one.base or BASES.get(recipe, "")
    if one.trainer is None:
        if not base:
            raise SoftlabelError(
                f"{paper}, cell {cell!r}: recipe {recipe!r} stands for none of ours, so the cell "
                f"must name its base; there are {', '.join(train.RECIPES)}"
            )
        if base not in train.RECIPES:
            raise UnknownName("recipe", base, train.RECIPES)
        config = train.change_settings(train.RECIPES[base].config, one.settings, f"cell {cell!r},")
        if (one.deliver is None) == (config.objective == "labels"):
            raise SoftlabelError(
                f"{paper}, cell {cell!r}: deliver {one.deliver!r} does not go with objective "
                f"{config.objective!r}; labels need a delivery, and a crowd layer takes none"
            )
    return train.Job(base, source, one.deliver, seed, dict(one.settings), out)


def source_of(job: train.Job) -> CellSource:
    """Return the cell that is the source of a paper's job."""
    assert isinstance(job.source, CellSource), "jobs of papers have cells"
    return job.source


def job_order(recipe: Scale) -> Callable[[train.Job], tuple[bool, int]]:
    """Return the sorting key of a recipe's jobs.

    Runs of the papers' own networks take long: a first seed of every cell, then a second, so that
    the results at any time are even; after cells with a trainer of their own, which are quick.
    Other recipes follow cell by cell.
    """
    paper = recipe == "paper"
    return lambda job: (job.source.trainer() is None, job.seed) if paper else (False, 0)


# ── all runs ─────────────────────────────────────────────────────────────────────────────────


def run(
    paper: str,
    recipe: Scale = "cpu",
    seeds: int | None = None,
    out: str | Path = "runs",
    quick: bool = False,
    tell: Progress = silent,
    cells: Sequence[str] = (),
) -> Results:
    """Make all runs of a paper that are left, two at a time, and return the results."""

    def watch(states: Sequence[train.JobState]) -> None:
        tell("training", sum(one.state == "finished" for one in states), len(states))

    for _ in range(count_stages(recipe, quick, cells)):
        states = find_states(paper, recipe, seeds, out, quick, tell, cells)
        train.runner.run_jobs(states, watch, processes=PROCESSES)
        if problem := describe_unfinished(states):
            raise SoftlabelError(problem)
    return collect(out, papers.find(paper).NAME, recipe, quick)


def count_stages(recipe: Scale, quick: bool = False, cells: Sequence[str] = ()) -> int:
    """Return how often ``find_states`` is to be asked for runs: where arms are tuned, once for the
    search and once for the settings that it chose."""
    return 2 if recipe in tuning.DECAYS and not quick and not cells else 1


def find_states(
    paper: str,
    recipe: Scale,
    seeds: int | None,
    out: str | Path,
    quick: bool = False,
    tell: Progress = silent,
    cells: Sequence[str] = (),
) -> list[train.JobState]:
    """Return the state of every run of a paper, in the order in which they will be made.

    ``cells`` are names or patterns (``resnet34a/*``) of the cells that are wanted, by default all.
    Two cells may come to one run: it is here once, and is probed for both.

    Where arms are tuned, the runs are those of the search at first.  When all of them are finished,
    the other seeds of the settings that were chosen come on top; asked for by name, a cell has all
    its seeds at once.
    """
    found = papers.find(paper)
    number = seeds or (QUICK_SEEDS if quick else papers.seeds(found, recipe))
    every = find_cells(paper, recipe, quick)
    if not every:
        raise SoftlabelError(f"{found.NAME}: nothing is trained with recipe {recipe!r}")
    numbers = dict.fromkeys(_match_cells(f"{paper} ({recipe})", every, cells), number)
    if count_stages(recipe, quick, cells) > 1:
        numbers = dict.fromkeys(numbers, min(number, tuning.SEARCH_SEEDS))
        numbers |= dict.fromkeys(_find_chosen(found.NAME, recipe, out, numbers), number)
    jobs = [
        cell_job(paper, recipe, cell, seed, str(out), quick).resolve()
        for cell, count in numbers.items()
        for seed in range(count)
    ]
    runs: dict[str, dict[int, train.Run]] = {}
    first: dict[str, train.JobState] = {}
    for one, job in zip(train.runner.find_states(jobs, tell), jobs, strict=True):
        cell = source_of(job).cell
        runs.setdefault(cell, {})[job.seed] = one.run
        leader = first.setdefault(one.run.name, one)
        if leader is not one:
            source = source_of(leader.job)
            source = replace(source, also=(*source.also, cell))
            leader.job = replace(leader.job, source=source)
    write_map(out, found.NAME, recipe, quick, runs, every.keys() - runs.keys())
    for one in first.values():
        one.state = "finished" if one.job.is_complete(one.run) else "waiting"
    order = job_order(recipe)
    return sorted(first.values(), key=lambda one: order(one.job))


def _match_cells(where: str, every: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """Return the cells that a pattern matches; every pattern must match one."""
    names = list(every)
    if not patterns:
        return names
    matched: set[str] = set()
    for pattern in patterns:
        some = {name for name in names if fnmatch.fnmatchcase(name, pattern)}
        if not some:
            raise UnknownName(f"cell of {where}", pattern, names)
        matched |= some
    return [name for name in names if name in matched]


def _find_chosen(
    paper: str, recipe: Scale, out: str | Path, searched: Mapping[str, int]
) -> set[str]:
    """Return the cells whose settings the search chose; none while it is not finished."""
    if not map_path(out, paper, recipe).exists():
        return set()
    results = collect(out, paper, recipe)
    for cell, count in searched.items():
        if len(results.by_seed(cell, tuning.CHOSEN_BY).keys() & set(range(count))) < count:
            return set()
    return tuning.list_chosen(results)


def describe_unfinished(states: Sequence[train.JobState]) -> str:
    """Return a sentence on runs that did not finish; "" if all did."""
    wrong = [one for one in states if one.state in ("failed", "died")]
    if not wrong:
        return ""
    return (
        f"{len(wrong)} of {len(states)} runs did not finish; the first, {wrong[0].run.path}, "
        f"{wrong[0].state}: {wrong[0].note}"
    )

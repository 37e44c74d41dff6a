"""From run folders to results: which run is which cell's, and what it scored.

``stand`` writes a map beside the run folders, ``<paper>-<recipe>.json``, so that results can be
read without the data and without torch.  Runs of ``--quick`` have a map of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from softlabel._util.files import aside
from softlabel.errors import FileError
from softlabel.papers.claims import probing
from softlabel.papers.claims.claims import RECIPES, Recipe
from softlabel.papers.claims.results import Result, Results
from softlabel.train import Run

QUICK = "-quick"
Map = dict[str, dict[str, str]]  # cell: seed: run


def map_of(out: str | Path, paper: str, recipe: Recipe, quick: bool = False) -> Path:
    """Where the map is."""
    return Path(out) / f"{paper}-{recipe}{QUICK if quick else ''}.json"


def keep_map(
    out: str | Path,
    paper: str,
    recipe: Recipe,
    quick: bool,
    runs: Mapping[str, Mapping[int, Run]],
) -> None:
    """Write which run is whose.  Seeds that were run before and not asked for now stay, if they
    are of the same configuration and labels."""
    path = map_of(out, paper, recipe, quick)
    before = _read(path) if path.exists() else {}
    table: Map = {}
    for cell, by_seed in runs.items():
        one = next(iter(by_seed.values()))
        table[cell] = {str(seed): run.name for seed, run in by_seed.items()}
        for seed, name in before.get(cell, {}).items():
            if seed not in table[cell] and _same(Run(Path(out) / name), one):
                table[cell][seed] = name
    with aside(path) as part:
        part.write_text(json.dumps(table, indent=1), "utf-8")


def _same(old: Run, new: Run) -> bool:
    return old.finished and old.config == new.config and old.labels == new.labels


def collect(out: str | Path, paper: str, recipe: Recipe, quick: bool = False) -> Results:
    """What the finished runs scored, of all that were begun."""
    path = map_of(out, paper, recipe, quick)
    if not path.exists():
        raise FileError(path, f"is not there: no run of {paper} was begun in this folder")
    found = []
    for cell, by_seed in _read(path).items():
        for seed, name in sorted(by_seed.items(), key=lambda pair: int(pair[0])):
            run = Run(Path(out) / name)
            if run.finished:
                found.append(_result(run, paper, cell, int(seed)))
    return Results(found, paper, recipe)


def begun(out: str | Path) -> Iterator[tuple[str, Recipe]]:
    """The papers and recipes of which a folder holds runs; not those of ``--quick``."""
    for path in sorted(Path(out).glob("*.json")):
        paper, _, last = path.stem.rpartition("-")
        for recipe in RECIPES:
            if last == recipe and paper:
                yield paper, recipe


def _result(run: Run, paper: str, cell: str, seed: int) -> Result:
    """Scores of the run itself and of the paper's probes, which win where both have a name."""
    scores = {name: score.value for name, score in run.scores.items()}
    scores |= probing.known(run, paper, cell) or {}
    about = {
        "seconds": run.outcome.get("seconds"),
        "labels": run.labels,
        "config": run.config,
        "environment": _environment(run),
    }
    return Result(cell, seed, scores, run.name, about)


KEPT = ("numpy", "scipy", "torch", "numba", "polars", "softlabel")  # packages that matter


def _environment(run: Run) -> str:
    """Machine, interpreter and packages when the run was last begun, without date."""
    path = run.path / "environment.txt"
    text = path.read_text("utf-8") if path.exists() else ""
    last = text.strip().split("\n\n")[-1].splitlines()[1:]
    if not last:
        return ""
    *lines, packages = last
    wanted = [one for one in packages.split() if one.partition("==")[0].lower() in KEPT]
    return "\n".join([*lines, " ".join(wanted)])


def _read(path: Path) -> Map:
    try:
        table: Map = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise FileError(path, f"is damaged ({error}); remove it, and start again") from None
    return table

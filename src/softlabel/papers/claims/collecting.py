"""From run folders to results: which run is which cell's, what it scored, and what was probed.

``running.find_states`` writes a map beside the run folders, ``<paper>-<recipe>.json``, so that
results can be read without the data and without torch.  Runs of ``--quick`` have a map of their
own.

Probes are what a paper measures on a finished run; they are computed once and kept in its folder.
A run may serve several cells and papers (hard labels are hard labels), so ``probes.json`` keeps the
probes of each.  Remove the file to have them computed again.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from softlabel._util.files import write_atomically
from softlabel.errors import FileError
from softlabel.papers.claims.results import SCALES, Result, Results, Scale
from softlabel.train import CODE, Run

QUICK = "-quick"
PROBES = "probes.json"
PACKAGES = ("numpy", "scipy", "torch", "numba", "polars", "softlabel")  # those that matter
Map = dict[str, dict[str, str]]  # cell: seed: run


def map_path(out: str | Path, paper: str, recipe: Scale, quick: bool = False) -> Path:
    """Return the path of the map."""
    return Path(out) / f"{paper}-{recipe}{QUICK if quick else ''}.json"


def write_map(
    out: str | Path,
    paper: str,
    recipe: Scale,
    quick: bool,
    runs: Mapping[str, Mapping[int, Run]],
    others: Collection[str] = (),
) -> None:
    """Write which run is whose.  Seeds that were run before and not asked for now stay, if they
    are of the same configuration, labels and code; so do all runs of ``others``, cells that were
    not asked for."""
    path = map_path(out, paper, recipe, quick)
    before: Map = _read(path) if path.exists() else {}
    table: Map = {cell: seeds for cell, seeds in before.items() if cell in others}
    for cell, by_seed in runs.items():
        one = next(iter(by_seed.values()))
        table[cell] = {str(seed): run.name for seed, run in by_seed.items()}
        for seed, name in before.get(cell, {}).items():
            old = Run(Path(out) / name)
            same = old.finished and old.config == one.config and old.labels == one.labels
            if seed not in table[cell] and same:
                table[cell][seed] = name
    with write_atomically(path) as part:
        part.write_text(json.dumps(table, indent=1), "utf-8")


def collect(
    out: str | Path,
    paper: str,
    recipe: Scale,
    quick: bool = False,
) -> Results:
    """Return the scores of the finished runs, of all that were started.

    They are those of the run itself and the paper's probes, which win where both have a name.
    """
    path = map_path(out, paper, recipe, quick)
    if not path.exists():
        raise FileError(path, f"is not there: no run of {paper} was started in this folder")
    results = []
    for cell, by_seed in _read(path).items():
        for seed, name in sorted(by_seed.items(), key=lambda pair: int(pair[0])):
            run = Run(Path(out) / name)
            if not run.finished:
                continue
            scores = {name: score.value for name, score in run.scores.items()}
            scores |= read_probes(run, paper, cell) or {}
            scores |= _read_validation(run)
            about = {"seconds": run.outcome.get("seconds"), "labels": run.labels}
            about |= {"config": run.config, "environment": _environment(run)}
            about["code"] = run.config.get(CODE)
            results.append(Result(cell, int(seed), scores, run.name, about))
    return Results(results, paper, recipe)


def list_started(out: str | Path) -> Iterator[tuple[str, Scale]]:
    """Yield the papers and recipes of which a folder holds runs; not those of ``--quick``."""
    for path in sorted(Path(out).glob("*.json")):
        paper, _, last = path.stem.partition("-")
        yield from ((paper, recipe) for recipe in SCALES if last == recipe and paper)


def _read_validation(run: Run) -> dict[str, float]:
    """Return the cross-entropy to validation items of the epoch that a run kept as the best."""
    score = run.config.get("keep", "last")
    known = [line for line in run.log if f"validation {score}" in line]  # folds log none
    if not known:
        return {}
    better = max if score == "accuracy" else min
    best = better(known, key=lambda line: line[f"validation {score}"])
    return {"val/ce": best["validation cross-entropy"]}


def _environment(run: Run) -> str:
    """Return code, machine, interpreter and packages at the last start of the run, without date."""
    path = run.path / "environment.txt"
    text = path.read_text("utf-8") if path.exists() else ""
    last = text.strip().split("\n\n")[-1].splitlines()[1:]
    if not last:
        return ""
    *lines, packages = last
    kept = [name for name in packages.split() if name.partition("==")[0].lower() in PACKAGES]
    return "\n".join([*lines, " ".join(kept)])


# ── probes ───────────────────────────────────────────────────────────────────────────────────


def read_probes(run: Run, paper: str, cell: str) -> dict[str, float] | None:
    """Return the probes of this run for this cell; None if there are none yet."""
    path = run.path / PROBES
    probes = _read(path).get(paper, {}).get(cell) if path.exists() else None
    return None if probes is None else {name: float(value) for name, value in probes.items()}


def save_probes(run: Run, paper: str, cell: str, probes: Mapping[str, float]) -> None:
    """Write probes, whole or not at all, beside those of other cells."""
    path = run.path / PROBES
    table = _read(path) if path.exists() else {}
    table.setdefault(paper, {})[cell] = {
        name: float(value) if math.isfinite(value) else str(float(value))  # JSON has no NaN
        for name, value in probes.items()
    }
    with write_atomically(path) as part:
        part.write_text(json.dumps(table, allow_nan=False, indent=1), "utf-8")


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        table: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise FileError(path, f"is damaged ({error}); remove it, and start again") from None
    return table

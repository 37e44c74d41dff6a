"""Results as files of the repository: one line per run, no weights, nothing item by item.

``results/<paper>-<recipe>.jsonl`` has a first line that says what it is; a line for every
environment and for every cell, with its configuration and the sha256 of its labels; and a line for
every run.  ``results/<paper>-data.jsonl`` has a line for every fact of the released data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from softlabel import __version__
from softlabel._util.files import aside
from softlabel.errors import FileError
from softlabel.papers.claims.claims import RECIPES, Recipe
from softlabel.papers.claims.results import Result, Results
from softlabel.tables import Score

HEAD = "softlabel-results"
VERSION = 1
SHIPPED = Path(__file__).parent.with_name("results")
DIGITS = 6  # significant ones


def write(results: Results, folder: str | Path = SHIPPED) -> Path:
    """All runs of one paper and recipe; returns the file."""
    lines: list[dict[str, Any]] = [_head(results.paper, results.recipe)]
    environments: dict[str, str] = {}
    cells: set[str] = set()
    for one in results.all:
        text = str(one.about.get("environment", ""))
        where = sha256(text.encode()).hexdigest()[:8]
        if where not in environments:
            environments[where] = text
            lines.append({"environment": where, "text": text})
        if one.cell not in cells:
            cells.add(one.cell)
            about = {key: one.about.get(key) for key in ("labels", "config")}
            lines.append({"cell": one.cell, **about})
        seconds = one.about.get("seconds")
        lines.append(
            {
                "run": one.run,
                "of": one.cell,
                "seed": one.seed,
                "seconds": None if seconds is None else round(seconds, 1),
                "in": where,
                "scores": {name: _short(value) for name, value in one.scores.items()},
            }
        )
    return _written(Path(folder) / f"{results.paper}-{results.recipe}.jsonl", lines)


def read(path: str | Path) -> Results:
    """What ``write`` wrote."""
    head, lines = _lines(Path(path))
    environments: dict[str, str] = {}
    cells: dict[str, dict[str, Any]] = {}
    found = []
    for line in lines:
        if "environment" in line:
            environments[line["environment"]] = line["text"]
        elif "cell" in line:
            cells[line["cell"]] = line
        else:
            cell = cells[line["of"]]
            about = {
                "seconds": line["seconds"],
                "labels": cell["labels"],
                "config": cell["config"],
                "environment": environments[line["in"]],
            }
            scores = {name: float(value) for name, value in line["scores"].items()}
            found.append(Result(line["of"], line["seed"], scores, line["run"], about))
    return Results(found, head["paper"], head["recipe"])


def shipped(paper: str, folder: str | Path = SHIPPED) -> dict[Recipe, Results]:
    """The results that come with the package, by recipe."""
    paths = {recipe: Path(folder) / f"{paper}-{recipe}.jsonl" for recipe in RECIPES}
    return {recipe: read(path) for recipe, path in paths.items() if path.exists()}


# ── facts ────────────────────────────────────────────────────────────────────────────────────

Facts = Mapping[str, Score]  # by the claim's id


def write_facts(paper: str, facts: Facts, folder: str | Path = SHIPPED) -> Path:
    """What the released data say."""
    lines: list[dict[str, Any]] = [_head(paper, "data")]
    for name, score in facts.items():
        value, low, high = (_short(x) for x in (score.value, score.low, score.high))
        lines.append({"fact": name, "value": value, "low": low, "high": high, "n": score.n})
    return _written(Path(folder) / f"{paper}-data.jsonl", lines)


def shipped_facts(paper: str, folder: str | Path = SHIPPED) -> dict[str, Score]:
    """What the released data said, when it was last computed."""
    path = Path(folder) / f"{paper}-data.jsonl"
    if not path.exists():
        return {}
    return {line["fact"]: _score(line) for line in _lines(path)[1]}


def _score(line: Mapping[str, Any]) -> Score:
    value, low, high = (float(line[key]) for key in ("value", "low", "high"))
    return Score(value, low, high, line["n"])


# ── lines ────────────────────────────────────────────────────────────────────────────────────


def _head(paper: str, recipe: str) -> dict[str, Any]:
    return {HEAD: VERSION, "paper": paper, "recipe": recipe, "softlabel": __version__}


def _short(value: float) -> float | str:
    """Six significant digits; what is not finite is text, which ``float`` reads again."""
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)


def _written(path: Path, lines: list[dict[str, Any]]) -> Path:
    text = "".join(
        json.dumps(line, allow_nan=False, ensure_ascii=False, separators=(",", ":")) + "\n"
        for line in lines
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with aside(path) as part:
        part.write_text(text, "utf-8")
    return path


def _lines(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    try:
        found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except ValueError as error:
        raise FileError(path, f"is damaged ({error})") from None
    if not found or found[0].get(HEAD) != VERSION:
        raise FileError(path, f"is no file of results: its first line does not say {HEAD!r}: 1")
    return found[0], found[1:]

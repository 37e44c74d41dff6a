"""What our runs scored, by cell and seed; and the files that store it.

A stored file has one line per run, and no weights.  What single items scored has a file of its own
(``items``).

``results/<paper>-<scale>.jsonl`` begins with a line that identifies it.  Then it has a line for
every environment, a line for every cell with its configuration and the sha256 of its labels, and a
line for every run.  ``results/<paper>-data.jsonl`` has a line for every fact of the released data.
"""

import json
import math
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np

from softlabel import __version__
from softlabel._util.files import write_atomically
from softlabel.errors import FileError, MissingExtra
from softlabel.papers.claims.items import (
    Items,
    RunScore,
    Values,
    over_runs,
    read_items,
    write_items,
)
from softlabel.tables import Floats, Score

# at which scale an experiment is repeated: with the paper's network, with a small one, with a head
# on frozen features, with either of them and every arm tuned alike, with the network of the
# features trained further, or with the released data alone, where nothing is trained
Trained = Literal["cpu", "cpu-tuned", "features", "features-tuned", "fine-tuned", "paper"]
Scale = Trained | Literal["data"]
SCALES: tuple[Scale, ...] = get_args(Trained)
SCALE_NAMES: dict[Scale, str] = {
    "data": "released data",
    "cpu": "small network",
    "cpu-tuned": "small network, tuned",
    "features": "frozen features",
    "features-tuned": "frozen features, tuned",
    "fine-tuned": "fine-tuned features",
    "paper": "the paper's network",
}


@dataclass(frozen=True)
class Result:
    """One finished run of one cell, and its scores by name (``10h/cross-entropy``).

    ``about`` holds its ``seconds``, the sha256 of its ``labels``, its ``config``, its
    ``environment`` and, if known, the digest of the training ``code`` that made it.  ``items`` are
    the scores of single items, as far as they are known.
    """

    cell: str
    seed: int
    scores: Mapping[str, float]
    run: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    items: Items = field(default_factory=dict)


class Named(Protocol):
    """Anything that identifies a cell by its name."""

    @property
    def name(self) -> str: ...


def subtract(
    first: Mapping[Any, Result], second: Mapping[Any, Result], scores: tuple[str, str]
) -> RunScore | None:
    """Return the mean of first minus second over the runs of both, by a key that pairs them, each
    with its own score; over items, too, if those of both scores are known."""
    pairs = [
        (first[key], second[key])
        for key in sorted(first.keys() & second.keys())
        if scores[0] in first[key].scores and scores[1] in second[key].scores
    ]
    values = [one.scores[scores[0]] - two.scores[scores[1]] for one, two in pairs]
    items: list[Values | None] = []
    for one, two in pairs:
        a, b = one.items.get(scores[0]), two.items.get(scores[1])
        missing = a is None or b is None or len(a) != len(b)
        items.append(None if missing else np.subtract(a, b))  # type: ignore[arg-type]
    return over_runs(values, items=items)


@dataclass(frozen=True)
class Results:
    """All runs of a paper at one scale.  A cell is given by its name, or by what has one."""

    all: Sequence[Result]
    paper: str = ""
    scale: str = ""

    @property
    def cells(self) -> list[str]:
        """The names of the cells that have a run, in the order of first appearance."""
        return list(dict.fromkeys(one.cell for one in self.all))

    def of_cell(self, cell: str | Named) -> list[Result]:
        """Return the runs of a cell."""
        name = cell if isinstance(cell, str) else cell.name
        return [one for one in self.all if one.cell == name]

    def by_seed(self, cell: str | Named, score: str) -> dict[int, float]:
        """Return the score of every seed that was run."""
        return {one.seed: one.scores[score] for one in self.of_cell(cell) if score in one.scores}

    def values(self, cell: str | Named, score: str) -> Floats:
        """Return the scores (n,) in the order of the seeds."""
        values = self.by_seed(cell, score)
        return np.array([values[seed] for seed in sorted(values)])

    def mean(self, cell: str | Named, score: str) -> RunScore | None:
        """Return the mean over seeds, for these test items: a published number is of them, too."""
        return over_runs(self.values(cell, score), score)

    def difference(self, first: str | Named, second: str | Named, score: str) -> RunScore | None:
        """Return the mean of first minus second over the seeds that both have, and over items."""
        a, b = ({one.seed: one for one in self.of_cell(cell)} for cell in (first, second))
        return subtract(a, b, (score, score))

    def names(self, cell: str | Named, prefix: str = "") -> list[str]:
        """Return the scores with this prefix that any run of the cell has, in their order."""
        every = (name for one in self.of_cell(cell) for name in one.scores)
        return list(dict.fromkeys(name for name in every if name.startswith(prefix)))


@dataclass(frozen=True)
class Table:
    """A table of text for a page or a terminal."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""

    def markdown(self) -> str:
        """Write the table and its note in Markdown."""
        lines = [self.columns, tuple("---" for _ in self.columns), *self.rows]
        cells = [[flatten(cell).replace("|", "\\|") for cell in line] for line in lines]
        text = "".join(f"| {' | '.join(line)} |\n" for line in cells)
        return text + (f"\n{flatten(self.note)}\n" if self.note else "")


def flatten(text: str) -> str:
    """Put a text on one line."""
    return " ".join(text.split())


def show_score(score: Score | None, form: str = ".3f", half: str = ".3f") -> str:
    """Write a mean with half of its interval; of one run, which has none, the number alone.

    >>> show_score(Score(-0.5, -0.75, -0.25, 5)), show_score(Score(2.0, math.nan, math.nan, 1))
    ('−0.500 ±0.250', '2.000')
    >>> show_score(None)
    '–'
    """
    if score is None:
        return "–"
    width = f" ±{score.half:{half}}" if math.isfinite(score.half) else ""
    return f"{score.value:{form}}{width}".replace("-", "−")


# ── stored results ───────────────────────────────────────────────────────────────────────────

HEAD, VERSION = "softlabel-results", 1
SHIPPED = Path(__file__).parent.with_name("results")


def write_results(results: Results, folder: str | Path = SHIPPED) -> Path:
    """Store all runs of one paper and scale; return the file."""
    lines: list[dict[str, Any]] = [_head(results.paper, results.scale)]
    written: set[str] = set()  # environments and cells
    for one in results.all:
        text = str(one.about.get("environment", ""))
        environment = sha256(text.encode()).hexdigest()[:8]
        if f"environment {environment}" not in written:
            lines.append({"environment": environment, "text": text})
        if f"cell {one.cell}" not in written:
            about = {key: one.about.get(key) for key in ("labels", "config")}
            lines.append({"cell": one.cell, **about})
        written |= {f"environment {environment}", f"cell {one.cell}"}
        seconds, code = one.about.get("seconds"), one.about.get("code")
        seconds = None if seconds is None else round(seconds, 1)
        line = {"run": one.run, "of": one.cell, "seed": one.seed, "seconds": seconds}
        line |= {"in": environment} | ({"code": code} if code else {})
        scores = {name: _rounded(value) for name, value in one.scores.items()}
        lines.append({**line, "scores": scores})
    path = Path(folder) / f"{results.paper}-{results.scale}.jsonl"
    if items := {one.run: one.items for one in results.all if one.items}:
        write_items(items_path(path), items)
    return _write_lines(path, lines)


def items_path(path: Path) -> Path:
    """Return the file of the items' scores that goes with a file of results."""
    return path.with_name(f"{path.stem}-items.parquet")


def read_results(path: str | Path) -> Results:
    """Read a file that ``write_results`` wrote."""
    head, lines = _read_lines(Path(path))
    environments: dict[str, str] = {}
    cells: dict[str, dict[str, Any]] = {}
    results, items = [], read_items(items_path(Path(path)))
    for line in lines:
        if "environment" in line:
            environments[line["environment"]] = line["text"]
        elif "cell" in line:
            cells[line["cell"]] = line
        else:
            about = {"seconds": line["seconds"], "environment": environments[line["in"]]}
            about |= {key: cells[line["of"]][key] for key in ("labels", "config")}
            config = about["config"] or {}
            about["code"] = line.get("code") or config.get("code")  # older runs have none
            scores = {name: float(value) for name, value in line["scores"].items()}
            name = line["run"]
            results.append(
                Result(line["of"], line["seed"], scores, name, about, items.get(name, {}))
            )
    return Results(results, head["paper"], head["recipe"])


def merge_results(new: Results, old: Results) -> Results:
    """Return the new runs, and the old ones of the cells and seeds that were not run again.

    An old run stays only if it learned from the same labels as the new ones of its cell, with the
    same settings, so far as both state them."""
    merged = []
    for cell in dict.fromkeys([*old.cells, *new.cells]):
        runs = {one.seed: one for one in new.of_cell(cell)}
        for one in old.of_cell(cell):
            if all(_is_alike(one, another) for another in new.of_cell(cell)):
                runs.setdefault(one.seed, one)
        merged += [runs[seed] for seed in sorted(runs)]
    return replace(new, all=merged)


def _is_alike(one: Result, another: Result) -> bool:
    """Return True if two runs learned the same thing in the same way, by code old or new."""
    first, second = (dict(run.about.get("config") or {}) for run in (one, another))
    same = all(
        first[key] == second[key] for key in first.keys() & second.keys() - {"code", "named"}
    )
    return same and one.about.get("labels") == another.about.get("labels")


def read_shipped(paper: str, folder: str | Path = SHIPPED) -> dict[Scale, Results]:
    """Read the results that come with the package, by scale."""
    paths = {scale: Path(folder) / f"{paper}-{scale}.jsonl" for scale in SCALES}
    return {scale: read_results(path) for scale, path in paths.items() if path.exists()}


def write_facts(paper: str, facts: Mapping[str, Score], folder: str | Path = SHIPPED) -> Path:
    """Store the facts of the released data, by the ids of their claims; return the file."""
    lines: list[dict[str, Any]] = [_head(paper, "data")]
    for name, score in facts.items():
        value, low, high = (_rounded(x) for x in (score.value, score.low, score.high))
        lines.append({"fact": name, "value": value, "low": low, "high": high, "n": score.n})
    return _write_lines(Path(folder) / f"{paper}-data.jsonl", lines)


def read_facts(paper: str, folder: str | Path = SHIPPED) -> dict[str, Score]:
    """Read the facts of the released data as they were last computed."""
    path = Path(folder) / f"{paper}-data.jsonl"
    facts = {}
    for line in _read_lines(path)[1] if path.exists() else ():
        value, low, high = (float(line[end]) for end in ("value", "low", "high"))
        facts[line["fact"]] = Score(value, low, high, line["n"])
    return facts


def _head(paper: str, scale: str) -> dict[str, Any]:
    """Return the first line, with the commit that is checked out if git tracks this very file."""
    commit, words = None, ["git", "rev-parse", "HEAD", f"HEAD:./{Path(__file__).name}"]
    with suppress(OSError):  # there is no git
        done = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True)
        commit = done.stdout.split()[0] if done.returncode == 0 else None
    named = {"paper": paper, "recipe": scale}  # as the option of the command line is called
    return {HEAD: VERSION, **named, "softlabel": __version__, "commit": commit}


def _rounded(value: float) -> float | str:
    """Round to six significant digits; write what is not finite as text that ``float`` reads."""
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)


def _write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    text = "".join(
        json.dumps(line, allow_nan=False, ensure_ascii=False, separators=(",", ":")) + "\n"
        for line in lines
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as part:
        part.write_text(text, "utf-8")
    return path


def _read_lines(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except ValueError as error:
        raise FileError(path, f"is damaged ({error})") from None
    if not lines or lines[0].get(HEAD) != VERSION:
        raise FileError(path, f"is no file of results: its first line must hold {HEAD!r}: 1")
    return lines[0], lines[1:]


# ── which code made them ─────────────────────────────────────────────────────────────────────


def sort_by_code(runs: Sequence[Result], present: str | None) -> tuple[list[Result], list[Result]]:
    """Return the runs made by unknown code, and those made by other code than the present."""
    unknown = [one for one in runs if not one.about.get("code")]
    known = [one for one in runs if one.about.get("code")]
    return unknown, [one for one in known if present and one.about["code"] != present]


def describe_code(every: Iterable[Results], present: str | None = None) -> str:
    """Write in one sentence how many runs were made by unknown or by other code.

    >>> old, new = Result("hard", 0, {}), Result("hard", 1, {}, about={"code": "ab12"})
    >>> describe_code([Results([old, new])], present="cd34")
    'Code: of 2 runs, 1 predates digests of the training code, and 1 was made by another version.'
    """
    if present is None:
        from softlabel import train

        with suppress(MissingExtra):  # the training code's digest cannot be computed here
            present = train.code_digest()
    runs = {one.run or (one.cell, one.seed): one for some in every for one in some.all}
    unknown, other = map(len, sort_by_code(list(runs.values()), present))
    return (
        f"Code: of {len(runs):,} runs, {unknown} {'predates' if unknown == 1 else 'predate'} "
        f"digests of the training code, and {other} {'was' if other == 1 else 'were'} made by "
        "another version."
    )

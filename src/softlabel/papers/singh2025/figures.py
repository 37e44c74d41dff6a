"""The paper's figures 3, 4 and 5 from our runs, and the table that its abstract sums up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softlabel.papers.claims import (
    Figure,
    Results,
    Table,
    Words,
    along,
    curve,
    panels,
    scatter,
    shown,
)
from softlabel.papers.singh2025 import data
from softlabel.papers.singh2025.claims import HARD, PEARSON, SOFT, SPEARMAN, drop
from softlabel.papers.singh2025.scores import BINS, HELD
from softlabel.report import Line

COLUMNS = {"accuracy": "accuracy", "kl": "KL", PEARSON: "r", SPEARMAN: "rho"}


def tables(results: Results) -> Sequence[Table]:
    """Both trainings on each set, what a constant would score, and the items people disagree on."""
    there = [name for name in data.SETS if f"{name} {SOFT}" in results.cells]
    return [_main(results, there), _best(results, there), _high(results, there)]


def figures(results: Results) -> Sequence[Figure]:
    """Curves and entropy distributions, a panel for every set that was run."""
    there = [name for name in data.SETS if f"{name} {SOFT}" in results.cells]
    if not there:
        return []
    return [
        panels(
            "curves",
            "KL to people by epoch",
            "After figure 4: the divergence to people on the items held out, after every epoch.  "
            "The last epoch is the one that is scored; none was chosen by this curve.",
            {name: _curve(results, name) for name in there},
        ),
        panels(
            "entropies",
            "Entropies of people and models",
            "After figure 3: the share of held-out items in ten bins of entropy over log k, of "
            "what people said and of what the two models predict.",
            {name: _entropies(results, name) for name in there},
        ),
        panels(
            "groups",
            "Unsure where people are",
            "Items in ten groups of one size by people's entropy: the mean entropy (over log k) of "
            "people and of the model, means over runs.  A model that is as unsure as people are "
            "would be on the diagonal.",
            {name: _groups(results, name) for name in there},
        ),
    ]


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def _main(results: Results, there: Sequence[str]) -> Table:
    rows: list[tuple[str, ...]] = []
    for name in there:
        for label in (HARD, SOFT):
            cell = f"{name} {label}"
            scores = (shown(results.mean(cell, score)) for score in COLUMNS)
            gains = _gains(results, name) if label == SOFT else ""
            rows.append((name, label, str(len(results.values(cell, "kl"))), *scores, gains))
        constant = (results.values(f"{name} {SOFT}", f"constant/{s}") for s in ("accuracy", "kl"))
        accuracy, kl = (f"{values.mean():.3f}" if len(values) else "–" for values in constant)
        rows.append((name, "constant", "", accuracy, kl, "–", "–", ""))
    return Table(
        "Hard and soft labels on the sets of Singh et al.",
        ("set", "labels", "runs", *COLUMNS.values(), "KL drop, r gain"),
        rows,
        note=(
            "± is half of Student's 95 % interval over seeds.  r and rho: Pearson's and Spearman's "
            "correlation over items of the model's entropy and the people's.  constant: for every "
            "item the mean label of the training items.  The paper's own tables are not available "
            "to us; its abstract says 32 % and 61 %."
        ),
    )


def _gains(results: Results, name: str) -> str:
    """Relative to hard: KL drop, and gain of the mean correlation where that is surely above 0."""
    cells = [f"{name} {label}" for label in (SOFT, HARD)]
    kl = [results.values(cell, "kl") for cell in cells]
    if not all(map(len, kl)):
        return "–"
    lower = float(drop(np.array([kl[0].mean()]), np.array([kl[1].mean()]))[0])
    soft, hard = (results.mean(cell, PEARSON) for cell in cells)
    if soft is None or hard is None or not hard.low > 0:
        return f"{lower:.0%}, undefined"
    return f"{lower:.0%}, {(soft.value - hard.value) / hard.value:+.0%}"


def _best(results: Results, there: Sequence[str]) -> Table:
    """How much of the drop is left if both may stop where they are nearest to people."""
    rows: list[tuple[str, ...]] = []
    for name in there:
        lines = [along(results, f"{name} {label}", f"{HELD}kl@", label) for label in (HARD, SOFT)]
        if not all(len(line.y) for line in lines):
            continue
        row, last, best = [name], [], []
        for line in lines:
            place = int(np.argmin(line.y))
            last.append(line.y[-1])
            best.append(line.y[place])
            row += [f"{last[-1]:.3f}", f"{best[-1]:.3f} (epoch {line.x[place]:.0f})"]
        row += [f"{1 - soft / hard:.0%}" for hard, soft in (last, best)]
        rows.append(tuple(row))
    return Table(
        "KL to people at the last and at the best epoch",
        ("set", "hard", "hard, best", "soft", "soft, best", "drop", "drop, best"),
        rows,
        note=(
            "Means over runs.  The best epoch is that of the lowest mean on the very items that it "
            "is measured on, for both alike: it shows what stopping early could do at most."
        ),
    )


def _high(results: Results, there: Sequence[str]) -> Table:
    rows: list[tuple[str, ...]] = []
    for name in there:
        cells = {label: f"{name} {label}" for label in (HARD, SOFT)}
        items = results.values(cells[SOFT], "high/items")
        if not len(items):
            continue
        mass = {
            "people": _masses(results, cells[SOFT], "people"),
            HARD: _masses(results, cells[HARD], "model"),
            SOFT: _masses(results, cells[SOFT], "model"),
        }
        kl = {label: shown(results.mean(cell, "high/kl")) for label, cell in cells.items()}
        rows += [
            (name, whose, f"{items[0]:.0f}", masses, kl.get(whose, ""))
            for whose, masses in mass.items()
        ]
    return Table(
        "The tenth of items that people disagree on most",
        ("set", "whose", "items", "mean mass of the people's 1st, 2nd, … class", "KL"),
        rows,
        note="Means over items; no single item of a data set is shown.",
    )


def _masses(results: Results, cell: str, whose: str) -> str:
    names = results.names(cell, f"high/{whose}@")
    names = sorted(names, key=lambda score: int(score.rpartition("@")[2]))
    means = [results.values(cell, score).mean() for score in names]
    return " ".join(f"{value:.2f}" for value in means[:5])


# ── figures ──────────────────────────────────────────────────────────────────────────────────


def _curve(results: Results, name: str) -> Figure:
    lines = [
        along(results, f"{name} {label}", f"{HELD}kl@", f"{label} labels") for label in (HARD, SOFT)
    ]
    words = Words("curve", f"KL to people by epoch, {name}", "", "epoch", "KL to people")
    return curve(words, lines, zero=True)


def _entropies(results: Results, name: str) -> Figure:
    """Figure 3 for the people, and the models' beside it."""
    cells = {label: f"{name} {label}" for label in (HARD, SOFT)}
    lines = [
        _middles(along(results, cells[SOFT], "entropy/people@", "people")),
        *(
            _middles(along(results, cell, "entropy/model@", f"{label} labels"))
            for label, cell in cells.items()
        ),
    ]
    words = Words("entropy", f"Entropies, {name}", "", "entropy / log k", "share of items")
    return curve(words, lines, zero=True)


def _groups(results: Results, name: str) -> Figure:
    """A scatter of groups: no single item of a data set is shown."""
    series = {}
    for label in (HARD, SOFT):
        sides = [
            along(results, f"{name} {label}", f"group/{whose}@", whose).y
            for whose in ("people", "model")
        ]
        series[f"{label} labels"] = (list(sides[0]), list(sides[1]))
    words = Words("groups", f"Entropies by group, {name}", "", "people", "model")
    return scatter(words, series, diagonal=True, limits=(0.0, 1.0, 0.0, 1.0))


def _middles(line: Line) -> Line:
    """At the middles of the bins that are numbered."""
    x = [(number + 0.5) / BINS for number in line.x]
    return Line(line.name, x, line.y, line.low, line.high)

"""Tables 1 to 6 with our numbers beside the printed ones, the settings that validation images
choose, and the traps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from softlabel.papers.claims import Results, Table, shown
from softlabel.papers.collins2022 import printed, traps
from softlabel.papers.collins2022.claims import score
from softlabel.papers.collins2022.gathering import mean
from softlabel.papers.collins2022.names import BETAS, SPREADS, beta_cell, spread_cell

TITLES = {
    "1": "aggregated labels",
    "2": "de-aggregated labels",
    "3": "one and two annotators",
    "4": "varieties of the label",
    "5": "numbers or only names",
    "6": "label smoothing",
}


def tables(results: Results) -> list[Table]:
    """Those of which anything was run."""
    found = [_table(results, number) for number in TITLES]
    grids = (
        ("Spread of T2-clamp, by validation images", {s: spread_cell(s) for s in SPREADS}),
        ("Beta of label smoothing, by validation images", {b: beta_cell(b) for b in BETAS}),
    )
    found += [_grid(results, title, cells) for title, cells in grids]
    return [table for table in (*found, traps.table(results), traps.gains(results)) if table.rows]


def _table(results: Results, number: str) -> Table:
    heads: tuple[str, ...] = ("labels", "tested on")
    for called in printed.MEASURES.values():
        heads += (f"{called}: paper", "ours")
    rows = list(_rows(results, number))
    return Table(f"Table {number}: {TITLES[number]}", (*heads, "runs"), rows)


def _rows(results: Results, number: str) -> Iterator[tuple[str, ...]]:
    for row in printed.ROWS:
        if number not in row.tables.split(", "):
            continue
        ours = [mean(results, row.cell, score(row.exam, one)) for one in printed.MEASURES]
        if not any(ours):
            continue
        cells: tuple[str, ...] = ()
        for measure, mine in zip(printed.MEASURES, ours, strict=True):
            there = printed.number(row.cell, row.exam, measure)
            cells += (f"{there.value:g} ±{there.half:g}", shown(mine))
        count = max(one.n for one in ours if one is not None)
        yield (printed.LABELS[row.cell], printed.EXAMS[row.exam], *cells, str(count))


CHOOSING = {
    "val/ce": "cross-entropy to the class, validation",
    "val/accuracy": "accuracy, validation",
    "10h/ce": f"soft cross-entropy, {printed.EXAMS['10h']}",
    "10s/ce": f"soft cross-entropy, {printed.EXAMS['10s']}",
}


def _grid(results: Results, title: str, cells: Mapping[float, str]) -> Table:
    rows = []
    for value, cell in cells.items():
        ours = [mean(results, cell, name) for name in CHOOSING]
        if all(ours):
            rows.append((f"{value:g}", *map(shown, ours)))
    if len(rows) < 2:  # nothing to choose from
        rows = []
    note = (
        "The validation images choose by cross-entropy; the test images only show what comes of it."
    )
    return Table(title, ("", *CHOOSING.values()), rows, note)

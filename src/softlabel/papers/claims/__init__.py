"""The harness that checks a paper: its cells, its runs, its claims and their verdicts."""

from softlabel.papers.claims import figures, quick
from softlabel.papers.claims.claims import Claim, Kind, Published
from softlabel.papers.claims.figures import Figure, Words, along, beside, curve, panels, scatter
from softlabel.papers.claims.papers import Cell
from softlabel.papers.claims.results import (
    Named,
    Result,
    Results,
    Scale,
    Table,
    bounds,
    over_runs,
    show_score,
)

__all__ = [
    "Cell", "Claim", "Figure", "Kind", "Named", "Published", "Result", "Results", "Scale", "Table",
    "Words", "along", "beside", "bounds", "curve", "figures", "over_runs", "panels", "quick",
    "scatter", "show_score",
]  # fmt: skip

"""The harness that checks a paper: its cells, its runs, its claims and their verdicts."""

from softlabel.papers.claims import figures, quick
from softlabel.papers.claims.claims import Claim, Kind, Published, Recipe
from softlabel.papers.claims.figures import Figure, Words, along, beside, curve, panels, scatter
from softlabel.papers.claims.papers import Cell
from softlabel.papers.claims.results import Result, Results, bounds, over_runs
from softlabel.papers.claims.scoring import Ledger, Table, grassberger, kl_star, shown

__all__ = [
    "Cell",
    "Claim",
    "Figure",
    "Kind",
    "Ledger",
    "Published",
    "Recipe",
    "Result",
    "Results",
    "Table",
    "Words",
    "along",
    "beside",
    "bounds",
    "curve",
    "figures",
    "grassberger",
    "kl_star",
    "over_runs",
    "panels",
    "quick",
    "scatter",
    "shown",
]

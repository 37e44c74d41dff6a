"""The harness that checks a paper: its cells, its runs, its claims and their verdicts."""

from softlabel.papers.claims import figures, items, quick
from softlabel.papers.claims.claims import Claim, Kind, Published
from softlabel.papers.claims.figures import Figure, Words
from softlabel.papers.claims.items import over_runs
from softlabel.papers.claims.papers import Cell
from softlabel.papers.claims.results import Result, Results, Scale, Table, show_score, subtract

__all__ = [
    "Cell", "Claim", "Figure", "Kind", "Published", "Result", "Results", "Scale", "Table", "Words",
    "figures", "items", "over_runs", "quick", "show_score", "subtract",
]  # fmt: skip

"""The harness that checks a paper: its cells, its runs, its claims and their verdicts."""

from softlabel.papers.claims import figures, quick
from softlabel.papers.claims.claims import Claim, Kind, Published
from softlabel.papers.claims.figures import Figure, Words
from softlabel.papers.claims.papers import Cell
from softlabel.papers.claims.results import Result, Results, Scale, Table, over_runs, show_score

__all__ = [
    "Cell", "Claim", "Figure", "Kind", "Published", "Result", "Results", "Scale", "Table", "Words",
    "figures", "over_runs", "quick", "show_score",
]  # fmt: skip

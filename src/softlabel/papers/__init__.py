"""Published and promised numbers, worked out again from the data and by training.

A paper is a package of this room: see ``softlabel.papers.claims.papers``.  Nothing is imported
here, so that the command line can name the papers at once.
"""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.papers.claims import findings, papers, running
    from softlabel.papers.claims.claims import Judged, rehearsed
    from softlabel.papers.claims.collecting import begun, collect
    from softlabel.papers.claims.document import document
    from softlabel.papers.claims.findings import Findings
    from softlabel.papers.claims.papers import Paper
    from softlabel.papers.claims.running import task_of
    from softlabel.papers.claims.scoring import Table
    from softlabel.papers.claims.sheet import (
        CALLED,
        RECOUNTS,
        claim_table,
        failing,
        in_words,
        kind_of,
        score_table,
        summary,
    )
    from softlabel.papers.pools import page, pooling

PAPERS: dict[str, str] = {
    "collins2022": "Collins, Bhatt & Weller 2022: soft labels elicited from each annotator",
    "uma2020": "Uma et al. 2020: soft loss functions",
    "singh2025": "Singh et al. 2025: soft labels and the uncertainty of people",
    "gheibi2026": "Gheibi & Ghazizadeh 2026: one target, many ways to deliver it",
}

__all__ = [
    "CALLED",
    "PAPERS",
    "RECOUNTS",
    "Findings",
    "Judged",
    "Paper",
    "Table",
    "begun",
    "claim_table",
    "collect",
    "document",
    "failing",
    "findings",
    "in_words",
    "kind_of",
    "page",
    "papers",
    "pooling",
    "rehearsed",
    "running",
    "score_table",
    "summary",
    "task_of",
]

__getattr__ = lazy_names(
    __name__,
    {
        "CALLED": "claims.sheet",
        "Findings": "claims.findings",
        "Judged": "claims.claims",
        "Paper": "claims.papers",
        "RECOUNTS": "claims.sheet",
        "Table": "claims.scoring",
        "begun": "claims.collecting",
        "claim_table": "claims.sheet",
        "collect": "claims.collecting",
        "document": "claims.document",
        "failing": "claims.sheet",
        "findings": "claims.",
        "in_words": "claims.sheet",
        "kind_of": "claims.sheet",
        "page": "pools.",
        "papers": "claims.",
        "pooling": "pools.",
        "rehearsed": "claims.claims",
        "running": "claims.",
        "score_table": "claims.sheet",
        "summary": "claims.sheet",
        "task_of": "claims.running",
    },
)

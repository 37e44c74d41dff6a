"""Papers checked claim by claim: published numbers, computed again from the data and by training.

A paper is a package of this room: see ``softlabel.papers.claims.papers``.  Nothing is imported
here, so that the command line can name the papers at once.
"""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.papers.claims import findings, papers, running
    from softlabel.papers.claims.claims import Judged, rehearse, rehearsed
    from softlabel.papers.claims.collecting import begun, collect
    from softlabel.papers.claims.findings import (
        CALLED,
        RECOUNTS,
        Findings,
        claim_table,
        count_in_words,
        describe_failures,
        document,
        failing,
        group_of,
        in_words,
        kind_of,
        make_html,
        score_table,
        summary,
        tabulate_claims,
        tabulate_scores,
        tabulate_verdicts,
    )
    from softlabel.papers.claims.papers import Paper
    from softlabel.papers.claims.results import SCALE_NAMES, Table
    from softlabel.papers.claims.running import task_of
    from softlabel.papers.pools import pooling
    from softlabel.papers.pools.pooling import page

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
    "SCALE_NAMES",
    "Findings",
    "Judged",
    "Paper",
    "Table",
    "begun",
    "claim_table",
    "collect",
    "count_in_words",
    "describe_failures",
    "document",
    "failing",
    "findings",
    "group_of",
    "in_words",
    "kind_of",
    "make_html",
    "page",
    "papers",
    "pooling",
    "rehearse",
    "rehearsed",
    "running",
    "score_table",
    "summary",
    "tabulate_claims",
    "tabulate_scores",
    "tabulate_verdicts",
    "task_of",
]

__getattr__ = lazy_names(
    __name__,
    {
        "CALLED": "claims.findings",
        "Findings": "claims.findings",
        "Judged": "claims.claims",
        "Paper": "claims.papers",
        "RECOUNTS": "claims.findings",
        "SCALE_NAMES": "claims.results",
        "Table": "claims.results",
        "begun": "claims.collecting",
        "claim_table": "claims.findings",
        "collect": "claims.collecting",
        "count_in_words": "claims.findings",
        "describe_failures": "claims.findings",
        "document": "claims.findings",
        "failing": "claims.findings",
        "findings": "claims.",
        "group_of": "claims.findings",
        "in_words": "claims.findings",
        "kind_of": "claims.findings",
        "make_html": "claims.findings",
        "page": "pools.pooling",
        "papers": "claims.",
        "pooling": "pools.",
        "rehearse": "claims.claims",
        "rehearsed": "claims.claims",
        "running": "claims.",
        "score_table": "claims.findings",
        "summary": "claims.findings",
        "tabulate_claims": "claims.findings",
        "tabulate_scores": "claims.findings",
        "tabulate_verdicts": "claims.findings",
        "task_of": "claims.running",
    },
)

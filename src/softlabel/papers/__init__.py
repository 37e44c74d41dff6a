"""Papers checked claim by claim: published numbers, computed again from the data and by training.

A paper is a package of this room: see ``softlabel.papers.claims.papers``.  Nothing is imported
here, so that the command line can name the papers at once.
"""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.papers.claims import findings, papers, running
    from softlabel.papers.claims.claims import Judged, rehearse
    from softlabel.papers.claims.collecting import collect, list_started
    from softlabel.papers.claims.findings import (
        RECOUNTS,
        Findings,
        count_in_words,
        describe_failures,
        group_of,
        make_html,
        tabulate_claims,
        tabulate_scores,
        tabulate_verdicts,
    )
    from softlabel.papers.claims.papers import Paper
    from softlabel.papers.claims.results import SCALE_NAMES, Table
    from softlabel.papers.pools import pooling

PAPERS: dict[str, str] = {
    "collins2022": "Collins, Bhatt & Weller 2022: soft labels elicited from each annotator",
    "uma2020": "Uma et al. 2020: soft loss functions",
    "singh2025": "Singh et al. 2025: soft labels and the uncertainty of people",
    "gheibi2026": "Gheibi & Ghazizadeh 2026: one target, many ways to deliver it",
}

__all__ = [
    "PAPERS", "RECOUNTS", "SCALE_NAMES", "Findings", "Judged", "Paper", "Table", "collect",
    "count_in_words", "describe_failures", "findings", "group_of", "list_started", "make_html",
    "papers", "pooling", "rehearse", "running", "tabulate_claims", "tabulate_scores",
    "tabulate_verdicts",
]  # fmt: skip

_HOMES = {
    "claims.": ("findings", "papers", "running"),
    "claims.claims": ("Judged", "rehearse"),
    "claims.collecting": ("collect", "list_started"),
    "claims.findings": (
        *("RECOUNTS", "Findings", "count_in_words", "describe_failures", "group_of", "make_html"),
        *("tabulate_claims", "tabulate_scores", "tabulate_verdicts"),
    ),
    "claims.papers": ("Paper",),
    "claims.results": ("SCALE_NAMES", "Table"),
    "pools.": ("pooling",),
}
__getattr__ = lazy_names(__name__, {name: home for home, names in _HOMES.items() for name in names})

"""Papers checked claim by claim: published numbers, computed again from the data and by training.

A paper is a package of this room: see ``softlabel.papers.claims.papers``.  Nothing is imported
here, so that the command line can name the papers at once.
"""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.papers import lewidi
    from softlabel.papers.claims import collecting, findings, pages, papers, running
    from softlabel.papers.claims.claims import Judged, rehearse
    from softlabel.papers.claims.results import SCALE_NAMES, Table
    from softlabel.papers.pools import pooling

PAPERS: dict[str, str] = {
    "collins2022": "Collins, Bhatt & Weller 2022: soft labels elicited from each annotator",
    "uma2020": "Uma et al. 2020: soft loss functions",
    "singh2025": "Singh et al. 2025: soft labels and the uncertainty of people",
    "gheibi2026": "Gheibi & Ghazizadeh 2026: one target, many ways to deliver it",
}

__all__ = [
    "PAPERS", "SCALE_NAMES", "Judged", "Table", "collecting", "findings", "lewidi", "pages",
    "papers", "pooling", "rehearse", "running",
]  # fmt: skip

_HOMES = {"pooling": "pools.", "lewidi": ""}
_HOMES |= dict.fromkeys(("collecting", "findings", "pages", "papers", "running"), "claims.")
_HOMES |= dict.fromkeys(("Judged", "rehearse"), "claims.claims")
_HOMES |= dict.fromkeys(("SCALE_NAMES", "Table"), "claims.results")
__getattr__ = lazy_names(__name__, _HOMES)

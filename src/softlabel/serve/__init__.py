"""A study as a website: pages, a small JSON interface, and the process that serves them."""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.serve import databases, recruit, secret
    from softlabel.serve.app import check_url, make_app
    from softlabel.serve.databases import Choice
    from softlabel.serve.process import run
    from softlabel.serve.researcher import wording
    from softlabel.serve.researcher.downloads import write_roster
    from softlabel.serve.researcher.export import export_answers
    from softlabel.serve.researcher.overview import Insight, Overview, compute_overview
    from softlabel.serve.secret import Handover

__all__ = [
    "Choice", "Handover", "Insight", "Overview", "check_url", "compute_overview", "databases",
    "export_answers", "make_app", "recruit", "run", "secret", "wording", "write_roster",
]  # fmt: skip

__getattr__ = lazy_names(
    __name__,
    {
        "Choice": "databases",
        "Handover": "secret",
        "Insight": "researcher.overview",
        "Overview": "researcher.overview",
        "check_url": "app",
        "compute_overview": "researcher.overview",
        "databases": "",
        "export_answers": "researcher.export",
        "make_app": "app",
        "recruit": "",
        "run": "process",
        "secret": "",
        "wording": "researcher.",
        "write_roster": "researcher.downloads",
    },
    ("serving a study", "serve"),
)

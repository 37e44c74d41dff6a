"""A study as a website: pages, a small JSON interface, and the process that serves them."""

from typing import TYPE_CHECKING, Any

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.serve import databases, monitor, recruit, secret
    from softlabel.serve import recruit as people  # OLD NAME
    from softlabel.serve.app import check_url, make_app
    from softlabel.serve.databases import Choice
    from softlabel.serve.process import run
    from softlabel.serve.researcher import wording
    from softlabel.serve.researcher import wording as words  # OLD NAME
    from softlabel.serve.researcher.downloads import write_roster
    from softlabel.serve.researcher.overview import Insight, Overview, compute_overview
    from softlabel.serve.secret import Handover

__all__ = [
    "Choice",
    "Handover",
    "Insight",
    "Overview",
    "check_url",
    "compute_overview",
    "databases",
    "make_app",
    "monitor",
    "people",
    "recruit",
    "run",
    "secret",
    "wording",
    "words",
    "write_roster",
]

_get = lazy_names(
    __name__,
    {
        "Choice": "databases",
        "Handover": "secret",
        "Insight": "researcher.overview",
        "Overview": "researcher.overview",
        "check_url": "app",
        "compute_overview": "researcher.overview",
        "databases": "",
        "make_app": "app",
        "monitor": "",
        "recruit": "",
        "run": "process",
        "secret": "",
        "wording": "researcher.",
        "write_roster": "researcher.downloads",
    },
    ("serving a study", "serve"),
)


def __getattr__(name: str) -> Any:
    return _get({"people": "recruit", "words": "wording"}.get(name, name))  # OLD NAMES

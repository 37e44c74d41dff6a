"""A study as a website: pages, a small JSON interface, and the process that serves them."""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.serve import databases, monitor, people, secret
    from softlabel.serve.app import check_url, make_app
    from softlabel.serve.databases import Choice
    from softlabel.serve.monitor import Insight, Overview, words
    from softlabel.serve.run import run
    from softlabel.serve.secret import Handover

__all__ = [
    "Choice",
    "Handover",
    "Insight",
    "Overview",
    "check_url",
    "databases",
    "make_app",
    "monitor",
    "people",
    "run",
    "secret",
    "words",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Choice": "databases",
        "Handover": "secret",
        "Insight": "monitor",
        "Overview": "monitor",
        "check_url": "app",
        "databases": "",
        "make_app": "app",
        "monitor": "",
        "people": "",
        "run": "run",
        "secret": "",
        "words": "monitor.",
    },
    ("serving a study", "serve"),
)

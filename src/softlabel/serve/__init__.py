"""A study as a website: pages, a small JSON interface, and the process that serves them."""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.serve import actions, databases, fake_prolific, pay, recruit, secret
    from softlabel.serve.app import check_url, make_app
    from softlabel.serve.databases import Choice
    from softlabel.serve.preview import show_preview
    from softlabel.serve.process import run
    from softlabel.serve.researcher import allocation, wording
    from softlabel.serve.researcher.downloads import write_roster
    from softlabel.serve.researcher.export import export_answers
    from softlabel.serve.researcher.overview import Insight, Overview, compute_overview
    from softlabel.serve.researcher.questions import write_questions
    from softlabel.serve.secret import Handover

__all__ = [
    "Choice", "Handover", "Insight", "Overview", "actions", "allocation", "check_url",
    "compute_overview", "databases", "export_answers", "fake_prolific", "make_app", "pay",
    "recruit", "run", "secret", "show_preview", "wording", "write_questions", "write_roster",
]  # fmt: skip

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("actions", "databases", "fake_prolific", "pay", "recruit", "secret"), ""),
        **dict.fromkeys(("Insight", "Overview", "compute_overview"), "researcher.overview"),
        **dict.fromkeys(("check_url", "make_app"), "app"),
        **{"Choice": "databases", "Handover": "secret", "run": "process"},
        "show_preview": "preview",
        **{"export_answers": "researcher.export", "write_roster": "researcher.downloads"},
        **dict.fromkeys(("allocation", "wording"), "researcher."),
        "write_questions": "researcher.questions",
    },
    ("serving a study", "serve"),
)

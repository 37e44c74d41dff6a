"""Simulated people with known beliefs: in memory, over HTTP, in a browser."""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.simulate import browser, crowd, people
    from softlabel.simulate.browser import fill_in_browser
    from softlabel.simulate.crowd import Report, fill_study, run_server
    from softlabel.simulate.people import Habits, Participant, draw_participants, keyed_rng
    from softlabel.simulate.rehearsal import Rehearsal, pretend, rehearse

__all__ = [
    "Habits", "Participant", "Rehearsal", "Report", "browser", "crowd", "draw_participants",
    "fill_in_browser", "fill_study", "keyed_rng", "people", "pretend", "rehearse",
    "run_server",
]  # fmt: skip

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("browser", "crowd", "people"), ""),
        **dict.fromkeys(("Habits", "Participant", "draw_participants", "keyed_rng"), "people"),
        **dict.fromkeys(("Report", "fill_study", "run_server"), "crowd"),
        "fill_in_browser": "browser",
        **dict.fromkeys(("Rehearsal", "pretend", "rehearse"), "rehearsal"),
    },
)

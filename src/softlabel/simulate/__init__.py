"""Simulated people with known beliefs: in memory, over HTTP, in a browser."""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.simulate import crowd, people
    from softlabel.simulate.crowd import Report, browser
    from softlabel.simulate.crowd.people import keyed
    from softlabel.simulate.crowd.server import serving

__all__ = ["Report", "browser", "crowd", "keyed", "people", "serving"]

__getattr__ = lazy_names(
    __name__,
    {
        "Report": "crowd",
        "browser": "crowd.",
        "crowd": "",
        "keyed": "crowd.people",
        "people": "",
        "serving": "crowd.server",
    },
)

"""OLD NAME of ``softlabel.serve.researcher``, for rooms that still import it."""

from typing import TYPE_CHECKING, Any

from softlabel.serve.monitor.export import export

if TYPE_CHECKING:
    from softlabel.serve.researcher.downloads import write_roster as roster
    from softlabel.serve.researcher.overview import compute_overview as overview

__all__ = ["export", "overview", "roster"]


def __getattr__(name: str) -> Any:  # the modules there import modules here
    if name == "overview":
        from softlabel.serve.researcher.overview import compute_overview

        return compute_overview
    if name == "roster":
        from softlabel.serve.researcher.downloads import write_roster

        return write_roster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

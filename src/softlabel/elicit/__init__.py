"""Ways of asking for a belief."""

from softlabel.elicit.base import Answer, Field, Kind, Mode, versions_read
from softlabel.elicit.chips import Chips
from softlabel.elicit.classic import Classic
from softlabel.elicit.hard import Hard
from softlabel.elicit.quick import Quick
from softlabel.elicit.search import Search

MODES: dict[str, type[Mode]] = {mode.name: mode for mode in (Classic, Quick, Chips, Search, Hard)}

__all__ = [
    "MODES",
    "Answer",
    "Chips",
    "Classic",
    "Field",
    "Hard",
    "Kind",
    "Mode",
    "Quick",
    "Search",
    "versions_read",
]

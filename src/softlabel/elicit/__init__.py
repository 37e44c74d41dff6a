"""Ways of asking for a belief."""

from softlabel.elicit import c22
from softlabel.elicit.base import Answer, Field, Kind, Mode, versions_read
from softlabel.elicit.chips import Chips
from softlabel.elicit.classic import ZERO_IS_100, Classic
from softlabel.elicit.hard import Hard
from softlabel.elicit.quick import Quick
from softlabel.elicit.search import Search
from softlabel.elicit.tree import prefixes
from softlabel.registry import FAMILIES

MODES: dict[str, type[Mode]] = FAMILIES["mode"]
MODES.update({mode.name: mode for mode in (Classic, Quick, Chips, Search, Hard)})

__all__ = [
    "MODES",
    "ZERO_IS_100",
    "Answer",
    "Chips",
    "Classic",
    "Field",
    "Hard",
    "Kind",
    "Mode",
    "Quick",
    "Search",
    "c22",
    "prefixes",
    "versions_read",
]

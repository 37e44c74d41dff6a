"""Ways of asking for a belief."""

from softlabel.elicit.base import Answer, Field, Mode
from softlabel.elicit.classic import Classic
from softlabel.elicit.hard import Hard

MODES: dict[str, type[Mode]] = {mode.name: mode for mode in (Classic, Hard)}

__all__ = ["MODES", "Answer", "Classic", "Field", "Hard", "Mode"]

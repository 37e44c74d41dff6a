"""Ways of asking for a belief: one folder per mode, with its reader, browser part and texts."""

from softlabel.elicit import c22, fields, mode
from softlabel.elicit.chips import Chips
from softlabel.elicit.classic import ZERO_IS_100, Classic
from softlabel.elicit.fields import list_branches
from softlabel.elicit.hard import Hard
from softlabel.elicit.mode import (
    FORM,
    Answer,
    Branch,
    Field,
    Kind,
    Mode,
    Seconds,
    find_scripts,
    find_speech,
    find_texts,
    readable_versions,
)
from softlabel.elicit.quick import Quick
from softlabel.elicit.search import Search
from softlabel.registry import FAMILIES

MODES: dict[str, type[Mode]] = FAMILIES["mode"]
MODES.update({kind.name: kind for kind in (Classic, Quick, Chips, Search, Hard)})

__all__ = [
    "FORM", "MODES", "ZERO_IS_100", "Answer", "Branch", "Chips", "Classic", "Field", "Hard", "Kind",
    "Mode", "Quick", "Search", "Seconds", "c22", "fields", "find_scripts", "find_speech",
    "find_texts", "list_branches", "mode", "readable_versions",
]  # fmt: skip

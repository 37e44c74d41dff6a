"""From what was said to one label per answer."""

from softlabel.construct.base import Construct, labelled, percents
from softlabel.construct.clamp import Clamp
from softlabel.construct.control import Flat, Random
from softlabel.construct.hard import Hard
from softlabel.construct.select import Select
from softlabel.construct.smooth import Smooth
from softlabel.construct.uniform import Uniform
from softlabel.registry import FAMILIES

CONSTRUCTIONS: dict[str, type[Construct]] = FAMILIES["construct"]
CONSTRUCTIONS.update(
    {kind.name: kind for kind in (Clamp, Uniform, Select, Hard, Smooth, Flat, Random)}
)

__all__ = [
    "CONSTRUCTIONS",
    "Clamp",
    "Construct",
    "Flat",
    "Hard",
    "Random",
    "Select",
    "Smooth",
    "Uniform",
    "labelled",
    "percents",
]

"""From what was said to one label per answer."""

from softlabel.construct.base import Construct
from softlabel.construct.clamp import Clamp
from softlabel.construct.control import Flat, Random
from softlabel.construct.hard import Hard
from softlabel.construct.select import Select
from softlabel.construct.smooth import Smooth
from softlabel.construct.uniform import Uniform

CONSTRUCTIONS: dict[str, type[Construct]] = {
    kind.name: kind for kind in (Clamp, Uniform, Select, Hard, Smooth, Flat, Random)
}

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
]

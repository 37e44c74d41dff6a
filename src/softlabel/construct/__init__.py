"""Construction: build one soft label from each answer."""

from softlabel.construct.base import Construct, make_annotations, stated_percents
from softlabel.construct.baselines import Flat, Hard, Random, Smooth
from softlabel.construct.beliefs import Clamp, Select, Uniform
from softlabel.registry import FAMILIES

CONSTRUCTIONS: dict[str, type[Construct]] = FAMILIES["construct"]
CONSTRUCTIONS.update(
    {kind.name: kind for kind in (Clamp, Uniform, Select, Hard, Smooth, Flat, Random)}
)

__all__ = [
    "CONSTRUCTIONS", "Clamp", "Construct", "Flat", "Hard", "Random", "Select", "Smooth", "Uniform",
    "make_annotations", "stated_percents",
]  # fmt: skip

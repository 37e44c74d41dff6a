"""How people split over the classes: pools that estimate a distribution for each item."""

from softlabel.aggregate.split.auto import Auto
from softlabel.aggregate.split.dirichlet import Atoms, Dirichlet, DirichletMixture
from softlabel.aggregate.split.simple import Extremised, LogPool, Mean, Share, Softmax
from softlabel.aggregate.split.stack import Stack
from softlabel.aggregate.split.weighted import Weighted

__all__ = [
    "Atoms",
    "Auto",
    "Dirichlet",
    "DirichletMixture",
    "Extremised",
    "LogPool",
    "Mean",
    "Share",
    "Softmax",
    "Stack",
    "Weighted",
]

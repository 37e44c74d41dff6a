"""Training on soft labels: losses, networks, and a loop that can be read top to bottom."""

from softlabel.errors import MissingExtra

try:
    import torch  # noqa: F401
except ImportError as missing:
    raise MissingExtra("training", "train") from missing

from softlabel.train.config import Config
from softlabel.train.costing import cost
from softlabel.train.crowd import CrowdLayer, Votes
from softlabel.train.diverging import DivergedError
from softlabel.train.loop import Trained, fit

__all__ = ["Config", "CrowdLayer", "DivergedError", "Trained", "Votes", "cost", "fit"]

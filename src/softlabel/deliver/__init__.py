"""Labels to rows of one epoch: every way to hand what people believe to training."""

from softlabel.deliver.aggregate import Aggregate
from softlabel.deliver.base import (
    DELIVERIES,
    NO_CLASS,
    Deliver,
    Delivery,
    Draws,
    Foretold,
    Teaching,
)
from softlabel.deliver.control import Control
from softlabel.deliver.hard import Hard
from softlabel.deliver.mixed import Mixed
from softlabel.deliver.multipass import Multipass
from softlabel.deliver.p19 import P19
from softlabel.deliver.per_annotator import PerAnnotator
from softlabel.deliver.random import Random
from softlabel.deliver.shuffled_sls import ShuffledSLS
from softlabel.deliver.sls import SLS
from softlabel.deliver.smoothing import Smoothing
from softlabel.deliver.sparse_k import SparseK
from softlabel.deliver.stale_sls import StaleSLS
from softlabel.deliver.subsample import Subsample
from softlabel.deliver.uniform import Uniform

POLICIES: tuple[type[Deliver], ...] = (
    *(Hard, Aggregate, PerAnnotator, SLS, P19, Multipass),
    *(Subsample, SparseK, Mixed),
    *(Smoothing, Uniform, Random, StaleSLS, ShuffledSLS, Control),
)
DELIVERIES.update({kind.name: kind for kind in POLICIES})

__all__ = [
    "DELIVERIES",
    "NO_CLASS",
    "P19",
    "SLS",
    "Aggregate",
    "Control",
    "Deliver",
    "Delivery",
    "Draws",
    "Foretold",
    "Hard",
    "Mixed",
    "Multipass",
    "PerAnnotator",
    "Random",
    "ShuffledSLS",
    "Smoothing",
    "SparseK",
    "StaleSLS",
    "Subsample",
    "Teaching",
    "Uniform",
]

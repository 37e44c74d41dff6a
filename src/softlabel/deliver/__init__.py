"""Delivery: hand soft labels to training, epoch by epoch."""

from softlabel.deliver.answers import Control, Multipass, PerAnnotator
from softlabel.deliver.base import (
    DELIVERIES,
    NO_CLASS,
    Deliver,
    Delivery,
    Draws,
    ExpectedDelivery,
    TrainingLabels,
)
from softlabel.deliver.fixed import (
    P19,
    SLS,
    Aggregate,
    Hard,
    Random,
    ShuffledSLS,
    Smoothing,
    StaleSLS,
    Uniform,
)
from softlabel.deliver.subsets import Mixed, SparseK, Subsample

POLICIES: tuple[type[Deliver], ...] = (
    *(Hard, Aggregate, PerAnnotator, SLS, P19, Multipass),
    *(Subsample, SparseK, Mixed),
    *(Smoothing, Uniform, Random, StaleSLS, ShuffledSLS, Control),
)
DELIVERIES.update({kind.name: kind for kind in POLICIES})

__all__ = [
    "DELIVERIES", "NO_CLASS", "P19", "SLS", "Aggregate", "Control", "Deliver", "Delivery", "Draws",
    "ExpectedDelivery", "Hard", "Mixed", "Multipass", "PerAnnotator", "Random", "ShuffledSLS",
    "Smoothing", "SparseK", "StaleSLS", "Subsample", "TrainingLabels", "Uniform",
]  # fmt: skip

"""Whom to ask about what next: policies, their state, replays of recorded votes, and plans."""

from softlabel.allocate.allocation import Allocation, Chosen
from softlabel.allocate.policies import (
    POLICIES,
    Entropy,
    Fit,
    FitVotes,
    Greedy,
    Policy,
    Price,
    Uniform,
)
from softlabel.allocate.replay import (
    Comparison,
    Recorded,
    Setting,
    apply_floor,
    compare,
    draw_curves,
    grassberger,
    kl_star,
    part_of,
    split_folds,
)

__all__ = [
    "POLICIES", "Allocation", "Chosen", "Comparison", "Entropy", "Fit", "FitVotes", "Greedy",
    "Policy", "Price", "Recorded", "Setting", "Uniform", "apply_floor", "compare", "draw_curves",
    "grassberger", "kl_star", "part_of", "split_folds",
]  # fmt: skip

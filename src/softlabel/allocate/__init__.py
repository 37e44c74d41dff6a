"""Whom to ask about what next: policies, their state, replays of recorded votes, and plans."""

from softlabel.allocate import modes
from softlabel.allocate.allocation import Allocation, Chosen
from softlabel.allocate.planning import (
    Pilot,
    Step,
    cost_of_answer,
    draw_plan,
    forecast,
    measure_seconds,
    read_pilot,
)
from softlabel.allocate.policies import (
    POLICIES,
    SECONDS_PER_VOTE,
    Entropy,
    Fit,
    FitJudged,
    FitVotes,
    Greedy,
    Policy,
    Price,
    Uniform,
)
from softlabel.allocate.quality import Quality, measure_quality
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
    "POLICIES", "SECONDS_PER_VOTE", "Allocation", "Chosen", "Comparison", "Entropy", "Fit",
    "FitJudged", "FitVotes", "Greedy", "Pilot", "Policy", "Price", "Quality", "Recorded",
    "Setting", "Step", "Uniform", "apply_floor", "compare", "cost_of_answer", "draw_curves",
    "draw_plan", "forecast", "grassberger", "kl_star", "measure_quality", "measure_seconds",
    "modes", "part_of", "read_pilot", "split_folds",
]  # fmt: skip

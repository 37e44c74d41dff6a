"""From the annotations of an item to one soft label.

``split`` holds the pools that estimate how people split over the classes, ``truth`` those that
estimate which class is true.
"""

from softlabel.aggregate.base import Aggregate, pool, takes
from softlabel.aggregate.split import (
    Atoms,
    Auto,
    Dirichlet,
    DirichletMixture,
    Extremised,
    LogPool,
    Mean,
    Share,
    Softmax,
    Stack,
    Weighted,
)
from softlabel.aggregate.split.base import (
    Belief,
    LabelDistribution,
    posterior_mean,
    rich_weight,
    shares,
)
from softlabel.aggregate.split.dirichlet import Posterior
from softlabel.aggregate.split.mixtures import Prior
from softlabel.aggregate.split.simple import Sharpened, confusion_table, search
from softlabel.aggregate.split.stack import WITH_VOTES, Features, fit_logit, logit, predict_logit
from softlabel.aggregate.split.update import update
from softlabel.aggregate.truth import (
    BayesDawidSkene,
    Catd,
    DawidSkene,
    FastDawidSkene,
    Glad,
    Kos,
    Mace,
    Majority,
    OneCoin,
    Wawa,
    ZenCrowd,
    ZeroBasedSkill,
)
from softlabel.aggregate.truth.base import (
    Engine,
    FitResult,
    FitState,
    Fitted,
    Parameters,
    Stopped,
    Sums,
    TruthPosterior,
    Votes,
    add_sums,
    added,
    fit,
    watch_fit,
    watched,
)
from softlabel.aggregate.truth.glad import GladPosterior
from softlabel.registry import FAMILIES

SPLIT = (
    *(Mean, Share, Softmax, LogPool, Extremised, Weighted),
    *(Dirichlet, DirichletMixture, Atoms, Stack, Auto),
)
TRUTH = (
    *(Majority, DawidSkene, OneCoin, FastDawidSkene, BayesDawidSkene, Glad, Mace),
    *(Wawa, ZeroBasedSkill, ZenCrowd, Catd, Kos),
)
AGGREGATORS: dict[str, type[Aggregate]] = FAMILIES["aggregate"]
AGGREGATORS.update({kind.name: kind for kind in (*SPLIT, *TRUTH)})

__all__ = [
    "AGGREGATORS",
    "WITH_VOTES",
    "Aggregate",
    "Atoms",
    "Auto",
    "BayesDawidSkene",
    "Belief",
    "Catd",
    "DawidSkene",
    "Dirichlet",
    "DirichletMixture",
    "Engine",
    "Extremised",
    "FastDawidSkene",
    "Features",
    "FitResult",
    "FitState",
    "Fitted",
    "Glad",
    "GladPosterior",
    "Kos",
    "LabelDistribution",
    "LogPool",
    "Mace",
    "Majority",
    "Mean",
    "OneCoin",
    "Parameters",
    "Posterior",
    "Prior",
    "Share",
    "Sharpened",
    "Softmax",
    "Stack",
    "Stopped",
    "Sums",
    "TruthPosterior",
    "Votes",
    "Wawa",
    "Weighted",
    "ZenCrowd",
    "ZeroBasedSkill",
    "add_sums",
    "added",
    "confusion_table",
    "fit",
    "fit_logit",
    "logit",
    "pool",
    "posterior_mean",
    "predict_logit",
    "rich_weight",
    "search",
    "shares",
    "takes",
    "update",
    "watch_fit",
    "watched",
]

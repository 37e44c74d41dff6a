"""From the annotations of an item to one soft label.

``split`` holds the pools that estimate how people split over the classes, ``truth`` those that
estimate which class is true.  ``em`` is how the latter are fitted, wherever their votes are.
"""

from softlabel.aggregate.base import Aggregate, pool, takes
from softlabel.aggregate.split import simple
from softlabel.aggregate.split.auto import Auto
from softlabel.aggregate.split.base import (
    Belief,
    LabelDistribution,
    Posterior,
    posterior_mean,
    rich_weight,
    shares,
    update,
)
from softlabel.aggregate.split.choice import choose_for_others, choose_for_votes
from softlabel.aggregate.split.dirichlet import Atoms, Dirichlet, DirichletMixture
from softlabel.aggregate.split.judged import Judged, JudgedBelief, JudgedDistribution
from softlabel.aggregate.split.mixtures import Prior
from softlabel.aggregate.split.ordinal import Ordinal
from softlabel.aggregate.split.simple import Extremised, LogPool, Mean, Share, Softmax, Weighted
from softlabel.aggregate.split.stack import WITH_VOTES, Features, Stack, fit_logit, predict_logit
from softlabel.aggregate.truth import base as em
from softlabel.aggregate.truth.base import TruthPosterior, watch_fit
from softlabel.aggregate.truth.dawid_skene import BayesDawidSkene, DawidSkene, FastDawidSkene
from softlabel.aggregate.truth.mace import Mace, ZenCrowd
from softlabel.aggregate.truth.majority import Majority
from softlabel.aggregate.truth.skill import Glad, GladPosterior, Kos, OneCoin
from softlabel.aggregate.truth.weighting import Catd, Wawa, ZeroBasedSkill
from softlabel.registry import FAMILIES

SPLIT = (
    *(Mean, Share, Softmax, LogPool, Extremised, Weighted),
    *(Dirichlet, DirichletMixture, Atoms, Ordinal, Stack, Judged, Auto),
)
TRUTH = (
    *(Majority, DawidSkene, OneCoin, FastDawidSkene, BayesDawidSkene, Glad, Mace),
    *(Wawa, ZeroBasedSkill, ZenCrowd, Catd, Kos),
)
AGGREGATORS: dict[str, type[Aggregate]] = FAMILIES["aggregate"]
AGGREGATORS.update({kind.name: kind for kind in (*SPLIT, *TRUTH)})

__all__ = [
    "AGGREGATORS", "WITH_VOTES", "Aggregate", "Atoms", "Auto", "BayesDawidSkene", "Belief", "Catd",
    "DawidSkene", "Dirichlet", "DirichletMixture", "Extremised", "FastDawidSkene", "Features",
    "Glad", "GladPosterior", "Judged", "JudgedBelief", "JudgedDistribution", "Kos",
    "LabelDistribution", "LogPool", "Mace", "Majority", "Mean", "OneCoin", "Ordinal", "Posterior",
    "Prior", "Share", "Softmax", "Stack", "TruthPosterior", "Wawa", "Weighted", "ZenCrowd",
    "ZeroBasedSkill", "choose_for_others", "choose_for_votes", "em", "fit_logit", "pool",
    "posterior_mean", "predict_logit", "rich_weight", "shares", "simple", "takes", "update",
    "watch_fit",
]  # fmt: skip

"""From the annotations of an item to one soft label."""

from softlabel.aggregate import logit
from softlabel.aggregate.atoms import Atoms
from softlabel.aggregate.auto import Auto
from softlabel.aggregate.base import Aggregate, pool, takes
from softlabel.aggregate.bayes import Posterior, rich_weight
from softlabel.aggregate.bayes_dawid_skene import BayesDawidSkene
from softlabel.aggregate.belief import Belief, posterior_mean
from softlabel.aggregate.catd import Catd
from softlabel.aggregate.dawid_skene import DawidSkene
from softlabel.aggregate.dirichlet import Dirichlet
from softlabel.aggregate.dirichlet_mixture import DirichletMixture
from softlabel.aggregate.em import Engine, Fitted, Parameters, Stopped, Sums, added, fit, watched
from softlabel.aggregate.extremised import Extremised, Sharpened, confusion_table
from softlabel.aggregate.fast_dawid_skene import FastDawidSkene
from softlabel.aggregate.fitting import search
from softlabel.aggregate.glad import Glad, GladPosterior
from softlabel.aggregate.kos import Kos
from softlabel.aggregate.logpool import LogPool
from softlabel.aggregate.mace import Mace
from softlabel.aggregate.majority import Majority
from softlabel.aggregate.mean import Mean
from softlabel.aggregate.one_coin import OneCoin
from softlabel.aggregate.prior import Prior
from softlabel.aggregate.results import LabelDistribution, TruthPosterior
from softlabel.aggregate.share import Share
from softlabel.aggregate.softmax import Softmax
from softlabel.aggregate.splitting import shares
from softlabel.aggregate.stack import WITH_VOTES, Features, Stack
from softlabel.aggregate.updating import update
from softlabel.aggregate.votes import Votes
from softlabel.aggregate.wawa import Wawa
from softlabel.aggregate.weighted import Weighted
from softlabel.aggregate.zencrowd import ZenCrowd
from softlabel.aggregate.zero_based_skill import ZeroBasedSkill
from softlabel.registry import FAMILIES

AGGREGATORS: dict[str, type[Aggregate]] = FAMILIES["aggregate"]
AGGREGATORS.update(
    {
        kind.name: kind
        for kind in (
            # how people split
            Mean,
            Share,
            Softmax,
            LogPool,
            Extremised,
            Weighted,
            Dirichlet,
            DirichletMixture,
            Atoms,
            Stack,
            Auto,
            # which class is true
            Majority,
            DawidSkene,
            OneCoin,
            FastDawidSkene,
            BayesDawidSkene,
            Glad,
            Mace,
            Wawa,
            ZeroBasedSkill,
            ZenCrowd,
            Catd,
            Kos,
        )
    }
)

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
    "added",
    "confusion_table",
    "fit",
    "logit",
    "pool",
    "posterior_mean",
    "rich_weight",
    "search",
    "shares",
    "takes",
    "update",
    "watched",
]

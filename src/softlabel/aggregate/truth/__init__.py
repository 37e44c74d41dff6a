"""Which class is true: methods that estimate the one right answer of each item."""

from softlabel.aggregate.truth.dawid_skene import BayesDawidSkene, DawidSkene, FastDawidSkene
from softlabel.aggregate.truth.glad import Glad
from softlabel.aggregate.truth.kos import Kos
from softlabel.aggregate.truth.mace import Mace, ZenCrowd
from softlabel.aggregate.truth.majority import Majority
from softlabel.aggregate.truth.one_coin import OneCoin
from softlabel.aggregate.truth.weighting import Catd, Wawa, ZeroBasedSkill

__all__ = [
    "BayesDawidSkene",
    "Catd",
    "DawidSkene",
    "FastDawidSkene",
    "Glad",
    "Kos",
    "Mace",
    "Majority",
    "OneCoin",
    "Wawa",
    "ZenCrowd",
    "ZeroBasedSkill",
]

"""From the annotations of an item to one soft label."""

from softlabel.aggregate.base import Aggregate, pool
from softlabel.aggregate.logpool import LogPool
from softlabel.aggregate.majority import Majority
from softlabel.aggregate.mean import Mean
from softlabel.aggregate.share import Share
from softlabel.aggregate.softmax import Softmax

AGGREGATORS: dict[str, type[Aggregate]] = {
    kind.name: kind for kind in (Mean, Share, Softmax, Majority, LogPool)
}

__all__ = ["AGGREGATORS", "Aggregate", "LogPool", "Majority", "Mean", "Share", "Softmax", "pool"]

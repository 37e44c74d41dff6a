"""Which pool with a prior suits these votes, by how many items and votes there are; and which one
to fit to them if the prior is meant for other items."""

import numpy as np

from softlabel.aggregate.split.dirichlet import Atoms, Dirichlet, DirichletMixture
from softlabel.aggregate.split.mixtures import Prior
from softlabel.aggregate.split.ordinal import Ordinal
from softlabel.tables import Floats, Index, Ints

FEW_VOTES, MANY_VOTES = 2.0, 10.0  # per item
# From so many items, and so many per class, a Dirichlet for each class beats one for all.  Chosen
# by leaving one data set out at a time (bench/intervals.py, docs/pools/auto.md).
LEAST_ITEMS, LEAST_PER_CLASS = 200, 50
# Of ratings, the ordinal pool is the better one from so many items on, and with one vote per item
# always (bench/ordinal.py, docs/pools/ordinal.md).  Two classes have no order.
LEAST_RATED, LEAST_STEPS = 100, 3


def choose_for_votes(
    index: Index, votes: Ints | Floats, prior: Prior | None = None
) -> tuple[Dirichlet | DirichletMixture | Atoms | Ordinal, str]:
    """Return the pool for items with so many ``votes`` (m,) each, and why."""
    items, classes = int(np.count_nonzero(votes)), len(index.labels)
    mean = float(np.sum(votes)) / max(items, 1)
    facts = f"{items:,} items with {mean:.3g} votes each"
    if prior is not None:
        if mean > MANY_VOTES:
            return Atoms(), f"{facts}: more than {MANY_VOTES:g}, so these items join the prior"
        return DirichletMixture(), f"{facts}, and a prior from other items"
    scale = index.ordered and classes >= LEAST_STEPS
    if scale and (items >= LEAST_RATED or np.max(votes, initial=0) <= 1):
        return Ordinal(), f"{facts}, and {classes:,} classes that are steps of a scale"
    if items < LEAST_ITEMS:
        why = f"fewer than {LEAST_ITEMS} items are too few for one prior per class"
        return Dirichlet(), f"{facts}: {why}"
    if items < LEAST_PER_CLASS * classes:
        why = f"fewer than {LEAST_PER_CLASS} items for each of {classes:,} classes are too few"
        return Dirichlet(), f"{facts}: {why} for one prior per class"
    if mean < FEW_VOTES:
        return Dirichlet(), f"{facts}: fewer than {FEW_VOTES:g} cannot tell kinds of items apart"
    return DirichletMixture(), f"{facts}, and no prior from other items"


def choose_for_others(votes: Ints | Floats) -> DirichletMixture | Atoms:
    """Return the pool whose prior, fitted to items with so many ``votes`` (m,) each, serves other
    items: with many votes their own splits (atoms) say more than a Dirichlet for each class."""
    items = max(int(np.count_nonzero(votes)), 1)
    return Atoms() if float(np.sum(votes)) > MANY_VOTES * items else DirichletMixture()

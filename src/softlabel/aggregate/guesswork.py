"""What the methods share that know of a vote only how likely it is meant: zencrowd and mace.

``table[a, l]`` says of a vote of person a for class l: the log of its chance where another class
is true, how much that log gains where l is true, and the chance that it was then meant and not a
lucky guess.  Where these do not depend on l, one column stands for all classes.
"""

from __future__ import annotations

import numpy as np

from softlabel._util.machine import GIGABYTE, memory
from softlabel.aggregate.em import Sums
from softlabel.aggregate.votes import Votes
from softlabel.errors import DataError
from softlabel.tables import Floats


def step(part: Votes, table: Floats) -> Sums:
    """E-step with all classes equally common; ``counts[a, l]``: votes meant, and all others."""
    from softlabel.aggregate import kernels, kin_kernels  # compiled: only those who pool wait

    counts = np.zeros((*table.shape[:2], 2))
    votes = kernels.ballots(part)
    total = kin_kernels.meant_step(votes, kernels.fixed(table), part.labels, counts)
    return np.array([total]), counts


def posterior(part: Votes, table: Floats) -> Floats:
    """E-step alone."""
    from softlabel.aggregate import kernels, kin_kernels

    rows = np.empty((part.items, part.labels))
    kin_kernels.meant_posterior(kernels.ballots(part), kernels.fixed(table), part.labels, rows)
    return rows


def check_table(people: int, k: int) -> None:
    """Refuse a table of three numbers per person and class that this machine could not hold."""
    wanted, most = people * k * 3 * 8, memory() // 8  # some stand side by side while it learns
    if wanted > most:
        raise DataError(
            f"{people:,} annotators with {k:,} classes need tables of {wanted / GIGABYTE:.1f} GB, "
            f"more than {most / GIGABYTE:.1f} GB; zencrowd knows one number of each annotator"
        )

"""Votes added up: equal rows once, and the histograms on which a mixture of Dirichlets runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from softlabel.randomness import name_keys, uniform
from softlabel.tables import Floats, Ints, Names

ROOM = 2**62  # codes of combined columns stay below this


@dataclass(frozen=True, eq=False)
class Rows:
    """The distinct rows of a table of evidence: ``n[u, k]``, each occurring ``times[u]`` times.

    Most items of a crowd share their counts with many others: a million items with five votes on
    ten classes have at most 2,002 different rows.
    """

    n: Floats
    times: Floats

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def groups(self) -> Groups:
        return grouped(self.n)


def distinct(evidence: Floats) -> tuple[Rows, Ints]:
    """The distinct rows in rising order, and the row of each item."""
    code = np.zeros(len(evidence), dtype=np.int64)
    size = 1
    for column in evidence.T:
        values, size_here = _coded(column)
        if size > ROOM // size_here:  # too many combinations for one number: renumber what occurs
            distinct_codes, code = np.unique(code, return_inverse=True)
            size = len(distinct_codes)
        code = code * size_here + values
        size *= size_here
    _, first, where, times = np.unique(
        code, return_index=True, return_inverse=True, return_counts=True
    )
    return Rows(evidence[first], times.astype(np.float64)), where


def _coded(column: Floats) -> tuple[Ints, int]:
    """Small whole numbers as they are, other values by their rank; and how many codes there are."""
    top = column.max(initial=0)
    whole = column.astype(np.int64)
    if top < 2**20 and (whole == column).all():
        return whole, int(top) + 1
    values, codes = np.unique(column, return_inverse=True)
    return codes, max(len(values), 1)


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows sorted so that each value is worked out once: histograms of n_ik and of m_i.

    ``label[g]`` and ``value[g]`` name the group of rows with that much evidence for that class;
    ``member`` (u, g) says which rows are in it.  ``total[t]`` and ``of_total`` (u, t) are the same
    for the sums of the rows.  Values of 0 change nothing and are left out.
    """

    label: Ints
    value: Floats
    member: Any
    total: Floats
    of_total: Any

    def log_joint(self, alpha: Floats, log_weight: Floats) -> Floats:
        """(u, C) log weight_c + log P(n_i | alpha_c), but for a constant of the row:

        lgamma(A_c) - lgamma(A_c + m) + sum_k [lgamma(alpha_ck + n_k) - lgamma(alpha_ck)].
        """
        share = np.ascontiguousarray(alpha.T)
        rise = gammaln(share[self.label] + self.value[:, None]) - gammaln(share)[self.label]
        mass = alpha.sum(axis=1)
        fall = gammaln(mass) - gammaln(mass + self.total[:, None])
        return np.asarray(log_weight + (self.member @ rise + self.of_total @ fall))


def grouped(n: Floats) -> Groups:
    """The histograms of these rows."""
    from scipy.sparse import csr_array  # a tenth of a second that only those who pool wait for

    u = len(n)
    label, row = np.nonzero(n.T)
    value = n[row, label]
    keys = np.lexsort((value, label))
    label, row, value = label[keys], row[keys], value[keys]
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = (label[1:] != label[:-1]) | (value[1:] != value[:-1])
    group = np.cumsum(new) - 1
    ones = np.ones(len(row))
    total, which = np.unique(n.sum(axis=1), return_inverse=True)
    return Groups(
        label=label[new],
        value=value[new],
        member=csr_array((ones, (row, group)), shape=(u, int(new.sum()))),
        total=total,
        of_total=csr_array((np.ones(u), (np.arange(u), which)), shape=(u, len(total))),
    )


def drawn(items: Names, most: int, seed: int = 0) -> Ints:
    """Codes of at most ``most`` items, drawn by their names: the same ones in any order."""
    if len(items) <= most:
        return np.arange(len(items))
    key = uniform(seed, name_keys(items))
    return np.sort(np.argpartition(key, most)[:most])

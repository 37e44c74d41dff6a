"""The pool for classes that are steps of a scale, such as ratings from 1 to 5.

People who rate an item differ around a common opinion, so that votes for 2 and 4 are evidence for
3.  A kind of item is a place theta and a width sigma on the scale: a vote is at most step j with
chance 1 / (1 + exp(-(tau_j - theta) / sigma)) (McCullagh 1980), the thresholds tau being those of
the shares of all votes.  Kinds lie on a grid; each is a Dirichlet of one of several strengths, and
how common each is, is fitted to the votes by marginal likelihood.  So the prior is a mixture of
Dirichlets, and its posterior, intervals and updates are those of every other pool.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit, logsumexp

from softlabel.aggregate.split.base import PosteriorPool
from softlabel.aggregate.split.mixtures import (
    Prior,
    Rows,
    distinct,
    fit_by_class,
    sample_items,
)
from softlabel.tables import Floats, Index

# The grid and how common each of its values is on seven public sets of ratings (docs/pools/
# ordinal.md): chosen on six of them at a time, it is the same but for a few percent.
PLACES, PLACE_SPREAD = np.linspace(-4.0, 4.0, 21), 1.2
WIDTHS = {0.15: 0.07, 0.3: 0.2, 0.6: 0.57, 1.2: 0.16}
STRENGTHS = {1.0: 0.03, 3.0: 0.05, 10.0: 0.08, 30.0: 0.16, 100.0: 0.68}
ANYWHERE = 0.1  # of each kind: votes that have nothing to do with the place
USUAL_ITEMS = 3.0  # that the usual shares of kinds are worth beside the items seen
FIT_ITEMS = 5_000  # a few hundred weights need no more
STEPS = 200  # of EM
RARE = 1e-9  # a kind less common than this is left out


@dataclass(frozen=True)
class Ordinal(PosteriorPool):
    """q_j = sum_c r_c (alpha_cj + n_j) / (A_c + m), as ``dirichlet-mixture``, with kinds of items
    that are places and widths on a scale beside those of the Dirichlet mixture.

    How much each of the two counts is fitted by marginal likelihood too: where people do not answer
    by the order of the classes, it is the Dirichlet mixture.  With one vote per item the usual
    kinds are taken.  The classes must be in their order.  Soft annotations are evidence worth
    ``weight`` votes.
    """

    weight: float | None = None

    name: ClassVar[str] = "ordinal"
    paper: ClassVar[str] = "McCullagh 1980; this package"
    ordinal: ClassVar[bool] = True
    limits: ClassVar = {"weight": (0, math.inf)}

    def fit(self, index: Index, evidence: Floats) -> Prior:
        """Return the prior of these items, fitted to their evidence (m, k)."""
        some = sample_items(index.items, FIT_ITEMS)
        rows, _ = distinct(evidence[some][evidence[some].sum(axis=1) > 0])
        if not len(rows) or len(index.labels) < 3:  # two classes have no order
            return fit_by_class(index, evidence, None, 50)
        share = rows.times @ rows.n + 0.5
        share /= share.sum()
        usual = _usual_weights()
        if rows.n.sum(axis=1).max() <= 1 + 1e-9:  # nothing tells how far people differ
            alpha = _make_kinds(_match_thresholds(share, usual), share)
            return Prior(index.labels, alpha, usual, "the usual kinds of ratings")
        alpha = _make_kinds(logit(np.cumsum(share)[:-1]), share)
        weight = _fit_weights(rows, alpha, usual)
        kept = weight > RARE
        scale = Prior(index.labels, alpha[kept], weight[kept] / weight[kept].sum())
        return _join(rows, scale, fit_by_class(index, evidence, None, 50))


def _grid() -> tuple[Floats, Floats, Floats]:
    """(C,) the place, the width and the strength of each kind."""
    axes = np.meshgrid(PLACES, list(WIDTHS), list(STRENGTHS), indexing="ij")
    place, width, strength = (axis.ravel() for axis in axes)
    return place, width, strength


def _usual_weights() -> Floats:
    """(C,) how common each kind is where nothing is known yet."""
    place = np.exp(-((PLACES / PLACE_SPREAD) ** 2) / 2)
    usual = np.einsum("p,w,s->pws", place, list(WIDTHS.values()), list(STRENGTHS.values())).ravel()
    return np.asarray(usual / usual.sum())


def _make_kinds(threshold: Floats, share: Floats) -> Floats:
    """(C, k) a Dirichlet for each place, width and strength."""
    place, width, strength = _grid()
    below = expit((threshold - place[:, None]) / width[:, None])
    steps = np.diff(below, axis=1, prepend=0.0, append=1.0)
    return np.asarray(strength[:, None] * ((1 - ANYWHERE) * steps + ANYWHERE * share))


def _match_thresholds(share: Floats, weight: Floats) -> Floats:
    """(k - 1,) thresholds at which all kinds together give each class its share; by bisection."""
    place, width, _ = _grid()
    wanted = np.cumsum(share)[:-1]
    low, high = np.full(len(wanted), -40.0), np.full(len(wanted), 40.0)
    for _ in range(60):
        middle = (low + high) / 2
        above = weight @ expit((middle - place[:, None]) / width[:, None]) > wanted
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray((low + high) / 2)


def _fit_weights(rows: Rows, alpha: Floats, usual: Floats) -> Floats:
    """(C,) how common each kind is: EM, with the usual weights as a few items more."""
    joint = rows.groups.log_joint(alpha, np.zeros(len(alpha)))
    chance = np.exp(joint - joint.max(axis=1, keepdims=True))
    items, weight = rows.times.sum(), usual
    for _ in range(STEPS):
        seen = rows.times / (chance @ weight)
        weight = (weight * (seen @ chance) + USUAL_ITEMS * usual) / (items + USUAL_ITEMS)
    return weight


def _join(rows: Rows, scale: Prior, nominal: Prior) -> Prior:
    """Return both priors as one, with shares by marginal likelihood."""
    parts = (nominal, scale)
    joint = np.stack(
        [logsumexp(rows.groups.log_joint(p.alpha, p.log_weight), axis=1) for p in parts], axis=1
    )
    chance = np.exp(joint - joint.max(axis=1, keepdims=True))
    share, items = np.full(2, 0.5), rows.times.sum()
    for _ in range(STEPS):
        share = share * ((rows.times / (chance @ share)) @ chance) / items
    weight = np.concatenate([s * part.weight for s, part in zip(share, parts, strict=True)])
    kept = weight > RARE
    alpha = np.concatenate([part.alpha for part in parts])[kept]
    made_by = (
        f"{share[1]:.0%} of items by their place on the scale, the others by {nominal.made_by}"
    )
    return Prior(scale.labels, alpha, weight[kept] / weight[kept].sum(), made_by)

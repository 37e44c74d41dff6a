"""What Gheibi & Ghazizadeh 2026 say that needs no training: the identity behind the paper, shown on
the votes themselves, and what its p-values can show.

Single votes and shares have the same expected loss and gradient.  For any prediction q and shares
p, with y drawn from p: E[-log q_y] = H(p, q), E[q - e_y] = q - p, and the gradient's extra variance
is 1 - |p|^2.  Over a round of ``multipass`` the first two hold exactly, for ``sls`` on average;
both are shown at predictions that are fixed and arbitrary.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import log_softmax
from scipy.stats import rankdata

from softlabel import metrics
from softlabel.deliver import SLS, Deliver, Draws, Multipass, TrainingLabels
from softlabel.metrics import intervals
from softlabel.papers.claims import Claim, Kind, Results
from softlabel.papers.gheibi2026 import numbers
from softlabel.papers.gheibi2026.conditions import cifar10h_teaching
from softlabel.papers.gheibi2026.numbers import PUBLISHED, SWEEP, secondhand
from softlabel.tables import Floats, Score

EPOCHS = 300  # of the Monte Carlo
PRINTED = np.array([p for row in numbers.P_VALUES.values() for p in row.values()])  # p-values


def facts() -> list[Claim]:
    """Return the identity, its variance, and the limits of twelve tests over five seeds."""
    gains = np.arange(1.0, 6)  # five differences of the same sign
    a_round, draws = "over a round of multipass the mean", "over 300 epochs of draws"
    loss = f"{a_round} loss is the soft loss, item by item (largest gap)"
    gradient = f"{a_round} gradient is the soft one (largest gap)"
    noise = f"mean square of SLS's gradient noise minus 1 - |p|^2, {draws}"
    zeros: list[tuple[str, str, Callable[[TrainingLabels], Score], Kind, float]] = [
        ("round-loss", loss, round_loss, "exact", 1e-9),
        ("round-gradient", gradient, round_gradient, "exact", 1e-12),
        ("drawn-loss", f"mean loss of SLS minus the soft loss, {draws}", drawn_loss, "value", 0.0),
        ("drawn-variance", noise, drawn_variance, "value", 0.0),
    ]
    claims = [
        Claim(id, "proposition 1", says, kind, partial(_on_votes, of), secondhand(0), tolerance)
        for id, says, of, kind, tolerance in zeros
    ]
    says = (
        "the gradient's variance correlates with people's entropy (Spearman over items); ours "
        "is at the logits, 1 - |p|^2; how theirs was measured on a network is not known"
    )
    id, ours = "variance-entropy", partial(_on_votes, variance_and_entropy)
    known = secondhand(PUBLISHED[id])
    claims.append(Claim(id, "gradient variance", says, "value", ours, known))
    says = "smallest one-sided p of Wilcoxon's test with five pairs; printed in 9 of 12 cells"
    smallest = _without_interval(intervals.paired_wilcoxon(-gains, 0 * gains, "less"), 5)
    known = replace(secondhand(0.031), derived=True)
    claims.append(Claim("smallest-p", SWEEP, says, "exact", lambda _: smallest, known, 0.0005))
    says = "of the 12 printed p-values 9 are below .05; after Holm's correction none is"
    none = replace(secondhand(0), derived=True)
    count = _without_interval(numbers.count_significant(PRINTED), len(PRINTED))
    claims.append(Claim("holm", SWEEP, says, "exact", lambda _: count, none))
    return claims


def _on_votes(measure: Callable[[TrainingLabels], Score], results: Results) -> Score:
    return measure(cifar10h_teaching())


def _without_interval(value: float, n: int) -> Score:
    return Score(float(value), float(value), float(value), n)


# ── the identity ─────────────────────────────────────────────────────────────────────────────


def round_loss(known: TrainingLabels, policy: Deliver | None = None, seed: int = 0) -> Score:
    """Return the largest difference, over items, between the mean loss of a round of single votes
    and the loss of the shares.  A round has as many epochs as the item has votes."""
    log_q = _predictions(known, seed)
    size = _votes_per_item(known)
    loss = np.zeros(len(known))
    for epoch, labels in _epochs(policy or Multipass(), known, int(size.max()), seed):
        loss += np.where(epoch < size, -(labels * log_q).sum(axis=1), 0)
    gap = np.abs(loss / size + (known.pooled * log_q).sum(axis=1))
    return _without_interval(gap.max(), len(known))


def round_gradient(known: TrainingLabels, seed: int = 0) -> Score:
    """Return the largest entry, over items and classes, of the mean of e_y over a round minus p;
    the gradients q - e_y and q - p differ by as much, whatever q."""
    size = _votes_per_item(known)
    total = np.zeros_like(known.pooled)
    for epoch, labels in _epochs(Multipass(), known, int(size.max()), seed):
        total += np.where((epoch < size)[:, None], labels, 0)
    return _without_interval(np.abs(total / size[:, None] - known.pooled).max(), len(known))


def drawn_loss(known: TrainingLabels, seed: int = 0, epochs: int = EPOCHS) -> Score:
    """Return the mean loss of drawn votes minus that of the shares, with its interval."""
    log_q = _predictions(known, seed)
    soft = -(known.pooled * log_q).sum(axis=1).mean()
    draws = _epochs(SLS(), known, epochs, seed)
    single = [-(labels * log_q).sum(axis=1).mean() for _, labels in draws]
    return intervals.over_seeds(np.array(single) - soft)


def drawn_variance(known: TrainingLabels, seed: int = 0, epochs: int = EPOCHS) -> Score:
    """Return the mean square of the gradient's noise e_y - p minus the mean of 1 - |p|^2."""
    draws = _epochs(SLS(), known, epochs, seed)
    noise = [((labels - known.pooled) ** 2).sum(axis=1).mean() for _, labels in draws]
    return intervals.over_seeds(np.array(noise) - extra_variance(known.pooled).mean())


def extra_variance(shares: Floats) -> Floats:
    """Return (m,) 1 - |p|^2.

    >>> extra_variance(np.array([[0.7, 0.2, 0.1]])).round(6)
    array([0.46])
    """
    return np.asarray(1 - (shares**2).sum(axis=1))


def variance_and_entropy(known: TrainingLabels) -> Score:
    """Return Spearman's correlation over items of the extra variance with the entropy."""
    ranks = (rankdata(of(known.pooled)) for of in (extra_variance, metrics.entropy))
    return _without_interval(metrics.correlation(*ranks), len(known))


def _predictions(known: TrainingLabels, seed: int) -> Floats:
    """Return (m, k) logarithms of arbitrary predictions."""
    logits = np.random.default_rng(seed).normal(0, 2, known.pooled.shape)
    return np.asarray(log_softmax(logits, axis=1))


def _epochs(
    policy: Deliver, known: TrainingLabels, epochs: int, seed: int
) -> Iterator[tuple[int, Floats]]:
    """Yield the labels (m, k) of every epoch."""
    rng, rows = Draws(seed), np.arange(len(known))
    delivery = policy(known, rng)
    return ((epoch, delivery.labels_for(epoch, rows, rng)) for epoch in range(epochs))


def _votes_per_item(known: TrainingLabels) -> Floats:
    assert known.each is not None, "the lesson is made of votes"
    return known.each.votes_per_item().astype(np.float64)

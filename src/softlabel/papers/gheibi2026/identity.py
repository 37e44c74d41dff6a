"""One target, many deliveries: single votes and shares have the same expected loss and gradient.

For any prediction q and shares p, with y drawn from p: E[-log q_y] = H(p, q), E[q - e_y] = q - p,
and the gradient's extra variance is 1 - |p|^2.  Over a round of ``multipass`` the first two hold
exactly, for ``sls`` on average; both are shown on the votes themselves, at predictions that are
fixed and arbitrary.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import log_softmax
from scipy.stats import rankdata

from softlabel import metrics
from softlabel.deliver import SLS, Deliver, Draws, Multipass, Teaching
from softlabel.metrics import intervals
from softlabel.tables import Floats, Score

EPOCHS = 300  # of the Monte Carlo


def round_loss(known: Teaching, policy: Deliver | None = None, seed: int = 0) -> Score:
    """The largest difference, over items, between the mean loss of a round of single votes and the
    loss of the shares.  A round has as many epochs as the item has votes."""
    log_q = _predictions(known, seed)
    size = _votes(known)
    loss = np.zeros(len(known))
    for epoch, labels in _epochs(policy or Multipass(), known, int(size.max()), seed):
        loss += np.where(epoch < size, -(labels * log_q).sum(axis=1), 0)
    return _plain(np.abs(loss / size + (known.pooled * log_q).sum(axis=1)).max(), len(known))


def round_gradient(known: Teaching, seed: int = 0) -> Score:
    """The largest entry, over items and classes, of the mean of e_y over a round minus p; the
    gradients q - e_y and q - p differ by as much, whatever q."""
    size = _votes(known)
    total = np.zeros_like(known.pooled)
    for epoch, labels in _epochs(Multipass(), known, int(size.max()), seed):
        total += np.where((epoch < size)[:, None], labels, 0)
    return _plain(np.abs(total / size[:, None] - known.pooled).max(), len(known))


def drawn_loss(known: Teaching, seed: int = 0, epochs: int = EPOCHS) -> Score:
    """Mean loss of drawn votes minus the loss of the shares, with its interval over epochs."""
    log_q = _predictions(known, seed)
    soft = -(known.pooled * log_q).sum(axis=1).mean()
    single = [-(labels * log_q).sum(axis=1).mean() for _, labels in _sls(known, epochs, seed)]
    return intervals.over_seeds(np.array(single) - soft)


def drawn_variance(known: Teaching, seed: int = 0, epochs: int = EPOCHS) -> Score:
    """Mean squared length of the gradient's noise e_y - p minus the mean of 1 - |p|^2, with its
    interval over epochs."""
    noise = [
        ((labels - known.pooled) ** 2).sum(axis=1).mean() for _, labels in _sls(known, epochs, seed)
    ]
    return intervals.over_seeds(np.array(noise) - extra_variance(known.pooled).mean())


def extra_variance(shares: Floats) -> Floats:
    """(m,) 1 - |p|^2.

    >>> extra_variance(np.array([[0.7, 0.2, 0.1]])).round(6)
    array([0.46])
    """
    return np.asarray(1 - (shares**2).sum(axis=1))


def variance_and_entropy(shares: Floats) -> Score:
    """Spearman's correlation over items of the extra variance with the entropy."""
    both = (rankdata(of(shares)) for of in (extra_variance, metrics.entropy))
    return _plain(metrics.correlation(*both), len(shares))


def _predictions(known: Teaching, seed: int) -> Floats:
    """(m, k) logarithms of arbitrary predictions."""
    logits = np.random.default_rng(seed).normal(0, 2, known.pooled.shape)
    return np.asarray(log_softmax(logits, axis=1))


def _sls(known: Teaching, epochs: int, seed: int) -> Iterator[tuple[int, Floats]]:
    return _epochs(SLS(), known, epochs, seed)


def _epochs(
    policy: Deliver, known: Teaching, epochs: int, seed: int
) -> Iterator[tuple[int, Floats]]:
    rng, rows = Draws(seed), np.arange(len(known))
    delivery = policy(known, rng)
    return ((epoch, delivery.labels_for(epoch, rows, rng)) for epoch in range(epochs))


def _votes(known: Teaching) -> Floats:
    assert known.each is not None, "the lesson is made of votes"
    return known.each.votes_per_item().astype(np.float64)


def _plain(value: float, n: int) -> Score:
    return Score(float(value), float(value), float(value), n)

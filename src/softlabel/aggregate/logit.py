"""Conditional logit: a label as the softmax of weighted features, fitted by Newton's method."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from softlabel.tables import Floats

RIDGE = 1e-4
STEPS = 100
NEAR = 1e-7


def predicted(features: Floats, weight: Floats) -> Floats:
    """(l, k) q_k proportional to exp(b . f_k), for features (l, k, f)."""
    score = features @ weight
    return np.asarray(np.exp(score - logsumexp(score, axis=1, keepdims=True)))


def fit(features: Floats, target: Floats, times: Floats, start: Floats) -> Floats:
    """(f,) the weights b with the least mean cross-entropy to ``target`` (l, k), each row counting
    ``times`` (l,), plus 1e-4 |b|^2.  The objective is convex: there is one answer."""
    share = times / times.sum()
    weight = np.array(start, dtype=np.float64)
    value = _objective(features, target, share, weight)
    for _ in range(STEPS):
        step = _newton(features, target, share, weight)
        if abs(step).max() < NEAR:  # what is left after it is of the order of its square
            return weight - step
        scale, tried = 1.0, weight - step
        while (found := _objective(features, target, share, tried)) > value and scale > NEAR:
            scale /= 2
            tried = weight - scale * step
        weight, value = tried, found
    return weight


def _objective(features: Floats, target: Floats, share: Floats, weight: Floats) -> float:
    score = features @ weight
    loss = logsumexp(score, axis=1) - (target * score).sum(axis=1)
    return float(share @ loss + RIDGE * weight @ weight)


def _newton(features: Floats, target: Floats, share: Floats, weight: Floats) -> Floats:
    """The inverse Hessian times the gradient."""
    q = predicted(features, weight)
    mean = np.einsum("lk,lkf->lf", q, features)
    centred = features - mean[:, None, :]
    gradient = np.einsum("l,lk,lkf->f", share, q - target, features) + 2 * RIDGE * weight
    heavy = (share[:, None] * q)[:, :, None] * centred
    size = len(weight)
    hessian = heavy.reshape(-1, size).T @ centred.reshape(-1, size) + 2 * RIDGE * np.eye(size)
    return np.asarray(np.linalg.solve(hessian, gradient))

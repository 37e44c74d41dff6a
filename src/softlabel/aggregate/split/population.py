"""How all items split over the classes, from votes on some of them and predictions for all.

The predictions carry what votes are missing, and the votes correct the predictions, so that the
estimate is unbiased however wrong the models are (Angelopoulos et al. 2023, "Prediction-powered
inference"), as long as the chance of each item to be asked about is known:

    theta = mean_i(lambda P_i) + sum_i w_i (y_i - lambda P_i),  w_i in proportion to 1 / chance_i,

y_i being the shares of the votes of an item.  lambda is the one with the smallest variance
(Angelopoulos, Duchi & Zrnic 2023, "PPI++"): useless predictions get 0, which leaves the votes.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from softlabel.errors import DataError
from softlabel.tables import Floats, Score


def estimate_population(
    votes: Floats,
    predicted: Floats,
    chance: Floats | None = None,
    level: float = 0.9,
    weight: float | None = None,
) -> list[Score]:
    """Return the share of each class among all items, with its interval.

    ``votes`` (m, k) are counts, rows of 0 where nobody was asked; ``predicted`` (m, k) must not
    have been fitted to the votes of the same item.  ``chance`` (m,) is the probability with which
    each item was asked about (None: the same for all).  ``weight`` fixes lambda.
    """
    total = votes.sum(axis=1)
    asked = total > 0
    if asked.sum() < 2:
        raise DataError(f"{int(asked.sum())} items have votes: a population needs at least 2")
    known = np.ones(len(votes)) if chance is None else np.asarray(chance, dtype=np.float64)
    if known.shape != total.shape or not ((known[asked] > 0) & (known[asked] <= 1)).all():
        raise DataError(f"chance must hold {len(total)} probabilities, above 0 where asked")
    inverse = np.where(asked, 1 / np.where(asked, known, 1), 0)
    inverse *= len(votes) / inverse.sum()  # so that the weights of all who were asked sum to m
    share = votes / np.where(asked, total, 1)[:, None]
    found = []
    for one in range(votes.shape[1]):
        y, p = share[:, one], predicted[:, one]
        best = _tune(y, p, inverse) if weight is None else weight
        value = float((best * p + inverse * (y - best * p)).mean())
        # the weights were scaled by their own sum: what that takes off is seen at the residuals
        residual = y - best * p
        centre = float((inverse * residual).mean())
        each = best * p + inverse * (residual - centre)
        error = float(each.std(ddof=1) / len(each) ** 0.5)
        reach = float(ndtri((1 + level) / 2)) * error
        low, high = max(value - reach, 0.0), min(value + reach, 1.0)
        found.append(Score(min(max(value, 0.0), 1.0), min(low, high), max(low, high), len(votes)))
    return found


def _tune(y: Floats, p: Floats, inverse: Floats) -> float:
    """Return the weight of the predictions with the smallest variance, from 0 to 1.

    The terms of an item are lambda (P - w P) + w y: linear in lambda, so the best one is minus the
    regression of w y on P - w P; both are centred where the weights were scaled.
    """
    centred = p - (inverse * p).mean()
    slope = p - p.mean() - inverse * centred
    rest = inverse * (y - (inverse * y).mean())
    spread = float(slope @ slope)
    if spread < 1e-12 * len(y):
        return 0.0  # all were asked: predictions cannot add anything
    return float(np.clip(-(slope @ rest) / spread, 0, 1))

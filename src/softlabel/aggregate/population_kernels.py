"""Dirichlet posteriors of many people's confusion rows: the kernels.

``counts[annotator, said, true]`` are expected votes and ``alpha[said, true]`` the prior of a row,
the same for everybody.  Digamma and log-gamma are written out here because they share their
logarithm, and because the exponential of a digamma needs none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from softlabel.aggregate.compiling import kernel
from softlabel.aggregate.kernels import row_of

FAR = 6.0  # from here on the series below are right to 12 digits
NOTHING = 1e-13  # votes; fewer change no sum
HALF_LOG_TWO_PI = 0.9189385332046727
SMALLEST, LARGEST = 1e-200, 1e200  # a product outside is about to leave the floating-point range


@kernel
def near_terms(x: float) -> Any:
    """For x below FAR: (x + 6, product of x, ..., x + 5, sum of 1 / x, ..., 1 / (x + 5))."""
    u = x * (x + 5.0)
    v, w = u + 4.0, u + 6.0
    product = u * v * w
    return x + 6.0, product, (2.0 * x + 5.0) * (v * w + u * w + u * v) / product


@kernel
def below_log(y: float) -> Any:
    """log(y) - digamma(y) for y from FAR on."""
    z = 1.0 / (y * y)
    series = 1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12)))
    return 0.5 / y + z * (1 / 12 - z * (1 / 120 - z * series))


@kernel
def psi(x: float) -> Any:
    """Digamma, for x above 0."""
    if x >= FAR:
        return np.log(x) - below_log(x)
    y, _, near = near_terms(x)
    return np.log(y) - below_log(y) - near


@kernel
def stirling(y: float, log_y: float) -> Any:
    """Log-gamma for y from FAR on."""
    z = 1.0 / (y * y)
    series = 1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * (691 / 360360 - z / 156)))
    return (y - 0.5) * log_y - y + HALF_LOG_TWO_PI + (1 / 12 - z * (1 / 360 - z * series)) / y


@kernel
def lift(counts: Any, alpha: Any, up: Any, down: Any) -> None:
    """Add the sums of Minka's fixed point over these people: ``up[said, true]`` of
    psi(count + alpha) - psi(alpha), ``down[true]`` of the same of a row's total."""
    people, k, _ = counts.shape
    base, mass, total = np.empty((k, k)), np.zeros(k), np.empty(k)
    for said in range(k):
        for true in range(k):
            base[said, true] = psi(alpha[said, true])
            mass[true] += alpha[said, true]
    for who in range(people):
        for true in range(k):
            total[true] = 0.0
        for said in range(k):
            for true in range(k):
                count = counts[who, said, true]
                if count > NOTHING:
                    total[true] += count
                    up[said, true] += psi(count + alpha[said, true]) - base[said, true]
        for true in range(k):
            if total[true] > NOTHING:
                down[true] += psi(total[true] + mass[true]) - psi(mass[true])


@kernel
def believe(counts: Any, alpha: Any, chances: Any) -> Any:
    """Write exp of the expected logarithms of all rows to ``chances``, and add alpha to the counts.

    Returns the divergence of these people's posteriors from the prior: the sum over rows of
    log-gamma(total) - log-gamma(entries) + count * expected logarithm, less the same of alpha.
    """
    people, k, _ = counts.shape
    mass, bare, log_gamma = np.zeros(k), np.empty((k, k)), np.empty((k, k))
    for said in range(k):
        for true in range(k):
            mass[true] += alpha[said, true]
            bare[said, true] = np.exp(psi(alpha[said, true]))
            log_gamma[said, true] = math.lgamma(alpha[said, true])
    away = 0.0
    for true in range(k):
        away -= people * math.lgamma(mass[true])
    above, total = np.empty(k), np.empty(k)
    for who in range(people):
        away += totals(counts[who], mass, above, total)
        away += entries(counts[who], (alpha, bare, log_gamma), (above, total), chances[who])
    return away


@kernel
def totals(counts: Any, mass: Any, above: Any, total: Any) -> Any:
    """psi of the rows' totals, to ``above``, and exp(-psi), to ``total``; the log-gamma of all."""
    k = mass.size
    for true in range(k):
        total[true] = mass[true]
    for said in range(k):
        for true in range(k):
            total[true] += counts[said, true]
    logs = 0.0
    for true in range(k):
        logs += math.lgamma(total[true])
        above[true] = psi(total[true])
        total[true] = np.exp(-above[true])
    return logs


@kernel
def entries(counts: Any, prior: Any, rows: Any, chances: Any) -> Any:
    """Chances of one person, and what the entries add to the divergence."""
    alpha, bare, log_gamma = prior
    above, total = rows
    away, product = 0.0, 1.0  # of the factors by which small arguments are moved up
    for said in range(above.size):
        for true in range(above.size):
            count = counts[said, true]
            x, below = count + alpha[said, true], 0.0
            counts[said, true] = x
            if count <= NOTHING:  # most cells of most people
                chances[said, true] = bare[said, true] * total[true]
                continue
            if x < FAR:
                x, near, below = near_terms(x)
                product *= near
                if not SMALLEST < product < LARGEST:
                    away += np.log(product)
                    product = 1.0
            log_x, below = np.log(x), below + below_log(x)
            chances[said, true] = x * np.exp(-below) * total[true]
            away += log_gamma[said, true] - stirling(x, log_x)
            away += count * (log_x - below - above[true])
    return away + np.log(product)


@kernel
def doubt(votes: Any, rows: Any, spread: Any) -> None:
    """Add belief * (1 - belief) of every vote's item to the flat (annotator, said, true) table."""
    start, annotator, label, weight, _ = votes
    k = rows.shape[1]
    for item in range(start.size - 1):
        for vote in range(start[item], start[item + 1]):
            at = row_of(annotator[vote], label[vote], np.uint64(k))
            part = weight[vote] * weight[vote] if weight.size else 1.0
            for j in range(k):
                spread[at + np.uint64(j)] += part * rows[item, j] * (1.0 - rows[item, j])

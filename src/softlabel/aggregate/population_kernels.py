"""Dirichlet posteriors of many people's confusion rows: the kernels.

``counts[annotator, said, true]`` are expected votes and ``alpha[said, true]`` the prior of a row,
the same for everybody.  Digamma and log-gamma are written out here because they share their
logarithm, and because the exponential of a digamma needs none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softlabel.aggregate.compiling import kernel

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

    Returns the sum over these people of log-gamma(row's total) - log-gamma(its entries) + count *
    expected logarithm: the divergence of the posteriors from the prior, but for what alpha alone
    decides.
    """
    people, k, _ = counts.shape
    rate, total, met, log_total = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    away = 0.0
    for who in range(people):
        for true in range(k):
            total[true] = met[true] = 0.0
        for said in range(k):
            for true in range(k):
                met[true] += counts[who, said, true]
                total[true] += counts[who, said, true] + alpha[said, true]
        for true in range(k):
            # the log-gamma of the total, and exp(-psi(total))
            x, log_product = total[true], 0.0
            below = 0.0
            if x < FAR:
                x, product, below = near_terms(x)
                log_product = np.log(product)
            log_total[true] = np.log(x)
            away += stirling(x, log_total[true]) - log_product
            rate[true] = below_log(x) + below  # log(x) - psi(total)
            total[true] = x
        product = 1.0
        for said in range(k):
            for true in range(k):
                count = counts[who, said, true]
                x, below = count + alpha[said, true], 0.0
                counts[who, said, true] = x
                if x < FAR:
                    x, near, below = near_terms(x)
                    product *= near
                    if not SMALLEST < product < LARGEST:
                        away += np.log(product)
                        product = 1.0
                log_x = np.log(x)
                expected = rate[true] - below_log(x) - below
                chances[who, said, true] = x / total[true] * np.exp(expected)
                away -= stirling(x, log_x)
                if count > NOTHING:
                    away += count * (log_x - log_total[true] + expected)
        away += np.log(product)
    return away

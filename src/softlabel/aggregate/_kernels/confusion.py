"""Compiled passes for methods with a confusion matrix per person: Dawid and Skene's family.

A table of chances has one row per (annotator, what they said), over the true classes: the row of
a vote is read as it lies, and a belief is a product of such rows.  Products of plain chances need
no logarithm per class; an item whose product gets too small is computed again with logarithms.
"""

import math
from typing import Any

import numpy as np

from softlabel.aggregate._kernels.votes import divide, kernel, vote_shares

SAFE = 1e-250  # a product above this has lost nothing that matters to numbers below 1e-308
NEVER = -1e9  # the logarithm of zero: finite, so that of impossible classes one is the least so
TIED = 1 - 1e-9  # of the largest chance; rounding must not decide between equals

# unsigned, because a signed index is asked at every access whether it counts from the end
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)

FAR = 6.0  # from here on the series for digamma and log-gamma are right to 12 digits
NOTHING = 1e-13  # votes; fewer change no sum
HALF_LOG_TWO_PI = 0.9189385332046727
SMALLEST, LARGEST = 1e-200, 1e200  # a product outside is about to leave the floating-point range


@kernel
def row_of(annotator: Any, label: Any, k: Any) -> Any:
    """Return where the row of a vote begins in the flat table."""
    return (np.uint64(annotator) * k + np.uint64(label)) * k


@kernel
def multiply(annotator: Any, label: Any, votes: Any, prior: Any, table: Any, belief: Any) -> Any:
    """Set belief[j] = prior[j] times table[row of vote, j] of votes low to high; return the sum.

    Four classes at a time stay in registers while all votes pass: one vector instruction each.
    """
    low, high = votes
    k = np.uint64(belief.size)
    total = 0.0
    j = np.uint64(0)
    while j + FOUR <= k:
        one, two, three, four = prior[j], prior[j + ONE], prior[j + TWO], prior[j + THREE]
        for vote in range(low, high):
            at = row_of(annotator[vote], label[vote], k) + j
            one *= table[at]
            two *= table[at + ONE]
            three *= table[at + TWO]
            four *= table[at + THREE]
        belief[j], belief[j + ONE], belief[j + TWO], belief[j + THREE] = one, two, three, four
        total += (one + two) + (three + four)
        j += FOUR
    while j < k:
        one = prior[j]
        for vote in range(low, high):
            one *= table[row_of(annotator[vote], label[vote], k) + j]
        belief[j] = one
        total += one
        j += ONE
    return total


@kernel
def collect(annotator: Any, label: Any, votes: Any, belief: Any, counts: Any, mass: Any) -> None:
    """Add belief[j] to counts[row of vote, j] for votes low to high, in the same way."""
    low, high = votes
    k = np.uint64(belief.size)
    for i in range(belief.size):
        mass[i] += belief[i]
    j = np.uint64(0)
    while j + FOUR <= k:
        one, two, three, four = belief[j], belief[j + ONE], belief[j + TWO], belief[j + THREE]
        for vote in range(low, high):
            at = row_of(annotator[vote], label[vote], k) + j
            # all are read before any is written, or they could not be one instruction
            a, b, c, d = counts[at], counts[at + ONE], counts[at + TWO], counts[at + THREE]
            counts[at], counts[at + ONE] = a + one, b + two
            counts[at + TWO], counts[at + THREE] = c + three, d + four
        j += FOUR
    while j < k:
        one = belief[j]
        for vote in range(low, high):
            counts[row_of(annotator[vote], label[vote], k) + j] += one
        j += ONE


@kernel
def collect_weighted(votes: Any, item: int, belief: Any, counts: Any, mass: Any) -> None:
    """Add weight * belief[j] to counts[row of vote, j] for the votes on an item."""
    k = np.uint64(belief.size)
    for i in range(belief.size):
        mass[i] += belief[i]
    for vote in range(votes.start[item], votes.start[item + 1]):
        at = row_of(votes.annotator[vote], votes.label[vote], k)
        for j in range(belief.size):
            counts[at + np.uint64(j)] += votes.weight[vote] * belief[j]


@kernel
def log_of(chance: Any) -> Any:
    return np.log(chance) if chance > 0 else NEVER


@kernel
def infer_gold(votes: Any, item: int, prior: Any, table: Any, belief: Any) -> Any:
    """Write the belief about an item of known class; return the log-likelihood of its votes."""
    k, true = np.uint64(belief.size), np.uint64(votes.gold[item])
    for j in range(belief.size):
        belief[j] = 1.0 if j == votes.gold[item] else 0.0
    total = log_of(prior[true])
    weighted = votes.weight.size > 0
    for vote in range(votes.start[item], votes.start[item + 1]):
        chance = table[row_of(votes.annotator[vote], votes.label[vote], k) + true]
        total += votes.weight[vote] * chance if weighted else log_of(chance)
    return total


@kernel
def infer_by_logarithms(votes: Any, item: int, prior: Any, table: Any, belief: Any) -> Any:
    """Write the belief about an item with any votes; return their log-likelihood."""
    if votes.gold.size > 0 and votes.gold[item] >= 0:
        return infer_gold(votes, item, prior, table, belief)
    k = np.uint64(belief.size)
    weighted = votes.weight.size > 0
    for j in range(belief.size):
        belief[j] = log_of(prior[j])
    for vote in range(votes.start[item], votes.start[item + 1]):
        at = row_of(votes.annotator[vote], votes.label[vote], k)
        for j in range(belief.size):
            chance = table[at + np.uint64(j)]
            belief[j] += votes.weight[vote] * chance if weighted else log_of(chance)
    top = belief[0]
    for j in range(1, belief.size):
        top = max(top, belief[j])
    total = 0.0
    for j in range(belief.size):
        belief[j] = np.exp(belief[j] - top)
        total += belief[j]
    return top + divide(belief, total)


@kernel
def harden(belief: Any) -> Any:
    """Give all belief to the likeliest class, or even parts to equals; return its log before."""
    top = belief[0]
    for j in range(1, belief.size):
        top = max(top, belief[j])
    equals = 0
    for j in range(belief.size):
        equals += belief[j] >= top * TIED
    for j in range(belief.size):
        belief[j] = (1.0 / equals) if belief[j] >= top * TIED else 0.0
    return np.log(top)


@kernel
def begin(votes: Any, hard: bool, counts: Any, mass: Any) -> None:
    """Add the statistics of vote shares to the flat table ``counts`` and to ``mass`` (k,)."""
    start, annotator, label, weight, _ = votes
    belief = np.empty(mass.size)
    for item in range(start.size - 1):
        low, high = start[item], start[item + 1]
        if low == high:
            continue
        vote_shares(votes, item, belief)
        if hard:
            harden(belief)
        if weight.size:
            collect_weighted(votes, item, belief, counts, mass)
        else:
            collect(annotator, label, (low, high), belief, counts, mass)


@kernel
def expect(
    votes: Any, prior: Any, table: Any, hard: bool, counts: Any, mass: Any, rows: Any
) -> Any:
    """Infer beliefs about all items that have votes; return the log-likelihood of the votes.

    ``table`` is flat: chances, or their logarithms where votes have weights.  Statistics are added
    to the flat ``counts`` and to ``mass``, beliefs are written to ``rows``, unless these are empty.
    """
    # taken apart once: a tuple handed on has the references to its arrays counted every time
    start, annotator, label, weight, gold = votes
    belief = np.empty(prior.size)
    loglik = 0.0
    for item in range(start.size - 1):
        low, high = start[item], start[item + 1]
        if low == high:
            continue
        total = 0.0
        if weight.size == 0 and (gold.size == 0 or gold[item] < 0):
            total = multiply(annotator, label, (low, high), prior, table, belief)
        if total > SAFE:
            loglik += divide(belief, total)
        else:
            loglik += infer_by_logarithms(votes, item, prior, table, belief)
        if hard:
            loglik += harden(belief)
        for j in range(rows.shape[1]):
            rows[item, j] = belief[j]
        if counts.size and weight.size:
            collect_weighted(votes, item, belief, counts, mass)
        elif counts.size:
            collect(annotator, label, (low, high), belief, counts, mass)
    return loglik


@kernel
def normalise(counts: Any, extra: Any) -> None:
    """Replace counts[annotator, label, true] by chances: with ``extra[label, true]`` added, what
    each annotator says of each true class sums to 1, or stays 0 where nothing is known."""
    people, k, _ = counts.shape
    total = np.empty(k)
    for who in range(people):
        for true in range(k):
            total[true] = 0.0
        for label in range(k):
            for true in range(k):
                counts[who, label, true] += extra[label, true]
                total[true] += counts[who, label, true]
        for true in range(k):
            total[true] = total[true] if total[true] > 0 else 1.0
        for label in range(k):
            for true in range(k):
                counts[who, label, true] /= total[true]


# ── Dirichlet posteriors of confusion rows ───────────────────────────────────────────────────
# ``counts[annotator, label, true]`` are expected votes and ``alpha[label, true]`` is the prior of a
# row, the same for everybody.  Digamma and log-gamma are written out because they share their
# logarithm, and because the exponential of a digamma needs none.


@kernel
def near_terms(x: float) -> Any:
    """Return (x + 6, product of x, ..., x + 5, sum of 1 / x, ..., 1 / (x + 5)) for x below FAR."""
    u = x * (x + 5.0)
    v, w = u + 4.0, u + 6.0
    product = u * v * w
    return x + 6.0, product, (2.0 * x + 5.0) * (v * w + u * w + u * v) / product


@kernel
def below_log(y: float) -> Any:
    """Return log(y) - digamma(y) for y from FAR on."""
    z = 1.0 / (y * y)
    series = 1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12)))
    return 0.5 / y + z * (1 / 12 - z * (1 / 120 - z * series))


@kernel
def psi(x: float) -> Any:
    """Return digamma(x) for x above 0."""
    if x >= FAR:
        return np.log(x) - below_log(x)
    y, _, near = near_terms(x)
    return np.log(y) - below_log(y) - near


@kernel
def stirling(y: float, log_y: float) -> Any:
    """Return log-gamma(y) for y from FAR on."""
    z = 1.0 / (y * y)
    series = 1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * (691 / 360360 - z / 156)))
    return (y - 0.5) * log_y - y + HALF_LOG_TWO_PI + (1 / 12 - z * (1 / 360 - z * series)) / y


@kernel
def add_fixed_point(counts: Any, alpha: Any, up: Any, down: Any) -> None:
    """Add the sums of Minka's fixed point over these people: ``up[label, true]`` of
    psi(count + alpha) - psi(alpha), ``down[true]`` of the same of a row's total."""
    people, k, _ = counts.shape
    base, mass, total = np.empty((k, k)), np.zeros(k), np.empty(k)
    for label in range(k):
        for true in range(k):
            base[label, true] = psi(alpha[label, true])
            mass[true] += alpha[label, true]
    for who in range(people):
        for true in range(k):
            total[true] = 0.0
        for label in range(k):
            for true in range(k):
                count = counts[who, label, true]
                if count > NOTHING:
                    total[true] += count
                    up[label, true] += psi(count + alpha[label, true]) - base[label, true]
        for true in range(k):
            if total[true] > NOTHING:
                down[true] += psi(total[true] + mass[true]) - psi(mass[true])


@kernel
def write_posteriors(counts: Any, alpha: Any, chances: Any) -> Any:
    """Write exp of the expected logarithms of all rows to ``chances``, and add alpha to the counts.

    Return the divergence of these people's posteriors from the prior: the sum over rows of
    log-gamma(total) - log-gamma(entries) + count * expected logarithm, less the same of alpha.
    """
    people, k, _ = counts.shape
    mass, bare, log_gamma = np.zeros(k), np.empty((k, k)), np.empty((k, k))
    for label in range(k):
        for true in range(k):
            mass[true] += alpha[label, true]
            bare[label, true] = np.exp(psi(alpha[label, true]))
            log_gamma[label, true] = math.lgamma(alpha[label, true])
    away = 0.0
    for true in range(k):
        away -= people * math.lgamma(mass[true])
    above, total = np.empty(k), np.empty(k)
    for who in range(people):
        away += write_totals(counts[who], mass, above, total)
        away += write_chances(counts[who], (alpha, bare, log_gamma), (above, total), chances[who])
    return away


@kernel
def write_totals(counts: Any, mass: Any, above: Any, total: Any) -> Any:
    """Write psi of rows' totals to ``above``, exp(-psi) to ``total``; return their log-gamma."""
    k = mass.size
    for true in range(k):
        total[true] = mass[true]
    for label in range(k):
        for true in range(k):
            total[true] += counts[label, true]
    logs = 0.0
    for true in range(k):
        logs += math.lgamma(total[true])
        above[true] = psi(total[true])
        total[true] = np.exp(-above[true])
    return logs


@kernel
def write_chances(counts: Any, prior: Any, rows: Any, chances: Any) -> Any:
    """Write one person's chances; return what the entries add to the divergence."""
    alpha, bare, log_gamma = prior
    above, total = rows
    away, product = 0.0, 1.0  # of the factors by which small arguments are moved up
    for label in range(above.size):
        for true in range(above.size):
            count = counts[label, true]
            x, below = count + alpha[label, true], 0.0
            counts[label, true] = x
            if count <= NOTHING:  # most cells of most people
                chances[label, true] = bare[label, true] * total[true]
                continue
            if x < FAR:
                x, near, below = near_terms(x)
                product *= near
                if not SMALLEST < product < LARGEST:
                    away += np.log(product)
                    product = 1.0
            log_x, below = np.log(x), below + below_log(x)
            chances[label, true] = x * np.exp(-below) * total[true]
            away += log_gamma[label, true] - stirling(x, log_x)
            away += count * (log_x - below - above[true])
    return away + np.log(product)


@kernel
def add_variance(votes: Any, rows: Any, spread: Any) -> None:
    """Add belief * (1 - belief) of every vote's item to the flat (annotator, label, true) table."""
    start, annotator, label, weight, _ = votes
    k = rows.shape[1]
    for item in range(start.size - 1):
        for vote in range(start[item], start[item + 1]):
            at = row_of(annotator[vote], label[vote], np.uint64(k))
            part = weight[vote] * weight[vote] if weight.size else 1.0
            for j in range(k):
                spread[at + np.uint64(j)] += part * rows[item, j] * (1.0 - rows[item, j])

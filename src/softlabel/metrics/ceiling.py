"""How well anybody could do: the noise ceiling that finite votes impose on entropy correlation.

People's entropy is known from n votes only.  A model that knew each item's true distribution p
would still not correlate perfectly with the entropies of n-vote shares s: it would reach

    ceiling = corr_i( H(p_i), H(s_i) ),   n_i s_i ~ Multinomial(n_i, p_i).

p is not known, and two estimates of the ceiling are offered.  The first one answers the same
question about every other metric (``ceilings``): what would p itself score against these votes?

``parametric``: the model of the items is p_i ~ Dirichlet(c_i g), g being the overall shares and
the concentration c_i, which differs between clear and disputed items, having any distribution on
a grid (fitted to the counts by maximum likelihood).  Then pairs (p, s) with the joint distribution
of truth and votes are made by drawing c_i and p_i from their posterior, which is
Dirichlet(c_i g + counts_i), and fresh votes from p_i; their correlation, averaged over draws, is
the ceiling.  (Taking the shares themselves for p would be too hopeful: they are spread wider than
the truth, and unanimous items would be free of noise.)

``split-half``: no model of the items.  The votes of each item are divided at random into halves,
whose entropies correlate by r.  If entropies of shares are a true score plus noise of variance
proportional to 1/n, the reliability of all n votes is 2r / (1 + r) (Spearman 1910, Brown 1910) and
the ceiling its square root.  The true score here is the *expected* entropy of n-vote shares, which
lies below H(p); with few votes the noise does not shrink like 1/n (5 votes: about .1 too low); and
items on which both halves are unanimous tie, which ranks take for reliability (up to .1 too high).

On simulated items with 50 votes both come within .02 of what the truth reaches (ranks by halves
excepted); with 5 votes within .03 where the model of the items is right and .13 where it is not.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import gammaln

from softlabel.errors import DataError
from softlabel.metrics.divergence import correlation, entropies
from softlabel.registry import check_choice
from softlabel.tables import Floats, Ints, Score, broken

Method = Literal["parametric", "split-half"]
Kind = Literal["pearson", "spearman"]
Rng = np.random.Generator

WHOLE = "counts must be whole numbers of votes; shares do not say how many there were"
CONCENTRATIONS = np.geomspace(0.01, 1000, 16)  # from all but one-hot items to all alike


def noise_ceiling(
    counts: Ints,
    kind: Kind = "pearson",
    method: Method = "parametric",
    *,
    draws: int = 100,
    seed: int = 0,
) -> Score:
    """The entropy correlation that the true distributions would reach against these votes.

    ``counts`` (m, k) are votes per item and class; items with too few votes to tell (none, or one
    for ``split-half``) are left out.  The limits hold 95 % of the draws: for ``parametric`` what
    chance alone does to a perfect model on m items, for ``split-half`` splits and resampled items.
    """
    check_choice("kind of correlation", kind, get_args(Kind))
    check_choice("method", method, get_args(Method))
    votes = _votes(counts, fewest=1 if method == "parametric" else 2)
    rng = np.random.default_rng(seed)
    if method == "parametric":
        prior = fitted_prior(votes)
        found = [_reached(votes, prior, kind, rng) for _ in range(draws)]
    else:
        found = [_split(votes, kind, rng) for _ in range(draws)]
    return _summarise(np.asarray(found), len(votes))


def fitted_prior(counts: Ints, n_iter: int = 500) -> tuple[Floats, Floats]:
    """The model of the items, fitted to their votes by EM: concentrations (s,) on a grid, and for
    each item (m, s) how probable each is."""
    votes = _votes(counts, fewest=1)
    share = votes.sum(axis=0) / votes.sum()
    used = share > 0
    total = CONCENTRATIONS
    a = total[:, None] * share[used]  # (s, k)
    fit = gammaln(total) - gammaln(votes.sum(axis=1)[:, None] + total)
    for column, each in zip(votes[:, used].T, a.T, strict=True):
        value, code = np.unique(column, return_inverse=True)
        fit += (gammaln(value[:, None] + each) - gammaln(each))[code]
    fit = np.exp(fit - fit.max(axis=1, keepdims=True))  # likelihoods, each item to its best
    weight = np.full(len(total), 1 / len(total))
    for _ in range(n_iter):
        belief = fit * weight
        belief /= belief.sum(axis=1, keepdims=True)
        weight = belief.mean(axis=0)
    return total, belief


def ceilings(
    counts: Ints,
    measures: Mapping[str, Callable[[Floats, Floats], Any]],
    *,
    draws: int = 40,
    seed: int = 0,
) -> dict[str, Score]:
    """What the true distributions would reach against these votes, for any metrics by name.

    The same draws as ``parametric``: ``measures[name](shares of the votes, truth)``, averaged over
    items and draws.  No model does better on average; limits hold 95 % of the draws.
    """
    votes = _votes(counts, fewest=1)
    if votes.sum(axis=1).max() < 2:
        raise DataError("no item has two votes, so that nothing tells how far people disagree")
    prior = fitted_prior(votes)
    rng = np.random.default_rng(seed)
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(draws):
        truth, shares = _imagine(votes, prior, rng)
        for name, measure in measures.items():
            found[name].append(float(np.mean(measure(shares, truth))))
    return {name: _summarise(np.asarray(values), len(votes)) for name, values in found.items()}


def _summarise(values: Floats, n: int) -> Score:
    """The mean of some draws, and limits that hold 95 % of them."""
    if np.isnan(values).any():  # entropies that do not vary have no correlation
        return Score(float("nan"), float("nan"), float("nan"), n)
    low, high = np.quantile(values, [0.025, 0.975])
    return Score(float(values.mean()), float(low), float(high), n)


def _reached(votes: Ints, prior: tuple[Floats, Floats], kind: Kind, rng: Rng) -> float:
    """The correlation of one possible truth with votes drawn from it."""
    truth, shares = _imagine(votes, prior, rng)
    return _correlation(truth, shares, kind)


def _imagine(votes: Ints, prior: tuple[Floats, Floats], rng: Rng) -> tuple[Floats, Floats]:
    """One possible truth behind these votes, and the shares of votes drawn from it."""
    total, belief = prior
    share = votes.sum(axis=0) / votes.sum()
    drawn = (belief.cumsum(axis=1) < rng.random((len(votes), 1))).sum(axis=1)
    concentration = total[np.minimum(drawn, len(total) - 1), None]
    weight = rng.standard_gamma(votes + concentration * share)  # a Dirichlet draw, to be scaled
    truth = weight / weight.sum(axis=1, keepdims=True)
    n = votes.sum(axis=1)
    again = rng.multinomial(n, truth)
    return truth, again / n[:, None]


def _split(votes: Ints, kind: Kind, rng: Rng) -> float:
    """The ceiling by one division of the votes of resampled items."""
    drawn = votes[rng.integers(0, len(votes), len(votes))]
    first = halved(drawn, rng)
    second = drawn - first
    one, two = (part / part.sum(axis=1, keepdims=True) for part in (first, second))
    r = _correlation(one, two, kind)
    if np.isnan(r):
        return r
    return float(np.sqrt(2 * r / (1 + r))) if r > 0 else 0.0  # halves without anything in common


def halved(votes: Ints, rng: Rng) -> Ints:
    """Half of each item's votes (rounded down), drawn without replacement."""
    left = votes.sum(axis=1)
    wanted = left // 2
    taken = np.zeros_like(votes)
    for column in range(votes.shape[1]):
        left = left - votes[:, column]
        taken[:, column] = rng.hypergeometric(votes[:, column], left, wanted)
        wanted = wanted - taken[:, column]
    return taken


def _correlation(first: Floats, second: Floats, kind: Kind) -> float:
    left, right = entropies(first), entropies(second)
    if kind == "spearman":
        from scipy.stats import rankdata

        left, right = rankdata(left), rankdata(right)
    return correlation(left, right)


def _votes(counts: Ints, fewest: int) -> Ints:
    array = np.asarray(counts)
    if array.ndim != 2:
        raise DataError(f"counts have shape (m, k); got {array.shape}")
    whole = np.isfinite(array) & (array >= 0) & (array == np.floor(array))
    broken("counts", ~whole.all(axis=1), WHOLE, array)
    votes: Ints = array.astype(np.int64)
    votes = votes[votes.sum(axis=1) >= fewest]
    if not len(votes):
        raise DataError(f"no item has {fewest} votes or more")
    return votes

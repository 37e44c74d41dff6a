"""A prior for confusion matrices that is learned from everybody's votes.

Row j of person a's matrix is drawn from Dirichlet(strength * population[j]), where ``population``
is the confusion matrix of the crowd as a whole.  Both are chosen to maximise the
Dirichlet-multinomial likelihood of the expected votes (empirical Bayes), by Minka's fixed point:

    t[j, l] = sum_a alpha_jl (psi(n_ajl + alpha_jl) - psi(alpha_jl)),  alpha = strength population
    population[j] <- (t[j] + SPREAD, and RIGHT at j) / its sum
    strength <- (sum t + D) / (sum_aj psi(n_aj + strength) - psi(strength) + D / A0)

Each update raises a lower bound of that likelihood plus the log of a weak prior: Gamma(1 + D,
D / A0) on the strength, and on the rows of the population a Dirichlet of a few imaginary votes,
most of them right.  Minka 2000,
"Estimating a Dirichlet distribution"; Paun et al. 2018, "Comparing Bayesian models of annotation".
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln

from softlabel._util.machine import cores
from softlabel.aggregate import confusion, warm
from softlabel.aggregate.confusion import skills
from softlabel.aggregate.em import Fitted, Sums
from softlabel.aggregate.results import NOTHING, TruthPosterior
from softlabel.errors import DataError
from softlabel.tables import Floats, Index, given_away

# The prior of the prior.  It decides where nobody has two votes on a class, and no more: from
# D = .1, A0 = 10 to D = 5, A0 = 4 and SPREAD = .01 to .5 the mean accuracy moves by .02 points.
D, A0, SPREAD = 1.0, 4.0, 0.1
RIGHT = 2.0  # imaginary right votes of the whole crowd: they keep a handful of votes in place
CELLS = 2**15  # of a confusion table, that a thread works on at a time


class Beliefs(NamedTuple):
    """Chances that votes meet: ``prior`` (k,) of the classes and ``table`` (a, said, true), both
    exp of expected logarithms.  They follow from Dirichlet concentrations of the classes' shares
    (``shares``, ``rows``), those before any vote (``expected``: classes (k,), ``alpha``: rows
    (said, true)), and ``away`` (1,) is how far all of them have moved, as a divergence."""

    prior: Floats
    table: npt.NDArray[Any]
    shares: Floats
    rows: npt.NDArray[Any]
    expected: Floats
    alpha: Floats
    away: Floats


@dataclass(frozen=True, eq=False)
class ConfusionPosterior(TruthPosterior):
    """``rests_on[a, j]``: on how many votes, in expectation, the row of ``confusion`` rests that
    says what a person says where j is true.  ``population[j, l]``: what the crowd as a whole says
    there, and ``strength``: how many votes of a person it weighs as much as."""

    rests_on: Floats = field(default_factory=lambda: NOTHING)
    population: Floats | None = None
    strength: float | None = None


def first_alpha(counts: npt.NDArray[Any]) -> Floats:
    """Where learning starts: everybody's votes together, at the strength of the prior."""
    return A0 * _mean_rows(counts.sum(axis=0, dtype=np.float64))


def better_alpha(counts: npt.NDArray[Any], alpha: Floats) -> Floats:
    """One step of the fixed point."""
    from softlabel.aggregate import population_kernels as kernels  # compiled: only poolers wait

    k = len(alpha)

    def lifted(block: slice) -> Sums:
        up, down = np.zeros((k, k)), np.zeros(k)
        kernels.lift(counts[block], alpha, up, down)
        return up, down

    up, down = np.zeros((k, k)), np.zeros(k)
    for one, other in _by_people(lifted, counts):
        up += one
        down += other
    up *= alpha
    strength = (up.sum() + D) / (down.sum() + D / A0)
    return np.asarray(strength * _mean_rows(up))


def _mean_rows(votes: Floats) -> Floats:
    """(said, true) what is said of each class, after a few imaginary votes."""
    votes = votes + _imaginary(len(votes))
    return np.asarray(votes / votes.sum(axis=0))


def _imaginary(k: int) -> Floats:
    """Of the whole crowd, for every class: what is expected of the population."""
    return SPREAD + RIGHT * np.eye(k)


def log_hyperprior(alpha: Floats) -> float:
    """Of a learned prior, but for a constant."""
    strength = alpha[:, 0].sum()
    rows = (_imaginary(len(alpha)) * np.log(alpha / strength)).sum()
    return float(D * np.log(strength) - D / A0 * strength + rows)


def believed(counts: npt.NDArray[Any], mass: Floats, alpha: Floats, expected: Floats) -> Beliefs:
    """Posteriors of rows and class shares, given their priors; uses up the counts."""
    from softlabel.aggregate import population_kernels as kernels

    table = np.empty_like(counts)

    def make(block: slice) -> float:
        return float(kernels.believe(counts[block], alpha, table[block]))

    away = sum(_by_people(make, counts))
    shares = mass + expected
    logs = digamma(shares) - digamma(shares.sum())
    away += float(gammaln(shares.sum()) - gammaln(shares).sum() + mass @ logs)
    away -= float(gammaln(expected.sum()) - gammaln(expected).sum())
    return Beliefs(np.exp(logs), table, shares, counts, expected, alpha, np.array([away]))


def _by_people(function: Callable[[slice], Any], counts: npt.NDArray[Any]) -> list[Any]:
    """Of blocks of people, in their order; blocks are the same however many threads there are."""
    people, k, _ = counts.shape
    size = max(1, CELLS // (k * k))
    blocks = [slice(first, first + size) for first in range(0, people, size)]
    if len(blocks) < 2 or cores() < 2:
        return [function(block) for block in blocks]
    with ThreadPoolExecutor(min(cores(), len(blocks))) as threads:
        return list(threads.map(function, blocks))


# ── a model whose prior is learned ───────────────────────────────────────────────────────────


def learn(sums: Sums, before: Beliefs | None, anchor: float) -> Beliefs:
    """The M-step: a better prior, and then everybody's posteriors.

    At the first step, with nothing before, ``mass`` holds vote shares: as many imaginary items of
    each class as there were votes for it, times ``anchor``, are expected from then on.
    """
    _, counts, mass = sums
    alpha = first_alpha(counts) if before is None else before.alpha
    expected = 1 + anchor * mass if before is None else before.expected
    return believed(counts, mass, better_alpha(counts, alpha), expected)


def resume(sums: Sums, start: TruthPosterior, index: Index, anchor: float) -> Beliefs:
    """The counts behind the earlier means, of new people those of vote shares; and the earlier
    population."""
    if not isinstance(start, ConfusionPosterior) or start.population is None:
        raise DataError("the result to start from does not say what it learned of the population")
    assert start.strength is not None, "it comes with the population"
    order = warm.classes(start, index)
    alpha = np.asarray(start.strength * start.population[order][:, order].T)
    expected = 1 + anchor * sums[2]
    return believed(*counts_behind(sums, start, index, alpha, expected), alpha, expected)


def counts_behind(
    sums: Sums, start: ConfusionPosterior, index: Index, alpha: Floats, expected: Floats
) -> tuple[npt.NDArray[Any], Floats]:
    """Expected votes and items that give the earlier means under these priors."""
    _, counts, mass = sums
    here, there = warm.people(start, index)
    begun = confusion.Confusions(mass, np.zeros_like(counts))
    prior, means = confusion.resumed(begun, start, index)
    votes = start.rests_on[there][:, warm.classes(start, index)] + alpha.sum(axis=0)
    counts[here] = np.maximum(means[here] * votes[:, None, :] - alpha, 0)
    return counts, np.maximum(prior * (mass.sum() + expected.sum()) - expected, 0)


def described(fitted: Fitted) -> dict[str, Any]:
    """Means of the posteriors, and the prior."""
    found: Beliefs = fitted.parameters
    rows = np.array(found.rows.transpose(0, 2, 1), dtype=np.float64, order="C")
    total = rows.sum(axis=2, keepdims=True)
    mean, prior = np.divide(rows, total, out=rows), found.shares / found.shares.sum()
    before = found.alpha.sum(axis=0)
    return {
        "confusion": given_away(mean),
        "prior": given_away(prior),
        "skill": given_away(skills(mean, prior, fitted.asked)),
        "rests_on": given_away(np.maximum(total[:, :, 0] - before, 0)),
        "population": given_away(np.ascontiguousarray((found.alpha / before).T)),
        "strength": float(before[0]),
    }

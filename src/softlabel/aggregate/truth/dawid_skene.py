"""Dawid and Skene's family: each person has a confusion matrix.

``dawid-skene`` learns a prior for the matrices from the crowd, or uses a fixed one or none;
``fast-dawid-skene`` decides for one class per item in every step; ``bayes-dawid-skene`` keeps a
posterior over the matrices.

``table[annotator, label, true]`` holds the chance that somebody says one class where another is
true, with the true classes side by side, as the kernels read them.  Results show it the usual way
round, ``confusion[annotator, true, label]``.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, digamma, gammaln

from softlabel._util.machine import GIGABYTE, cores, memory
from softlabel.aggregate.truth import base
from softlabel.aggregate.truth.base import Inferred, Local, Sums, TruthPosterior, Votes
from softlabel.errors import DataError
from softlabel.registry import SMALLEST
from softlabel.tables import Annotations, Floats, Index, Ints, given_away

LARGEST_TABLE = 4 * GIGABYTE
BLOCK = 4096  # people whose logarithms are taken at a time

# The prior of a learned prior.  It decides where nobody has two votes on a class, and no more: from
# D = .1, A0 = 10 to D = 5, A0 = 4 and SPREAD = .01 to .5 the mean accuracy moves by .02 points.
D, A0, SPREAD = 1.0, 4.0, 0.1
RIGHT = 2.0  # imaginary right votes of the whole crowd: they keep a handful of votes in place
CELLS = 2**15  # of a confusion table, that a thread works on at a time

INSIDE = (SMALLEST, 1 - SMALLEST)  # of a chance that is never sure
OUTSIDE = 0.05  # on either side of a 90 % interval
LEAST = 1e-3  # votes that a Beta distribution has at least
TINY = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionPosterior(TruthPosterior):
    """``rests_on[a, j]``: on how many votes, in expectation, the row of ``confusion`` rests that
    says what a person says where j is true.  ``population[j, l]``: what the crowd as a whole says
    there, and ``strength``: how many votes of a person it weighs as much as."""

    rests_on: Floats = field(default_factory=lambda: base.NOTHING)
    population: Floats | None = None
    strength: float | None = None


class Confusions(NamedTuple):
    """How common the classes are (k,), and the chances of what each person says (a, k, k)."""

    prior: Floats
    table: npt.NDArray[Any]


class Beliefs(NamedTuple):
    """Chances that votes meet: ``prior`` (k,) of the classes and ``table`` (a, label, true), both
    exp of expected logarithms.  They follow from Dirichlet concentrations of the classes' shares
    (``shares``, ``rows``), those before any vote (``expected``: classes (k,), ``alpha``: rows
    (label, true)), and ``away`` (1,) is how far all of them have moved, as a divergence."""

    prior: Floats
    table: npt.NDArray[Any]
    shares: Floats
    rows: npt.NDArray[Any]
    expected: Floats
    alpha: Floats
    away: Floats


class ConfusionMethod(base.EMMethod):
    """The steps over votes that the family shares; ``prior``, of confusion matrices, learns from
    their sums, and does all else that a ``Model`` does."""

    hard: ClassVar[bool] = False  # whether an item goes to its likeliest class in every step
    dtype: Any = "float64"
    prior: Any

    def parts(self, annotations: Annotations, shards: int | None) -> int | None:
        """Return ``shards``, or fewer than there are cores where the tables of all parts would
        fill more than a quarter of the memory."""
        _, a, k = annotations.index.shape
        fitting = max(1, memory() // 4 // (8 * k * k * max(a, 1)))
        return fitting if shards is None and fitting < cores() else shards

    def begin(self, part: Votes) -> Sums:
        """Return the statistics of vote shares; refuse tables that this machine cannot hold."""
        from softlabel.aggregate._kernels import confusion as kernels  # loads numba

        people, k, most = part.annotators, part.labels, min(LARGEST_TABLE, memory() // 2)
        size = people * k * k * np.dtype(self.dtype).itemsize
        if size > most:
            raise DataError(
                f"{people:,} annotators with {k:,} x {k:,} confusions are {size / GIGABYTE:.1f} "
                f"GB, more than {most / GIGABYTE:.1f} GB; one-coin knows one number of each "
                "annotator"
            )
        counts, mass = np.zeros((people, k, k), self.dtype), np.zeros(k)
        kernels.begin(part.ballots(), self.hard, counts.reshape(-1), mass)
        return np.zeros(1), counts, mass

    def step(self, part: Votes, parameters: Any) -> Sums:
        table = parameters.table
        counts, mass = np.zeros(table.shape, table.dtype), np.zeros(part.labels)
        total = self._expect(part, parameters, counts, mass, np.zeros((0, 0)))
        return np.array([total]), counts, mass

    def posterior(self, part: Votes, parameters: Any) -> Floats:
        rows = np.empty((part.items, part.labels))
        rows[np.diff(part.start) == 0] = np.nan
        nothing = np.zeros(0, parameters.table.dtype)
        self._expect(part, parameters, nothing, np.zeros(0), rows)
        return rows

    def _expect(
        self, part: Votes, parameters: Any, counts: Any, mass: Floats, rows: Floats
    ) -> float:
        """Add to counts and mass, or write rows, unless empty; return the log-likelihood."""
        from softlabel.aggregate._kernels import confusion as kernels

        prior, table = base.read_only(parameters.prior), parameters.table
        if part.weight is not None:
            table = np.log(table, out=np.full_like(table, kernels.NEVER), where=table > 0)
        sums = self.hard, counts.reshape(-1), mass, rows
        flat = base.read_only(table).reshape(-1)
        return float(kernels.expect(part.ballots(), prior, flat, *sums))

    learn = property(lambda self: self.prior.learn)
    penalty = property(lambda self: self.prior.penalty)
    resume = property(lambda self: self.prior.resume)
    describe = property(lambda self: self.prior.describe)


def skills(confusion: Floats, prior: Floats, asked: Ints) -> Floats:
    """(a,) sum_j prior_j confusion[a, j, j], over the classes somebody has met."""
    right = np.diagonal(confusion, axis1=1, axis2=2)
    weight = np.where(np.isnan(right), 0, prior)
    total = weight.sum(axis=1)
    share = np.full(len(right), np.nan)
    np.divide(np.nansum(right * weight, axis=1), total, out=share, where=(total > 0) & (asked > 0))
    return given_away(share)


# ── priors of confusion matrices ─────────────────────────────────────────────────────────────


def expected_rows(k: int, diagonal: float) -> Floats:
    """(k, k) what is expected of somebody unknown: right with chance ``diagonal``, and otherwise
    any other class alike."""
    if k == 1:
        return np.ones((1, 1))
    rows = np.full((k, k), (1 - diagonal) / (k - 1))
    np.fill_diagonal(rows, diagonal)
    return rows


@dataclass(frozen=True)
class Smoothing:
    """A fixed prior for EM: ``smoothing`` imaginary votes on every row of a confusion matrix, of
    which the share ``diagonal`` is right, and as many imaginary items, evenly."""

    smoothing: float
    diagonal: float

    def learn(self, sums: Sums, before: Any = None) -> Confusions:
        """Return the shares of the counts; a row that nothing is known of stays 0."""
        from softlabel.aggregate._kernels import confusion as kernels

        _, counts, mass = sums
        k, total = len(mass), mass.sum() + self.smoothing
        kernels.normalise(counts, self.smoothing * expected_rows(k, self.diagonal))
        shares = (mass + self.smoothing / k) / total if total > 0 else np.full(k, 1 / k)
        return Confusions(shares, counts)

    def penalty(self, parameters: Confusions) -> float:
        """Return the imaginary votes' own log-likelihood."""
        if self.smoothing == 0:
            return 0.0
        prior, table = parameters
        k = len(prior)
        rows = expected_rows(k, self.diagonal)
        total = np.log(prior).sum() / k
        for first in range(0, len(table), BLOCK):
            logs = np.log(table[first : first + BLOCK], dtype=np.float64)
            total += (logs.sum(axis=0) * rows).sum()
        return float(self.smoothing * total)

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Confusions:
        return resume_confusions(self.learn(sums), start, index)

    def describe(self, result: base.FitResult) -> dict[str, Any]:
        """Return the chances the usual way round, and how often each person is right on items as
        common as these; NaN for who was never asked, and in rows that nothing is known of."""
        prior, table = result.parameters
        confusion = np.array(table.transpose(0, 2, 1), dtype=np.float64, order="C")
        confusion[confusion.sum(axis=2) == 0] = np.nan
        return {
            "confusion": given_away(confusion),
            "prior": given_away(prior.copy()),
            "skill": skills(confusion, prior, result.asked),
        }


def resume_confusions(begun: Confusions, start: TruthPosterior, index: Index) -> Confusions:
    """Return the earlier chances of everybody who has some, and those of ``begun`` of others."""
    if start.confusion is None or start.prior is None:
        raise DataError("the result to start from has no confusion matrices")
    order = base.match_classes(start, index)
    new, old = base.match_people(start, index)
    earlier = start.confusion[old][:, order][:, :, order].transpose(0, 2, 1)
    table = begun.table
    table[new] = np.where(np.isnan(earlier), table[new], earlier)
    return Confusions(np.asarray(start.prior[order]), table)


def describe_beliefs(result: base.FitResult) -> dict[str, Any]:
    """Return the means of the posteriors, and the prior."""
    beliefs: Beliefs = result.parameters
    rows = np.array(beliefs.rows.transpose(0, 2, 1), dtype=np.float64, order="C")
    total = rows.sum(axis=2, keepdims=True)
    mean, prior = np.divide(rows, total, out=rows), beliefs.shares / beliefs.shares.sum()
    before = beliefs.alpha.sum(axis=0)
    return {
        "confusion": given_away(mean),
        "prior": given_away(prior),
        "skill": skills(mean, prior, result.asked),
        "rests_on": given_away(np.maximum(total[:, :, 0] - before, 0)),
        "population": given_away(np.ascontiguousarray((beliefs.alpha / before).T)),
        "strength": float(before[0]),
    }


@dataclass(frozen=True)
class FixedDirichlet:
    """A fixed prior for variational Bayes: a row for true class j has Dirichlet(``smoothing`` *
    e_j), where e_j has ``diagonal`` at j and the rest spread evenly; the class shares have
    Dirichlet(1, ..., 1)."""

    smoothing: float
    diagonal: float

    def priors(self, k: int) -> tuple[Floats, Floats]:
        """Return the priors of rows, (label, true), the same either way round, and of classes."""
        return self.smoothing * expected_rows(k, self.diagonal), np.ones(k)

    def learn(self, sums: Sums, before: Any = None) -> Beliefs:
        _, counts, mass = sums
        return infer_beliefs(counts, mass, *self.priors(len(mass)))

    def penalty(self, parameters: Beliefs) -> float:
        """Return minus the divergence of the posteriors from their priors."""
        return -float(parameters.away[0])

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Beliefs:
        if not isinstance(start, ConfusionPosterior):
            raise DataError("the result to start from does not say how many votes it rests on")
        priors = self.priors(len(sums[2]))
        return infer_beliefs(*counts_behind(sums, start, index, *priors), *priors)

    describe = staticmethod(describe_beliefs)


@dataclass(frozen=True)
class LearnedDirichlet:
    """A prior for variational Bayes that is learned from everybody's votes.

    Row j of person a's matrix is drawn from Dirichlet(strength * population[j]), where
    ``population`` is the confusion matrix of the crowd as a whole.  Both are chosen to maximise the
    Dirichlet-multinomial likelihood of the expected votes (empirical Bayes), by Minka's fixed
    point, with alpha = strength * population:

        t[j, l] = sum_a alpha_jl (psi(n_ajl + alpha_jl) - psi(alpha_jl))
        population[j] <- (t[j] + SPREAD, and RIGHT at j) / its sum
        strength <- (sum t + D) / (sum_aj psi(n_aj + strength) - psi(strength) + D / A0)

    Each update raises a lower bound of that likelihood plus the log of a weak prior: Gamma(1 + D,
    D / A0) on the strength, and on the rows of the population a Dirichlet of a few imaginary votes,
    most of them right.  Minka 2000, "Estimating a Dirichlet distribution"; Paun et al. 2018,
    "Comparing Bayesian models of annotation".
    """

    anchor: float

    def learn(self, sums: Sums, before: Beliefs | None = None) -> Beliefs:
        """Take one step of the fixed point, then infer everybody's posteriors.  At the first step,
        with nothing before, ``mass`` holds vote shares: as many imaginary items of each class as
        there were votes for it, times ``anchor``, are expected from then on."""
        from softlabel.aggregate._kernels import confusion as kernels

        _, counts, mass = sums
        if before is None:  # everybody's votes together, at the strength of the prior
            alpha = A0 * _population(counts.sum(axis=0, dtype=np.float64))
            expected = 1 + self.anchor * mass
        else:
            alpha, expected = before.alpha, before.expected
        k = len(alpha)

        def add(block: slice) -> Sums:
            sums = np.zeros((k, k)), np.zeros(k)
            kernels.add_fixed_point(counts[block], alpha, *sums)
            return sums

        up, down = np.zeros((k, k)), np.zeros(k)
        for more_up, more_down in _by_people(add, counts):
            up += more_up
            down += more_down
        up *= alpha
        strength = (up.sum() + D) / (down.sum() + D / A0)
        return infer_beliefs(counts, mass, strength * _population(up), expected)

    def penalty(self, parameters: Beliefs) -> float:
        """Return the log of the prior of the prior, but for a constant, less the divergence."""
        alpha = parameters.alpha
        strength = alpha[:, 0].sum()
        rows = (_imaginary_votes(len(alpha)) * np.log(alpha / strength)).sum()
        log_prior = float(D * np.log(strength) - D / A0 * strength + rows)
        return log_prior - float(parameters.away[0])

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Beliefs:
        """Return the beliefs of an earlier result: the counts behind its means, for new people
        those of vote shares, and its population."""
        if not isinstance(start, ConfusionPosterior) or start.population is None:
            reason = "does not say what it learned of the population"
            raise DataError(f"the result to start from {reason}")
        assert start.strength is not None, "it comes with the population"
        order = base.match_classes(start, index)
        alpha = np.asarray(start.strength * start.population[order][:, order].T)
        expected = 1 + self.anchor * sums[2]
        return infer_beliefs(*counts_behind(sums, start, index, alpha, expected), alpha, expected)

    describe = staticmethod(describe_beliefs)


def _population(votes: Floats) -> Floats:
    """(label, true) what the crowd says of each class, after a few imaginary votes."""
    votes = votes + _imaginary_votes(len(votes))
    return np.asarray(votes / votes.sum(axis=0))


def _imaginary_votes(k: int) -> Floats:
    """(k, k) votes of the whole crowd that are expected on every class."""
    return SPREAD + RIGHT * np.eye(k)


def infer_beliefs(
    counts: npt.NDArray[Any], mass: Floats, alpha: Floats, expected: Floats
) -> Beliefs:
    """Return the posteriors of rows and class shares, given their priors; uses up the counts."""
    from softlabel.aggregate._kernels import confusion as kernels

    table = np.empty_like(counts)

    def write(block: slice) -> float:
        return float(kernels.write_posteriors(counts[block], alpha, table[block]))

    away = sum(_by_people(write, counts))
    shares = mass + expected
    logs = digamma(shares) - digamma(shares.sum())
    away += float(gammaln(shares.sum()) - gammaln(shares).sum() + mass @ logs)
    away -= float(gammaln(expected.sum()) - gammaln(expected).sum())
    return Beliefs(np.exp(logs), table, shares, counts, expected, alpha, np.array([away]))


def _by_people(function: Callable[[slice], Any], counts: npt.NDArray[Any]) -> list[Any]:
    """Call the function on blocks of people; the blocks do not depend on the number of threads."""
    people, k, _ = counts.shape
    size = max(1, CELLS // (k * k))
    blocks = [slice(first, first + size) for first in range(0, people, size)]
    if len(blocks) < 2 or cores() < 2:
        return [function(block) for block in blocks]
    with ThreadPoolExecutor(min(cores(), len(blocks))) as threads:
        return list(threads.map(function, blocks))


def counts_behind(
    sums: Sums, start: ConfusionPosterior, index: Index, alpha: Floats, expected: Floats
) -> tuple[npt.NDArray[Any], Floats]:
    """Return the expected votes and items that give the earlier means under these priors."""
    _, counts, mass = sums
    new, old = base.match_people(start, index)
    begun = Confusions(mass, np.zeros_like(counts))
    prior, means = resume_confusions(begun, start, index)
    votes = start.rests_on[old][:, base.match_classes(start, index)] + alpha.sum(axis=0)
    counts[new] = np.maximum(means[new] * votes[:, None, :] - alpha, 0)
    return counts, np.maximum(prior * (mass.sum() + expected.sum()) - expected, 0)


# ── the strategies ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class DawidSkene(ConfusionMethod):
    """Each person has a confusion matrix C_a, each item one true class, and votes are independent:

        P(true = j | votes) proportional to pi_j prod_a C_a[j, vote of a].

    By default the model is hierarchical: row j of everybody's matrix is drawn from
    Dirichlet(strength * population[j]), and the population's matrix and the strength are learned
    from the votes.  Somebody with few votes is taken for an ordinary member of this crowd, and
    somebody with many for what they are.  Posteriors are variational; the trace is the evidence
    lower bound.  The class shares pi are drawn towards the shares of the votes, by ``anchor``
    imaginary items for every item.

    With a number for ``smoothing``, EM finds the posterior mode under a fixed prior instead: every
    row gets ``smoothing`` imaginary votes, of which the share ``diagonal`` is right, and so does
    pi, evenly.  ``smoothing=0`` is the method of 1979.
    """

    smoothing: float | None = None
    diagonal: float = 0.7
    anchor: float = 1.0
    n_iter: int = 100
    tol: float = 1e-4
    dtype: Literal["float64", "float32"] = "float64"

    name: ClassVar[str] = "dawid-skene"
    paper: ClassVar[str] = "Dawid & Skene 1979; Paun et al. 2018"
    limits: ClassVar = {"smoothing": (0, math.inf), "diagonal": INSIDE, "anchor": (0, math.inf)}
    result: ClassVar[type[TruthPosterior]] = ConfusionPosterior

    @property
    def prior(self) -> Any:
        if self.smoothing is None:
            return LearnedDirichlet(self.anchor)
        return Smoothing(self.smoothing, self.diagonal)

    @property
    def objective(self) -> str:
        if self.smoothing is None:
            return "evidence lower bound"
        return "penalised log-likelihood" if self.smoothing else "log-likelihood"


@dataclass(frozen=True)
class FastDawidSkene(ConfusionMethod):
    """Dawid-Skene that decides for one class per item in every step: classification EM.

    It climbs sum_i max_j log(pi_j prod_a C_a[j, vote of a]) from the class with most votes, and
    usually settles in fewer steps.  Classes that are exactly level share an item evenly, which is
    another maximum of the same objective and favours none.  Priors are those of ``dawid-skene``.
    """

    smoothing: float = 2.0
    diagonal: float = 0.7
    n_iter: int = 100
    tol: float = 1e-6

    name: ClassVar[str] = "fast-dawid-skene"
    paper: ClassVar[str] = "Sinha, Rao & Balasubramanian 2018"
    limits: ClassVar = {"smoothing": (0, math.inf), "diagonal": INSIDE}
    hard: ClassVar[bool] = True
    objective: ClassVar[str] = "penalised classification log-likelihood"

    @property
    def prior(self) -> Smoothing:
        return Smoothing(self.smoothing, self.diagonal)


@dataclass(frozen=True)
class BayesDawidSkene(ConfusionMethod):
    """Dawid-Skene with Dirichlet priors on pi and on every row of every confusion matrix, whose
    posteriors are approximated by q(truth) q(pi) prod q(C) (independent Bayesian classifier
    combination, variational).

    By default the prior of a row is learned from everybody's votes, as in ``dawid-skene``.  With a
    number for ``smoothing``, a row for true class j has the prior Dirichlet(``smoothing`` * e_j),
    where e_j has ``diagonal`` at j and the rest spread evenly; pi has Dirichlet(1, ..., 1).  The
    trace is the evidence lower bound.  ``confusion`` is the posterior mean, ``confusion_low`` and
    ``confusion_high`` bound the middle 90 % of a Beta distribution with that mean, whose variance
    is that of the entry's Dirichlet plus what not knowing the true classes adds.
    """

    smoothing: float | None = None
    diagonal: float = 0.7
    anchor: float = 1.0
    n_iter: int = 100
    tol: float = 1e-4

    name: ClassVar[str] = "bayes-dawid-skene"
    paper: ClassVar[str] = "Kim & Ghahramani 2012; Simpson et al. 2013; Paun et al. 2018"
    objective: ClassVar[str] = "evidence lower bound"
    limits: ClassVar = DawidSkene.limits | {"smoothing": (SMALLEST, math.inf)}
    result: ClassVar[type[TruthPosterior]] = ConfusionPosterior

    @property
    def prior(self) -> Any:
        if self.smoothing is None:
            return LearnedDirichlet(self.anchor)
        return FixedDirichlet(self.smoothing, self.diagonal)

    def infer(self, engine: Local, index: Index, start: TruthPosterior | None) -> Inferred:
        from softlabel.aggregate._kernels import confusion as kernels

        probs, learned = super().infer(engine, index, start)
        variance = np.zeros_like(learned["confusion"])  # of the votes each entry has
        first = 0
        for part in engine.parts:
            rows = base.read_only(probs[first : first + part.items])
            kernels.add_variance(part.ballots(), rows, variance.reshape(-1))
            first += part.items
        total = learned["rests_on"] + learned["strength"]
        low, high = confusion_limits(learned["confusion"], total, variance.transpose(0, 2, 1))
        return probs, learned | {"confusion_low": low, "confusion_high": high}


def confusion_limits(mean: Floats, total: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Return the limits of the middle 90 % of each entry, (a, true, label).

    By the law of total variance: the variance of a Dirichlet entry, were the true classes known,
    and that of its mean (n + alpha) / (N + strength) as they vary; ``total`` (a, true) is
    N + strength and ``variance`` that of n.
    """
    if mean.shape[-1] == 1:  # of one class there is nothing to be unsure of
        return given_away(np.ones_like(mean)), given_away(np.ones_like(mean))
    total = total[:, :, None]
    known = mean * (1 - mean)
    rest = variance.sum(axis=2, keepdims=True) - variance
    moved = (1 - mean) ** 2 * variance + mean**2 * rest
    size = 1 / (1 / (total + 1) + moved / np.maximum(known, TINY) / total**2) - 1
    size = np.maximum(size, LEAST)
    low, high = (betaincinv(mean * size, (1 - mean) * size, q) for q in (OUTSIDE, 1 - OUTSIDE))
    return given_away(np.asarray(low)), given_away(np.asarray(high))

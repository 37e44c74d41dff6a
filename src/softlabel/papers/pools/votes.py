"""Votes replayed: some of an item's votes build its label, and the others judge it.

Here are the replay itself, the scores of labels by held-out votes, and three experiments: pools of
votes on CIFAR-10H, the coverage of their intervals, and ChaosNLI (three classes, almost all items
ambiguous) as an outside check.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from softlabel import aggregate, datasets
from softlabel.allocate import apply_floor, grassberger, kl_star, part_of, split_folds
from softlabel.metrics import cross_entropy, entropy_pearson, kl, total_variation
from softlabel.papers.claims import Table
from softlabel.sampling import votes_from_counts
from softlabel.tables import Bools, Floats, Index, Ints, names

CLIP, FLOOR = 1e-12, 1e-3  # the least probability
BUILD = 26  # votes of CIFAR-10H that may be used
Tell = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Replay:
    """The votes of each item in random order: ``order[m, build]`` are the classes of the first
    ``build`` votes, which may be used; the rest are held out."""

    index: Index
    counts: Ints
    order: Ints

    @cached_property
    def held(self) -> Floats:
        """(m, k) counts of the votes held out."""
        return np.asarray(self.counts - self.votes(self.order.shape[1]))

    @cached_property
    def share(self) -> Floats:
        """(m, k) shares of the classes among the votes held out: what a label must predict."""
        return np.asarray(self.held / self.held.sum(axis=1, keepdims=True))

    def votes(self, number: int) -> Floats:
        """Count the first ``number`` votes of each item (m, k)."""
        m, k = self.counts.shape
        flat = np.arange(m)[:, None] * k + self.order[:, :number]
        return np.bincount(flat.ravel(), minlength=m * k).reshape(m, k).astype(np.float64)


def replay_votes(index: Index, counts: Ints, build: int, seed: int) -> Replay:
    """Put the votes in random order; every item needs more than ``build``."""
    each = votes_from_counts(index, counts)
    assert each.label is not None, "counts are votes"
    key = np.random.default_rng(seed).random(len(each))
    label = each.label[np.lexsort((key, each.item))]
    size = counts.sum(axis=1)
    assert size.min() > build, "there must be votes to hold out"
    start = np.cumsum(size) - size
    return Replay(index, counts, label[start[:, None] + np.arange(build)])


def cross_fit(
    items: int, number: int, seed: int, label: Callable[[Bools, Bools], Floats]
) -> Floats:
    """Make labels (m, k) fold by fold with ``label(rest, test)``."""
    parts = [(test, label(rest, test)) for rest, test in split_folds(items, number, seed)]
    whole = np.zeros((items, parts[0][1].shape[1]))
    for test, probs in parts:
        whole[test] = probs
    return whole


def fit_label(
    share: Floats,
    label: Callable[..., Floats],
    rest: Bools,
    start: Sequence[float],
    limits: Sequence[tuple[float, float]],
) -> tuple[float, ...]:
    """Find the parameters with which ``label`` best predicts the held-out shares of the rest."""

    def loss(*values: float) -> float:
        return float(cross_entropy(share[rest], label(*values)[rest], CLIP).mean())

    return aggregate.simple.search(loss, start, limits)


def fit_others(
    made: Replay,
    build: int,
    number: int,
    seed: int,
    fit: Callable[[Index, Floats], aggregate.Prior],
) -> list[aggregate.Prior]:
    """Fit a prior for each fold to the votes of the items outside it."""
    evidence = made.votes(build)
    folds = split_folds(len(evidence), number, seed)
    return [fit(part_of(made.index, rest), evidence[rest]) for rest, _ in folds]


def label_with_priors(n: Floats, seed: int, priors: Sequence[aggregate.Prior]) -> Floats:
    """Make labels (m, k) of votes, each fold with the prior of the other items."""
    label = np.zeros_like(n)
    for (_, test), prior in zip(split_folds(len(n), len(priors), seed), priors, strict=True):
        label[test] = aggregate.posterior_mean(prior, n[test])
    return label


# ── scores ───────────────────────────────────────────────────────────────────────────────────


def half_width(values: Floats) -> float:
    """Return 1.96 standard errors of the mean."""
    return float(1.96 * values.std(ddof=1) / np.sqrt(len(values)))


@dataclass(eq=False)
class Ledger:
    """Scores by row and column of a table, one per item, averaged over splits."""

    columns: Sequence[str]
    kept: dict[str, dict[str, list[Floats]]] = field(default_factory=dict)

    def add(self, row: str, column: object, by_item: Floats) -> None:
        """Add the scores of one split."""
        self.kept.setdefault(row, {}).setdefault(str(column), []).append(by_item)

    def value(self, row: str, column: object) -> float:
        """Return the mean over items and splits."""
        return float(np.mean(self.by_item(row, column)))

    def by_item(self, row: str, column: object) -> Floats:
        """Return the means over splits (m,)."""
        return np.asarray(np.mean(self.kept[row][str(column)], axis=0))

    def gain(self, row: str, over: str, column: object) -> tuple[float, float]:
        """Return how much lower ``row`` is than ``over``, and 1.96 standard errors over items."""
        difference = self.by_item(over, column) - self.by_item(row, column)
        return float(difference.mean()), half_width(difference)

    def table(self, title: str) -> Table:
        """Make a table of means with 1.96 standard errors over items."""
        rows: list[tuple[str, ...]] = []
        for name, cells in self.kept.items():
            scores = [self.by_item(name, one) if one in cells else None for one in self.columns]
            texts = ["–" if x is None else f"{x.mean():.4f} ±{half_width(x):.3f}" for x in scores]
            rows.append((name, *texts))
        return Table(title, ("", *map(str, self.columns)), rows)


# ── pools of votes ───────────────────────────────────────────────────────────────────────────

FITS: dict[str, Callable[[Index, Floats], aggregate.Prior]] = {
    "one Dirichlet": aggregate.Dirichlet().fit,
    "mixture, 1 level": aggregate.DirichletMixture(levels=1).fit,
    "mixture, 3 levels": aggregate.DirichletMixture(levels=3).fit,
    "atoms": aggregate.Atoms().fit,
}


@dataclass(frozen=True, eq=False)
class Population:
    """Items whose votes are replayed: ``folds`` for priors of other items, ``seeds`` of splits,
    numbers of ``votes`` per item that are tried."""

    name: str
    index: Index
    counts: Ints
    folds: int
    seeds: tuple[int, ...]
    votes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class VoteScores:
    """KL, total variation and entropy correlation by method and number of votes."""

    kl: Ledger
    tv: Ledger
    entropy_r: dict[str, dict[str, list[float]]]


def score_votes(population: Population, tell: Tell) -> VoteScores:
    """Score all methods with all numbers of votes on all splits."""
    columns = tuple(map(str, population.votes))
    scores = VoteScores(Ledger(columns), Ledger(columns), {})
    for seed in population.seeds:
        made = replay_votes(population.index, population.counts, BUILD, seed)
        priors = {}
        for name, fit in FITS.items():
            tell(f"split {seed}: {name}, fitted to other images")
            priors[name] = fit_others(made, BUILD, population.folds, seed, fit)
        for votes in population.votes:
            tell(f"{population.name}, split {seed}: {votes} votes per image")
            for name, label in _label_votes(made, votes, population.folds, seed, priors).items():
                scores.kl.add(name, votes, kl(made.share, label))
                scores.tv.add(name, votes, total_variation(made.share, label))
                by_votes = scores.entropy_r.setdefault(name, {}).setdefault(str(votes), [])
                by_votes.append(entropy_pearson(made.share, label))
    return scores


def _label_votes(
    made: Replay, votes: int, folds: int, seed: int, priors: dict[str, list[aggregate.Prior]]
) -> dict[str, Floats]:
    """Make the labels of each method."""
    n = made.votes(votes)

    def fitted_softmax(rest: Bools, test: Bools) -> Floats:
        def label(tau: float) -> Floats:
            return aggregate.Softmax(tau).rows(n)

        return label(*fit_label(made.share, label, rest, [1.0], [(1e-3, 1e3)]))[test]

    labels = {
        "share, floor 1e-12": apply_floor(aggregate.shares(n), CLIP),
        "share, floor 1e-3": apply_floor(aggregate.shares(n), FLOOR),
        "softmax, tau = 1": aggregate.Softmax().rows(n),
        "softmax, tau fitted": cross_fit(len(n), folds, seed, fitted_softmax),
        "Jeffreys, + 1/2": aggregate.shares(n + 0.5),
        "Perks, + 1/k": aggregate.shares(n + 1 / n.shape[1]),
    }
    for name, fit in FITS.items():
        labels[f"{name}, other images"] = label_with_priors(n, seed, priors[name])
        if votes > 1:  # one vote per item cannot show how much items differ
            labels[f"{name}, same images"] = aggregate.posterior_mean(fit(made.index, n), n)
    return labels


# ── coverage of intervals ────────────────────────────────────────────────────────────────────

PLACES = ("top", "second", "third")
TAIL = 0.05
COVERAGE_VOTES = (2, 5, 10, 20)
# every pool that has intervals
POOLS: dict[
    str, aggregate.Dirichlet | aggregate.DirichletMixture | aggregate.Atoms | aggregate.Auto
] = {
    "one Dirichlet": aggregate.Dirichlet(),
    "mixture": aggregate.DirichletMixture(),
    "atoms": aggregate.Atoms(),
    "auto": aggregate.Auto(),
}
OTHER = "mixture, other images"
Coverage = dict[tuple[str, str, int], list[float]]  # model, place, votes: share inside, by split


def measure_coverage(population: Population, tell: Tell) -> Coverage:
    """Measure how often the held-out votes for a class lie in its 90 % predictive interval.

    By randomised PIT: a number drawn uniformly between P(fewer) and P(at most) must lie in .05 to
    .95.  Classes are taken by their rank in the label: which one leads is not known beforehand.
    """
    coverage: Coverage = {}
    for seed in population.seeds:
        made = replay_votes(population.index, population.counts, BUILD, seed)
        for votes in COVERAGE_VOTES:
            tell(f"coverage on {population.name}, split {seed}: {votes} votes per image")
            for model, beliefs in _believe(made, votes, population.folds, seed).items():
                inside = [_is_inside(made, test, belief, seed) for test, belief in beliefs]
                share = np.concatenate(inside, axis=1).mean(axis=1)
                for place, value in zip(PLACES, share.tolist(), strict=True):
                    coverage.setdefault((model, place, votes), []).append(value)
    return coverage


def mean_coverage(coverage: Coverage, model: str) -> float:
    """Average over places, numbers of votes and splits."""
    every = [coverage[model, place, votes] for place in PLACES for votes in COVERAGE_VOTES]
    return float(np.mean(every))


def tabulate_coverage(coverage: Coverage, title: str) -> Table:
    """Make a row per model: the mean, then the numbers of votes side by side for each place."""
    rows = []
    for model in dict.fromkeys(model for model, _, _ in coverage):
        cells = [[np.mean(coverage[model, one, v]) for v in COVERAGE_VOTES] for one in PLACES]
        texts = (" ".join(f"{value:.3f}" for value in cell) for cell in cells)
        rows.append((model, f"{mean_coverage(coverage, model):.3f}", *texts))
    heads = (f"{place}, {' '.join(map(str, COVERAGE_VOTES))} votes" for place in PLACES)
    return Table(title, ("", "all", *heads), rows)


def _believe(
    made: Replay, votes: int, folds: int, seed: int
) -> dict[str, list[tuple[Bools, aggregate.Belief]]]:
    """Return the beliefs of each model about parts of the images."""
    n = made.votes(votes)
    priors = fit_others(made, BUILD, folds, seed, aggregate.DirichletMixture().fit)
    tests = [test for _, test in split_folds(len(n), folds, seed)]
    beliefs = {
        OTHER: [
            (test, aggregate.Belief(part_of(made.index, test), n[test], prior))
            for test, prior in zip(tests, priors, strict=True)
        ]
    }
    each = votes_from_counts(made.index, n.astype(np.int64))
    for name, pool in POOLS.items():
        belief = pool(each).belief
        assert belief is not None, "these pools have a belief"
        beliefs[f"{name}, same images"] = [(np.ones(len(n), dtype=np.bool_), belief)]
    return beliefs


def _is_inside(made: Replay, test: Bools, belief: aggregate.Belief, seed: int) -> Bools:
    """(places, items) whether the held-out votes lie in the interval."""
    held = made.held[test].astype(np.int64)
    order = np.argsort(-belief.mean(), axis=1, kind="stable")
    rng = np.random.default_rng([seed, 3])
    inside = []
    for place in range(len(PLACES)):
        label = order[:, place]
        count = held[np.arange(len(held)), label]
        below, at_most = belief.predictive_cdf(label, count, held.sum(axis=1))
        drawn = below + rng.random(len(held)) * (at_most - below)
        inside.append((drawn > TAIL) & (drawn < 1 - TAIL))
    return np.array(inside)


# ── ChaosNLI ─────────────────────────────────────────────────────────────────────────────────

NLI_BUILD = 60  # of 100 votes; 40 are held out
NLI_VOTES = (1, 2, 3, 5, 10, 20, 40)
NLI_FOLDS = 2
ONE, MIXTURE = "one Dirichlet, same items", "mixture, same items"


def load_nli() -> tuple[Index, Ints]:
    """Load SNLI and MNLI together: 3,113 items."""
    parts = [datasets.load(f"chaosnli/{part}") for part in ("snli", "mnli")]
    items = [item for part in parts for item in part.index.items.tolist()]
    index = Index(names(items), names([]), parts[0].index.labels)
    return index, np.concatenate([part.arrays["counts"] for part in parts])


def score_nli(index: Index, counts: Ints, seeds: tuple[int, ...], tell: Tell) -> Ledger:
    """Score KL* by method and number of votes."""
    ledger = Ledger(tuple(map(str, NLI_VOTES)))
    entropies = grassberger(counts)
    for seed in seeds:
        made = replay_votes(index, counts, NLI_BUILD, seed)
        priors = fit_others(made, NLI_BUILD, NLI_FOLDS, seed, aggregate.DirichletMixture().fit)
        for votes in NLI_VOTES:
            tell(f"ChaosNLI, split {seed}: {votes} votes per item")
            n = made.votes(votes)
            labels = {
                "share, floor 1e-3": apply_floor(aggregate.shares(n), FLOOR),
                "softmax, tau = 1": aggregate.Softmax().rows(n),
                "Jeffreys, + 1/2": aggregate.shares(n + 0.5),
                ONE: aggregate.posterior_mean(aggregate.Dirichlet().fit(index, n), n),
                MIXTURE: aggregate.posterior_mean(aggregate.DirichletMixture().fit(index, n), n),
                "mixture, other items": label_with_priors(n, seed, priors),
            }
            for name, label in labels.items():
                ledger.add(name, votes, kl_star(made.share, label, entropies))
    return ledger

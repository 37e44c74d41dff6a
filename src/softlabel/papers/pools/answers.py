"""Rich answers of CIFAR-10S, judged by held-out votes of CIFAR-10H.

Also here: what "50 %" means to different people, and whether recalibrating them helps the pool.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from softlabel import aggregate
from softlabel.allocate import apply_floor, part_of, split_folds
from softlabel.metrics import cross_entropy, kl
from softlabel.papers.claims import Table
from softlabel.papers.pools import votes as replay
from softlabel.sampling import votes_from_counts
from softlabel.tables import Annotations, Bools, Floats, Index, Ints, names

TOGETHER = ((1, 1), (2, 1), (2, 3), (5, 1), (5, 6), (10, 6))  # votes and rich answers
FOLDS = 5
LIMITS = ((1e-5, 1.0), (0.05, 20.0))  # of floor and power


def take_first(each: Annotations, numbers: tuple[int, ...], seed: int) -> dict[int, Annotations]:
    """Take the first M answers of every item in random order, for each M in ``numbers``."""
    key = np.random.default_rng([seed, 2]).random(len(each))
    order = np.lexsort((key, each.item))
    item = each.item[order]
    start = np.searchsorted(item, np.arange(len(each.index.items)))
    rank = np.arange(len(item)) - start[item]
    return {number: each.take(np.sort(order[rank < number])) for number in numbers}


def score_answers(
    each: Annotations,
    counts: Ints,
    seeds: tuple[int, ...],
    answers: tuple[int, ...],
    tell: replay.Tell,
    together: tuple[tuple[int, int], ...] = TOGETHER,
) -> tuple[replay.Ledger, replay.Ledger]:
    """Score KL by method and number of answers, and KL of votes and answers together."""
    alone = replay.Ledger(tuple(map(str, answers)))
    both = replay.Ledger(tuple(f"{votes} + {rich}" for votes, rich in together))
    index = Index(each.index.items, names([]), each.index.labels)
    numbers = tuple(sorted({*answers, *(rich for _, rich in together)}))
    for seed in seeds:
        made = replay.replay_votes(index, counts, replay.BUILD, seed)
        first = take_first(each, numbers, seed)
        sums = {number: aggregate.Features(True).sums(part) for number, part in first.items()}
        scores: dict[tuple[str, object, bool], Floats] = {}  # row, column, alone: by item
        for rest, test in split_folds(len(counts), FOLDS, seed):
            prior = aggregate.DirichletMixture().fit(
                part_of(index, rest), made.votes(replay.BUILD)[rest]
            )
            tell(f"rich answers, split {seed}")
            fold = Fold(made, first, sums, rest, test, prior)
            labels = {
                (name, number, True): label
                for number in answers
                for name, label in fold.pool_answers(number).items()
            } | {
                (name, f"{votes} + {number}", False): label
                for votes, number in together
                for name, label in fold.pool_both(votes, number).items()
            }
            for place, label in labels.items():
                values = scores.setdefault(place, np.zeros(len(counts)))
                values[test] = kl(made.share[test], label)
        for (name, column, is_alone), values in scores.items():
            (alone if is_alone else both).add(name, column, values)
        # as shipped: everything is fitted to these very votes and answers
        for number in answers:
            label = aggregate.Extremised()(first[number]).probs
            alone.add("extremised, no votes used", number, kl(made.share, label))
        for votes, number in together:
            hard = votes_from_counts(index, made.votes(votes).astype(np.int64))
            label = aggregate.Stack()(hard, rich=first[number]).probs
            both.add("stack, same images", f"{votes} + {number}", kl(made.share, label))
    return alone, both


@dataclass(frozen=True, eq=False)
class Fold:
    """Labels of the ``test`` images, with everything fitted on the ``rest``.

    ``first[M]`` are the first M rich answers, ``sums[M]`` their sums.
    """

    made: replay.Replay
    first: dict[int, Annotations]
    sums: dict[int, Floats]
    rest: Bools
    test: Bools
    prior: aggregate.Prior

    def pool_answers(self, number: int) -> dict[str, Floats]:
        """Pool rich answers without votes."""
        made, sums = self.made, self.sums[number]
        k = made.counts.shape[1]
        rich, choice = sums[:, k : 2 * k], sums[:, 2 * k + 1 : 3 * k + 1]
        lin = aggregate.shares(rich)
        table = aggregate.simple.confusion_table(made.votes(replay.BUILD)[self.rest])
        weight = aggregate.rich_weight(np.zeros(1), np.full(1, float(number)))[0]
        sharpen = partial(extremise, made.share, lin, self.rest, self.test)
        posterior_mean = partial(aggregate.posterior_mean, self.prior)
        return {
            "linear pool, floor 1e-12": apply_floor(lin[self.test], replay.CLIP),
            "linear pool, floor 1e-3": apply_floor(lin[self.test], replay.FLOOR),
            "+ even floor": sharpen(start=[0.1]),
            "+ confusion-shaped floor": sharpen(table, [0.1]),
            "log pool, floor and power fitted": self._pool_logs(number),
            "extremised, even floor": sharpen(),
            "extremised, confusion-shaped floor": sharpen(table),
            "mixture, w fitted": self._weigh(np.zeros_like(lin), rich),
            "mixture, w as shipped": posterior_mean(weight * rich[self.test]),
            "first choices as votes, mixture": posterior_mean(choice[self.test]),
            "stack": self._stack(sums),
            "as many votes, mixture": posterior_mean(made.votes(number)[self.test]),
        }

    def pool_both(self, votes: int, number: int) -> dict[str, Floats]:
        """Pool votes and rich answers together."""
        n, sums = self.made.votes(votes), self.sums[number].copy()
        k = n.shape[1]
        sums[:, :k] = n
        return {
            "mixture, w fitted": self._weigh(n, sums[:, k : 2 * k]),
            "stack": self._stack(sums),
            "the votes alone, mixture": aggregate.posterior_mean(self.prior, n[self.test]),
        }

    def _pool_logs(self, number: int) -> Floats:
        def label(floor: float, power: float) -> Floats:
            pool = aggregate.LogPool(floor, power)
            return pool.rows(pool.sums(self.first[number]))

        share = self.made.share
        return label(*replay.fit_label(share, label, self.rest, [0.05, 1.0], LIMITS))[self.test]

    def _weigh(self, votes: Floats, rich: Floats) -> Floats:
        def label(weight: float) -> Floats:
            return aggregate.posterior_mean(self.prior, votes + weight * rich)

        share, limits = self.made.share, [(1e-3, 1e2)]
        return label(*replay.fit_label(share, label, self.rest, [2.0], limits))[self.test]

    def _stack(self, sums: Floats) -> Floats:
        features = aggregate.Features(True).features(sums, self.prior)
        target = self.made.share[self.rest]
        weight = aggregate.fit_logit(
            features[self.rest], target, np.ones(len(target)), np.array(aggregate.WITH_VOTES)
        )
        return aggregate.predict_logit(features[self.test], weight)


# ── recalibration ────────────────────────────────────────────────────────────────────────────

GRID = np.linspace(-1.5, 1.5, 121)  # of log t
SPREAD = 0.5
PLAIN, RECALIBRATED, WEIGHTED = "answers as given", "recalibrated", "weighted by reliability"


def fit_temperatures(each: Annotations) -> Floats:
    """Fit a temperature t to every annotator (a,): q proportional to (s + .01)^(1/t).

    Their answers shall predict the mean of the others' answers, with log t ~ N(mu, .5^2).  No votes
    are used.
    """
    soft = each.soft()
    size = each.votes_per_item()[each.item]
    target = (each.counts()[each.item] - soft) / np.maximum(size - 1, 1)[:, None]
    people = len(each.index.annotators)
    losses = np.stack(
        [
            np.bincount(each.annotator, cross_entropy(target, heat(soft, t), replay.CLIP), people)
            for t in np.exp(GRID)
        ]
    )  # (grid, a)
    crowd = GRID[losses.sum(axis=1).argmin()]
    penalised = losses + ((GRID - crowd) ** 2 / (2 * SPREAD**2))[:, None]
    return np.asarray(np.exp(GRID[penalised.argmin(axis=0)]))


def heat(soft: Floats, t: Floats | float) -> Floats:
    """Restate answers (n, k) at temperature ``t``."""
    power = np.log(soft + 0.01) / np.reshape(t, (-1, 1))
    weights = np.exp(power - power.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def extremise(
    share: Floats,
    lin: Floats,
    rest: Bools,
    test: Bools,
    table: Floats | None = None,
    start: Sequence[float] = (0.1, 1.0),
) -> Floats:
    """Sharpen pools (m, k) with an even floor or that of a confusion table; floor and power (1 if
    ``start`` has none) are fitted on the rest."""

    def label(floor: float, power: float = 1.0) -> Floats:
        return aggregate.simple.Sharpened(floor, power, table).labels(lin)

    return label(*replay.fit_label(share, label, rest, start, LIMITS[: len(start)]))[test]


def score_recalibration(
    each: Annotations,
    counts: Ints,
    seeds: tuple[int, ...],
    answers: tuple[int, ...],
    tell: replay.Tell,
) -> Table:
    """Tabulate how much recalibrated and weighted answers improve KL, paired over images.

    The answers as given have the same .01 added, so that only the temperature differs.  ± is 1.96
    standard errors over images; below 0 is worse.
    """
    ledgers = {
        name: replay.Ledger(tuple(map(str, answers))) for name in ("linear pool", "then extremised")
    }
    index = Index(each.index.items, names([]), each.index.labels)
    t = fit_temperatures(each)[each.annotator]
    given, recalibrated = (
        Annotations(each.index, each.item, each.annotator, probs=heat(each.soft(), one))
        for one in (1.0, t)
    )
    weights = aggregate.Weighted().fit(given)
    for seed in seeds:
        tell(f"recalibration, split {seed}")
        made = replay.replay_votes(index, counts, replay.BUILD, seed)
        plain, again = (take_first(one, answers, seed) for one in (given, recalibrated))
        for number in answers:
            pools = {
                PLAIN: aggregate.shares(plain[number].counts()),
                RECALIBRATED: aggregate.shares(again[number].counts()),
                WEIGHTED: weights.rows(weights.sums(plain[number])),
            }
            for name, lin in pools.items():
                sharp = replay.cross_fit(len(lin), FOLDS, seed, partial(extremise, made.share, lin))
                for ledger, label in zip(ledgers.values(), (lin, sharp), strict=True):
                    ledger.add(name, number, kl(made.share, label))
    rows = []
    for title, ledger in ledgers.items():
        for name in (RECALIBRATED, WEIGHTED):
            gains = [ledger.gain(name, PLAIN, number) for number in answers]
            texts = [f"{gain:+.4f} ±{half:.4f}" for gain, half in gains]
            rows.append((f"{title}, {name}", *texts))
    heads = ("gain in KL, by number of answers", *map(str, answers))
    return Table("Recalibrating people, paired over images", heads, rows)

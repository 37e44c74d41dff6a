"""Rich answers of CIFAR-10S, judged by votes of CIFAR-10H that were held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softlabel.aggregate import (
    WITH_VOTES,
    DirichletMixture,
    Extremised,
    Features,
    LogPool,
    Prior,
    Sharpened,
    Stack,
    confusion_table,
    logit,
    posterior_mean,
    rich_weight,
    search,
    shares,
)
from softlabel.metrics import cross_entropy, kl
from softlabel.papers.claims import Ledger
from softlabel.papers.pools.hard import BUILD, CLIP, FLOOR, floored
from softlabel.papers.pools.replaying import Replay, folds, part_of, replay
from softlabel.sampling import votes_from_counts
from softlabel.tables import Annotations, Bools, Floats, Index, Ints, names

TOGETHER = ((1, 1), (2, 1), (2, 3), (5, 1), (5, 6), (10, 6))  # votes and rich answers
FOLDS = 5
Limits = tuple[tuple[float, float], ...]
LIMITS: Limits = ((1e-5, 1.0), (0.05, 20.0))  # of floor and power


@dataclass(frozen=True, eq=False)
class Split:
    """One order of votes and answers: ``sums[M]`` are the sums of the first M rich answers,
    ``said[M]`` the answers themselves."""

    made: Replay
    said: dict[int, Annotations]
    sums: dict[int, Floats]

    def shipped(self, ledger: Ledger, number: int, votes: int = 0) -> None:
        """What ``auto`` does: everything is fitted to these very votes and answers."""
        made, rich = self.made, self.said[number]
        if votes:
            hard = votes_from_counts(made.index, made.votes(votes).astype(np.int64))
            label = Stack()(hard, rich=rich).probs
            ledger.add("stack, same images", f"{votes} + {number}", kl(made.share, label))
        else:
            label = Extremised()(rich).probs
            ledger.add("extremised, no votes used", number, kl(made.share, label))


def ordered(each: Annotations, most: tuple[int, ...], seed: int) -> dict[int, Annotations]:
    """The first M answers of every item, in an order drawn by ``seed``."""
    key = np.random.default_rng([seed, 2]).random(len(each))
    order = np.lexsort((key, each.item))
    item = each.item[order]
    start = np.searchsorted(item, np.arange(len(each.index.items)))
    rank = np.arange(len(item)) - start[item]
    return {number: each.take(np.sort(order[rank < number])) for number in most}


def score(
    each: Annotations,
    counts: Ints,
    seeds: tuple[int, ...],
    answers: tuple[int, ...],
    tell: Callable[[str], None],
    together: tuple[tuple[int, int], ...] = TOGETHER,
) -> tuple[Ledger, Ledger]:
    """KL by method and number of answers; and KL of votes and answers together."""
    alone = Ledger(tuple(map(str, answers)))
    both = Ledger(tuple(f"{votes} + {rich}" for votes, rich in together))
    index = Index(each.index.items, names([]), each.index.labels)
    most = tuple(sorted({*answers, *(rich for _, rich in together)}))
    for seed in seeds:
        made = replay(index, counts, BUILD, seed)
        said = ordered(each, most, seed)
        sums = {number: Features(True).sums(part) for number, part in said.items()}
        split = Split(made, said, sums)
        for rest, test in folds(len(counts), FOLDS, seed):
            prior = DirichletMixture().fit(part_of(index, rest), made.votes(BUILD)[rest])
            tell(f"rich answers, split {seed}")
            fold = Fold(split, rest, test, prior)
            fold.alone(alone, answers)
            fold.together(both, together)
        for number in answers:
            split.shipped(alone, number)
        for votes, number in together:
            split.shipped(both, number, votes)
    return _whole(alone, len(seeds)), _whole(both, len(seeds))


@dataclass(frozen=True, eq=False)
class Fold:
    """Everything is fitted on the ``rest`` of the images and judged on the ``test``."""

    split: Split
    rest: Bools
    test: Bools
    prior: Prior

    def alone(self, ledger: Ledger, answers: tuple[int, ...]) -> None:
        """Rich answers without votes."""
        for number in answers:
            for name, label in self._pools(number).items():
                ledger.add(name, number, self._placed(label))

    def together(self, ledger: Ledger, pairs: tuple[tuple[int, int], ...]) -> None:
        """Votes and rich answers."""
        made = self.split.made
        for votes, number in pairs:
            n = made.votes(votes)
            sums = self.split.sums[number].copy()
            k = n.shape[1]
            sums[:, :k] = n
            column = f"{votes} + {number}"
            bayes = self._bayes(n, sums[:, k : 2 * k])
            ledger.add("mixture, w fitted", column, self._placed(bayes))
            ledger.add("stack", column, self._placed(self._stack(sums)))
            only = posterior_mean(self.prior, n[self.test])
            ledger.add("the votes alone, mixture", column, self._placed(only))

    def _placed(self, label: Floats) -> Floats:
        """(m,) KL of the test images, 0 elsewhere."""
        values = np.zeros(len(self.test))
        values[self.test] = kl(self.split.made.share[self.test], label)
        return values

    def _pools(self, number: int) -> dict[str, Floats]:
        made, sums = self.split.made, self.split.sums[number]
        k = made.counts.shape[1]
        lin, first = shares(sums[:, k : 2 * k]), sums[:, 2 * k + 1 : 3 * k + 1]
        table = confusion_table(made.votes(BUILD)[self.rest])
        nothing = np.zeros_like(lin)
        usual = rich_weight(np.zeros(1), np.full(1, float(number)))[0]
        return {
            "linear pool, floor 1e-12": floored(lin[self.test], CLIP),
            "linear pool, floor 1e-3": floored(lin[self.test], FLOOR),
            "+ even floor": self._sharp(lin, None, power=False),
            "+ confusion-shaped floor": self._sharp(lin, table, power=False),
            "log pool, floor and power fitted": self._log(number),
            "extremised, even floor": self._sharp(lin, None, power=True),
            "extremised, confusion-shaped floor": self._sharp(lin, table, power=True),
            "mixture, w fitted": self._bayes(nothing, sums[:, k : 2 * k]),
            "mixture, w as shipped": posterior_mean(self.prior, usual * sums[self.test, k : 2 * k]),
            "first choices as votes, mixture": posterior_mean(self.prior, first[self.test]),
            "stack": self._stack(sums),
            "as many votes, mixture": posterior_mean(self.prior, made.votes(number)[self.test]),
        }

    def _fitted(
        self, label: Callable[..., Floats], start: list[float], limits: Limits = LIMITS
    ) -> tuple[float, ...]:
        """Parameters with which ``label`` foretells the held-out votes of the rest best."""

        def loss(*values: float) -> float:
            return float(
                cross_entropy(self.split.made.share[self.rest], label(*values), CLIP).mean()
            )

        return search(loss, start, limits[: len(start)])

    def _sharp(self, lin: Floats, table: Floats | None, power: bool) -> Floats:
        def label(floor: float, power: float = 1.0) -> Floats:
            return Sharpened(floor, power, table).labels(lin[self.rest])

        values = self._fitted(label, [0.1, 1.0] if power else [0.1])
        fitted = Sharpened(values[0], values[1] if power else 1.0, table)
        return fitted.labels(lin[self.test])

    def _log(self, number: int) -> Floats:
        said = self.split.said[number]

        def label(floor: float, power: float) -> Floats:
            pool = LogPool(floor, power)
            return pool.rows(pool.sums(said))

        values = self._fitted(lambda *v: label(*v)[self.rest], [0.05, 1.0])
        return label(*values)[self.test]

    def _bayes(self, votes: Floats, rich: Floats) -> Floats:
        def label(weight: float) -> Floats:
            return posterior_mean(self.prior, (votes + weight * rich)[self.rest])

        (weight,) = self._fitted(label, [2.0], ((1e-3, 1e2),))
        return posterior_mean(self.prior, (votes + weight * rich)[self.test])

    def _stack(self, sums: Floats) -> Floats:
        features = Features(True).features(sums, self.prior)
        target = self.split.made.share[self.rest]
        weight = logit.fit(features[self.rest], target, np.ones(len(target)), np.array(WITH_VOTES))
        return logit.predicted(features[self.test], weight)


def _whole(ledger: Ledger, splits: int) -> Ledger:
    """The folds of each split put together: all images once per split."""
    whole = Ledger(ledger.columns)
    for row, cells in ledger.kept.items():
        for column, parts in cells.items():
            size = len(parts) // splits
            for split in range(splits):
                whole.add(row, column, np.sum(parts[split * size : (split + 1) * size], axis=0))
    return whole

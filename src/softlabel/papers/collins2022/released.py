"""The released files of CIFAR-10S and CIFAR-10H, and what facts about them need, computed once.

Everything is computed with the strategies and measures that everything else uses.  Labels are the
released ones, bug for bug, unless a name says "first".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property

import numpy as np

from softlabel import annotators, datasets, metrics, sampling
from softlabel.aggregate import Mean
from softlabel.construct import Clamp, Construct, Uniform, stated_percents
from softlabel.tables import Bools, Floats, Ints

HIGH, LOW = 0.25, 0.1  # nats of CIFAR-10H entropy: ambiguous from here, easy up to there
NEAR_HARD, SOFT = 0.9, 0.5  # share of votes on one class (the paper has no number); nats
CONSTRUCTIONS: dict[str, Construct] = {
    "T2-clamp": Clamp(mode="reference"),
    "T2-unif": Uniform(mode="reference"),
    "T1-clamp": Clamp(top=1, mode="reference"),
    "T1-unif": Uniform(top=1, mode="reference"),
    "T2-clamp, spread 0": Clamp(spread=0.0, mode="reference"),
    "T2-clamp, spread 0.2": Clamp(spread=0.2, mode="reference"),
}
BY_HAND = {"cat": 0.05, "deer": 0.855, "dog": 0.05, "horse": 0.045}  # an answer to image 405


class Released:
    """CIFAR-10S and CIFAR-10H as released, and arrays that several facts need.

    Shapes: 10,000 images of CIFAR-10H, 1,000 of them relabelled; 6,723 answers of 248 people.
    """

    def __init__(self) -> None:
        self.data = datasets.cifar10s.load("all")
        self.votes = datasets.cifar10h.load("counts")
        assert self.data.statements is not None, "CIFAR-10S is statements"
        assert self.data.gold is not None, "the raw file has the classes"
        self.arrays = self.data.arrays
        self.classes: list[str] = self.data.index.labels.tolist()
        self.counts: Ints = self.votes.arrays["counts"]  # (10000, 10)
        self.per_image: Ints = self.counts.sum(axis=1)
        self.shares: Floats = self.counts / self.per_image[:, None]
        self.voted = metrics.possible_labels(self.shares)  # number of classes with votes
        self.entropy = metrics.entropy(self.shares)
        self.train, self.test = self.arrays["train_indices"], self.arrays["test_indices"]
        self.images = np.array([int(item) for item in self.data.index.items.tolist()])  # (1000,)
        self.gold: Ints = self.data.gold
        self.people: Floats = self.shares[self.images]
        self.unsure: Floats = self.entropy[self.images]
        easy = self.images[self.unsure <= LOW]
        self.easy = [int(np.isin(batch, easy).sum()) for batch in self.arrays["batches"]]

        # answers
        self.said = self.data.statements  # (6723,)
        self.persons = len(set(self.said.annotator.tolist()))
        self.once: Bools = ~self.arrays["duplicate"]  # one session is in the file twice
        self.repeat: Bools = self.arrays["is_repeat"]
        self.unique = self.said.take(self.once)
        self.first = self.said.take(self.once & ~self.repeat)
        self.seconds: Floats = self.arrays["rt_ms"] / 1000
        self.total: Floats = np.nansum(self.said.percent, axis=1)  # of the stated chances
        self.second: Ints = self.said.named[:, 1]  # below 0 if none was named
        self.flags = annotators.flag_answers(self.said)
        self.twice: Bools = self.flags["same-class-twice"]
        self.ambiguous: Bools = self.unsure[self.said.item] >= HIGH
        percent = stated_percents(self.said, 2, "reference")
        self.used_up: Bools = percent.sum(axis=1) >= 100  # named classes have all mass
        self.others: Ints = self.said.possible.sum(axis=1) - (percent > 0).sum(axis=1)
        self.stability = annotators.measure_stability(self.unique)
        self.moved = annotators.repeat_distance(Clamp(mode="reference")(self.unique))  # (496,)

        # people: contradictions, first chances of zero, accuracy below 75 %
        judged = annotators.judge(
            self.unique, annotators.get_rules("reference"), self.gold
        )  # (248,)
        self.wrong = np.array([one.errors["contradictory"] for one in judged])
        self.zero = np.array([one.errors["zero-first"] for one in judged])
        self.poor = np.array([one.accuracy < 0.75 for one in judged])
        self._add_labels()

    def _add_labels(self) -> None:
        self.each = Clamp(mode="reference")(self.said)  # (6723,)
        soft = self.each.soft()
        self.possible, self.top = metrics.possible_labels(soft), soft.max(axis=1)
        self.displaced: Bools = soft.argmax(axis=1) != self.said.named[:, 0]
        self.label = Mean()(self.each).probs  # (1000, 10)
        self.apart = metrics.w1_values(self.people, self.label)  # the paper's distance
        self.order: Ints = np.argsort(-self.apart, kind="stable")
        self.near_hard: Bools = self.people.max(axis=1) >= NEAR_HARD
        self.first_labels = {
            name: Mean()(make(self.first)).probs for name, make in CONSTRUCTIONS.items()
        }

    # ── answers and people ───────────────────────────────────────────────────────────────────

    def count_batches(self, people: int) -> int:
        """Count the batches that so many people answered."""
        batches = (self.said.annotator[self.arrays["batch"] == batch] for batch in range(40))
        return [len(set(some.tolist())) for some in batches].count(people)

    def count_people(self, answers: Bools) -> int:
        """Count the people who gave any of these answers."""
        return len(set(self.said.annotator[answers].tolist()))

    def is_possible(self, place: int) -> Bools:
        """(6723,) whether the class named first or second was left possible."""
        return self.said.possible[np.arange(len(self.said)), self.said.named[:, place]]

    def score_people(self, classes: int) -> float:
        """Average over people the share of their pages that name the class of the image."""
        right = self.said.named[:, :classes] == self.gold[self.said.item][:, None]
        who = self.said.annotator
        return float((np.bincount(who, right.any(axis=1)) / np.bincount(who)).mean())

    def count_excluded(self, rules: str) -> int:
        """Count the people whom these rules would exclude."""
        judged = annotators.judge(self.unique, annotators.PRESETS[rules], self.gold)
        return sum(not one.keep for one in judged)

    # ── labels ───────────────────────────────────────────────────────────────────────────────

    def compare(self, measure: Callable[[Floats, Floats], Floats], label: str = "") -> float:
        """Average a distance between the votes and our labels, or those of first answers."""
        ours = self.first_labels[label] if label else self.label
        return float(measure(self.people, ours).mean())

    def correlate(self, label: str = "") -> float:
        """Correlate the entropies of the votes and our labels, or those of first answers."""
        ours = self.first_labels[label] if label else self.label
        return metrics.entropy_pearson(self.people, ours)

    def count_rebuilt(self) -> int:
        """Count the released labels that ours equal to 1e-9."""
        ours, theirs = self.each.soft(), datasets.cifar10s.released_labels()
        same = 0
        for code, name in enumerate(self.data.index.items.tolist()):
            # the files list the answers of an image in different orders
            pair = (ours[self.said.item == code], np.asarray(theirs[name]))
            mine, released = (rows[np.lexsort(rows.round(9).T)] for rows in pair)
            same += int((abs(mine - released).max(axis=1) < 1e-9).sum())
        return same

    # ── what figures show ────────────────────────────────────────────────────────────────────

    def count_by_hand(self) -> float:
        """Count the classes of the label deer 95, horse 5, cat and dog left possible that are as
        computed by hand."""
        by_hand = np.array([BY_HAND.get(name, 0.0) for name in self.classes])
        rows = self.each.soft()[self.said.item == int(np.flatnonzero(self.images == 405)[0])]
        return float((abs(rows - by_hand) < 1e-9).sum(axis=1).max())

    def has_half_truck(self) -> bool:
        """Is there a near-hard automobile that is a quarter truck in CIFAR-10S?"""
        car, truck = self.classes.index("automobile"), self.classes.index("truck")
        return bool((self.near_hard & (self.gold == car) & (self.label[:, truck] >= 0.25)).any())

    def worst(self, number: int) -> list[str]:
        """Return the classes of the images with the largest distances, in order."""
        return [self.classes[code] for code in self.gold[self.order[:number]]]

    def softened(self) -> set[str]:
        """Return the classes with near-hard labels that CIFAR-10S makes soft."""
        rows = self.near_hard & (metrics.entropy(self.label) >= SOFT)
        return {self.classes[code] for code in self.gold[rows]}

    # ── votes ────────────────────────────────────────────────────────────────────────────────

    def share_of_given_class(self) -> float | None:
        """Return the share of votes for the class given with the image."""
        if self.votes.gold is None:
            return None
        right = self.counts[np.arange(len(self.counts)), self.votes.gold]
        return float(right.sum() / self.per_image.sum())

    def vote_seconds(self) -> float | None:
        """Median seconds of a vote on the relabelled images; None without the raw votes."""
        raw = datasets.cifar10h.load("best")
        if "rt_ms" not in raw.arrays:
            return None
        assert raw.annotations is not None, "the raw file is votes"
        rows = np.isin(raw.annotations.item, self.images)
        return float(np.median(raw.arrays["rt_ms"][rows]) / 1000)

    @cached_property
    def draws(self) -> dict[str, list[float]]:
        """Entropy correlation with CIFAR-10H of labels from M answers per image, in 20 draws."""
        relabelled = np.isin(self.votes.index.items, self.data.index.items)
        votes = self.votes.annotations
        assert votes is not None, "CIFAR-10H is votes"
        kinds = (
            ("T2-clamp", self.each, range(1, 7), slice(None)),
            ("CIFAR-10H", votes.take(relabelled[votes.item]), (2, 4, 8, 16, 32), self.images),
        )
        draws: dict[str, list[float]] = {}
        for seed in range(20):
            rng = np.random.default_rng(seed)
            for name, each, numbers, rows in kinds:
                for m in numbers:
                    label = Mean()(sampling.subsample(each, m, rng)).probs[rows]
                    r = metrics.entropy_pearson(self.people, label)
                    draws.setdefault(f"{name}, {m}", []).append(r)
        return draws


@cache
def released() -> Released:
    """Read the files, once."""
    return Released()

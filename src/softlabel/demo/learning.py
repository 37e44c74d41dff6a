"""What the demo's networks learned, as numbers with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softlabel.aggregate import Mean
from softlabel.construct import Clamp
from softlabel.demo.asking import Said, statements
from softlabel.demo.study import PEOPLE, PER_ITEM
from softlabel.demo.teaching import ARMS, Arm, Learned, Lessons
from softlabel.elicit import Classic
from softlabel.metrics import Bins, evaluate, reliability
from softlabel.simulate import crowd, keyed
from softlabel.tables import Floats, Index, Score, names

MEASURES = {  # the first decides
    "kl": "KL",
    "total-variation": "total variation",
    "entropy-pearson": "r",
    "soft-ece": "calibration error",
    "accuracy": "accuracy",
}
MAIN, HARD = next(iter(MEASURES)), 0
BINS = 10


@dataclass(frozen=True, eq=False)
class Taught:
    """One arm: each measure's mean over runs with its interval."""

    arm: Arm
    runs: list[Learned]
    scores: dict[str, Score]


@dataclass(frozen=True, eq=False)
class Learning:
    """Arms from the one that came closest to the truth to the one that stayed farthest."""

    lessons: Lessons
    arms: list[Taught]
    epochs: int

    def behind(self, measure: str = MAIN) -> list[tuple[Taught, Score]]:
        """How much farther than the best arm by this measure (lower is better) each other is:
        run by run, with an interval over pictures and runs."""
        first, *others = self.by(measure)
        people = self.lessons.people
        return [(one, evaluate.paired(one.runs, first.runs, people, measure)) for one in others]

    def by(self, measure: str) -> list[Taught]:
        """The arms, lowest first."""
        return sorted(self.arms, key=lambda one: one.scores[measure].value)


def measure(lessons: Lessons, epochs: int) -> Learning:
    """Hold every run against the truth."""
    people, arms = lessons.people, []
    for arm, runs in zip(ARMS, lessons.runs, strict=True):
        arms.append(Taught(arm, runs, evaluate.over_runs(runs, people, MEASURES)))
    arms.sort(key=lambda one: one.scores[MAIN].value)
    return Learning(lessons, arms, epochs)


def bins(learning: Learning, one: Taught) -> Bins:
    """All runs of an arm together: are its networks as sure as they may be?"""
    true = np.tile(learning.lessons.people.probs, (len(one.runs), 1))
    predicted = np.concatenate([run.predictions.probs for run in one.runs])
    return reliability(true, predicted, BINS, "width", "share")


def asked(lessons: Lessons, items: list[int], seed: int) -> Floats:
    """(len(items), k) what ten of the people say of unseen pictures, pooled as the labels were."""
    truth, everybody = lessons.people.probs, crowd.crowd(PEOPLE, seed)
    index = Index(
        names(lessons.people.index.items[items]),
        names([f"person-{i:02d}" for i in range(1, PEOPLE + 1)]),
        lessons.people.index.labels,
    )
    mode, labels = Classic(), index.labels.tolist()
    said = []
    for code, (item, name) in enumerate(zip(items, index.items.tolist(), strict=True)):
        for who in sorted(keyed(seed, name, "asked").choice(PEOPLE, PER_ITEM, replace=False)):
            answer = everybody[who].says(name, truth[item], "rich", mode, labels)
            said.append(Said(code, int(who), answer))
    return Mean()(Clamp()(statements(index, mode, said))).probs

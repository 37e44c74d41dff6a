"""The bonus by score: how close a person's answers come to those of the others.

An answer p to an item that at least two others have answered, with mean q, scores
``1 - sum((p - q)**2) / 2``: between 0 and 1, and 1 only if p = q.  This is the quadratic (Brier)
score, whose expected value is largest for whoever states the mean that they expect.  A person's
score is the mean over their items.  The blind score is what they would have got on the same items
by always answering the base rate, the mean over all items of what the others say.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from softlabel.serve.researcher.sample import (
    CELLS,
    Reader,
    label_statements,
    list_modes,
    statements,
)
from softlabel.store import Store, TimedAnswer
from softlabel.study import Study
from softlabel.tables import Floats

FEWEST_OTHERS = 2  # the mean of fewer is one person's opinion
ALIKE = 1e-9  # blind scores as close to 1 as this leave nothing to be earned

ItemAnswers = tuple[Sequence[str], Floats]  # the people who answered an item, and (n, k) labels


class Score(NamedTuple):
    """A person's mean score over ``items``, and that of always answering the base rate."""

    items: int
    score: float
    blind: float

    @property
    def share(self) -> Fraction:
        """The share of the way from the blind score to 1, between 0 and 1."""
        if 1 - self.blind < ALIKE:
            return Fraction(self.score >= 1 - ALIKE)
        return Fraction(min(max((self.score - self.blind) / (1 - self.blind), 0.0), 1.0))


class _Sums:
    """What is added up for one person: of their scored items, and of all that they answered."""

    def __init__(self, k: int) -> None:
        self.items, self.alone, self.score, self.squares = 0, 0, 0.0, 0.0
        self.others = np.zeros(k)  # the others' means of the scored items
        self.change = np.zeros(k)  # what the base rate changes by without this person


def score_people(items: Iterable[ItemAnswers], k: int) -> dict[str, Score]:
    """Score everybody who answered an item that at least two others have answered.

    >>> answers = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    >>> score_people([(["ann", "bob", "cleo"], answers)], 2)["bob"]
    Score(items=1, score=1.0, blind=1.0)
    """
    people: dict[str, _Sums] = {}
    base, count = np.zeros(k), 0
    for names, labels in items:
        n = len(names)
        mean = labels.sum(axis=0) / n
        base, count = base + mean, count + 1
        others = (labels.sum(axis=0) - labels) / max(n - 1, 1)
        scores = 1 - np.square(labels - others).sum(axis=1) / 2
        for name, other, score in zip(names, others, scores.tolist(), strict=True):
            sums = people.setdefault(name, _Sums(k))
            sums.alone += n == 1
            sums.change += other - mean
            if n > FEWEST_OTHERS:
                sums.items += 1
                sums.score += score
                sums.others += other
                sums.squares += float(other @ other)
    return {name: _finish(sums, base, count) for name, sums in people.items() if sums.items}


def _finish(sums: _Sums, base: Floats, count: int) -> Score:
    rate = (base + sums.change) / (count - sums.alone)
    # the mean of |rate - other|^2 over the scored items, without keeping them
    products = sums.squares - 2 * float(rate @ sums.others)
    distance = max(float(rate @ rate) + products / sums.items, 0.0)
    return Score(sums.items, sums.score / sums.items, 1 - distance / 2)


def score_study(study: Study, store: Store) -> dict[str, Score]:
    """Score the people of a study by their answers to its items; without practice, checks, repeats,
    skips, superseded answers, and everybody who is left out of the study."""
    return score_people(_read_items(study, store), len(study.labels))


def _read_items(study: Study, store: Store) -> Iterator[ItemAnswers]:
    """Yield the answers by item; a few items are read at a time, since labels may be many."""
    counted = {one.annotator for one in store.work(study.name) if not one.excluded}
    rows, superseded = dict[str, list[TimedAnswer]](), set[str]()
    for row in store.timings(study.name):
        if row.kind == "target" and row.answer_json is not None and row.annotator in counted:
            rows.setdefault(row.item, []).append(row)
        if row.supersedes is not None:
            superseded.add(row.supersedes)
    reader, piece = Reader(study), list[TimedAnswer]()
    for answers in rows.values():
        piece += [row for row in answers if row.id not in superseded]
        if len(piece) * len(study.labels) > CELLS:
            yield from _label(study, reader, piece)
            piece = []
    yield from _label(study, reader, piece)


def _label(study: Study, reader: Reader, rows: Sequence[TimedAnswer]) -> Iterator[ItemAnswers]:
    """Yield the labels of these answers by item."""
    answers = [reader.read(row) for row in rows]
    said = statements(study.labels, answers)
    if not len(said):
        return
    labels = label_statements(said, list_modes(answers)).soft()
    names = said.index.annotators.tolist()
    for item in np.unique(said.item):
        of_item = np.flatnonzero(said.item == item)
        yield [names[code] for code in said.annotator[of_item].tolist()], labels[of_item]

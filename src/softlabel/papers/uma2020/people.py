"""Who might have cast the votes of CIFAR-10H: made-up people to whom the released counts are dealt.

The released counts do not say who voted for what, and a crowd layer and Dawid and Skene's model
must know.  So people are planted: each has a confusion matrix, everybody is asked about as many
images, nobody twice about one, and each image's votes, exactly those that were counted, go to the
people who were asked about it, the wrong ones rather to those who err in that way.  What comes of
it says how the two methods do with people like these, not how they did with those who voted.
"""

from __future__ import annotations

import numpy as np

from softlabel.aggregate import shares
from softlabel.tables import Annotations, Floats, Index, Ints, names

PEOPLE = 2571  # who took part in CIFAR-10H
RIGHT, WRONG = 57.0, 3.0  # of the Beta of people's accuracies: .95 on average, none below .75
SEED = 20200  # the same people in every run


def planted(people: int, counts: Ints, gold: Ints, rng: np.random.Generator) -> Floats:
    """(a, k, k) confusion matrices: an accuracy of their own, and errors spread as everybody's."""
    k = counts.shape[1]
    said = np.stack([counts[gold == true].sum(axis=0) for true in range(k)]).astype(np.float64)
    np.fill_diagonal(said, 0)
    errors = shares(said + (1 - np.eye(k)))  # one more of each, so that no error is impossible
    accuracy = rng.beta(RIGHT, WRONG, people)[:, None, None]
    return np.asarray(accuracy * np.eye(k) + (1 - accuracy) * errors)


def asked(people: int, sizes: Ints, rng: np.random.Generator) -> list[Ints]:
    """Whom to ask about each item: all equally often, but for one, and nobody twice."""
    assert sizes.max() <= people, "nobody votes twice on an item"
    order = np.zeros(0, dtype=np.int64)
    found = []
    for size in sizes.tolist():
        if len(order) < size:  # the next round begins with those who are not in this item already
            again = rng.permutation(people)
            late = np.isin(again, order)
            order = np.concatenate([order, again[~late], again[late]])
        found.append(order[:size])
        order = order[size:]
    return found


def dealt(index: Index, counts: Ints, gold: Ints, people: int = PEOPLE) -> Annotations:
    """The votes counted in (m, k) ``counts``, each with somebody's name."""
    rng = np.random.default_rng(SEED)
    table = planted(people, counts, gold, rng)
    who, what = [], []
    for row, (item, true) in enumerate(
        zip(asked(people, counts.sum(axis=1), rng), gold, strict=True)
    ):
        votes = np.full(len(item), true)
        free = np.ones(len(item), dtype=np.bool_)
        odds = table[item, true] / table[item, true, true][:, None]  # of each error, against right
        for label in np.repeat(np.arange(counts.shape[1]), counts[row]).tolist():
            if label != true:
                chance = odds[:, label] * free
                chosen = rng.choice(len(item), p=chance / chance.sum())
                votes[chosen], free[chosen] = label, False
        who.append(item)
        what.append(votes)
    item = np.repeat(np.arange(len(counts)), counts.sum(axis=1))
    named = Index(index.items, names([f"planted {a}" for a in range(people)]), index.labels)
    return Annotations(named, item, np.concatenate(who), label=np.concatenate(what))

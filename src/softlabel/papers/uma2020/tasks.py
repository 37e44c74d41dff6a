"""The three tasks of Uma et al. 2020 as lessons, one for each way to make labels from the votes.

Cross-entropy and entropy correlation need votes on the items that are tested, so every task holds
out items with votes.  Items of which only the true class is known are predicted, too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from softlabel import datasets
from softlabel.aggregate import DawidSkene, Majority, Share, Softmax, shares
from softlabel.deliver import TrainingLabels
from softlabel.errors import DataError
from softlabel.metrics import one_hot
from softlabel.papers.claims import quick as generated
from softlabel.papers.uma2020.numbers import Way, released_votes
from softlabel.randomness import name_keys, uniform
from softlabel.tables import Annotations, Floats, Index, Ints, Names, SoftLabels, names
from softlabel.train import FoldedSplit, SentenceSplit, Split, Validation, splits, tagging

FOLDS = 9  # of LabelMe: 889 photographs to learn from and 111 held out, nearly the paper's 8 to 1
CHOOSING = 10  # one training tweet in so many is set aside to choose the best epoch

# as in 1979, without a prior, and with the tolerance that the stored runs were made with
DAWID_SKENE = DawidSkene(smoothing=0.0, tol=1e-6)


def teach(votes: Annotations, gold: Ints, way: Way) -> TrainingLabels:
    """Return what is taught in one of the ways: one class for ``gold``, ``majority`` and
    ``dawid-skene``, a distribution for ``shares`` and ``softmax``, the votes for a crowd layer."""
    pools: Any = {"softmax": Softmax(), "majority": Majority(), "dawid-skene": DAWID_SKENE}
    soft = pools.get(way, Share())(votes)
    hard = gold if way == "gold" else soft.probs.argmax(axis=1)
    return TrainingLabels(hard, soft.probs, votes)


@dataclass(frozen=True, eq=False)
class Truth:
    """What predictions are compared with, matched by the names of the items: true classes by the
    name of the accuracy, and people's distributions by the prefix of the other scores' names."""

    gold: Mapping[str, SoftLabels]
    people: Mapping[str, SoftLabels]


def true_labels(items: Names, gold: Ints, classes: Names) -> SoftLabels:
    """Return true classes as labels."""
    index = Index(items, names([]), classes)
    return SoftLabels(index, one_hot(gold, len(classes)), np.ones(len(items), dtype=np.int64))


# what items with votes are called and their accuracy, and the same of items with true classes alone
VOTED = {
    "labelme": ("photograph", "held/accuracy", "test", "accuracy"),
    "pos": ("gimpel", "accuracy", "lowlands", "lowlands/accuracy"),
}


@cache
def voted_truth(task: str) -> Truth:
    """Return the truth of a task with votes: distributions are softmax of counts, as in the paper,
    and shares under the prefix ``share/``; true classes are also known of other items."""
    item, accuracy, other, other_accuracy = VOTED[task]
    data = datasets.load(task)
    votes, gold = released_votes(task)
    items = names([f"{item} {number}" for number in data.index.items.tolist()])
    index = Index(items, names([]), data.index.labels)
    people = {
        prefix: SoftLabels(index, pool(votes).probs, votes.votes_per_item())
        for prefix, pool in (("", Softmax()), ("share/", Share()))
    }
    classes = {accuracy: true_labels(items, gold, index.labels)}
    tested = data.arrays.get("y_test", data.arrays.get("test_gold"))
    if tested is not None:
        items = names([f"{other} {number}" for number in range(len(tested))])
        classes[other_accuracy] = true_labels(items, tested, index.labels)
    return Truth(classes, people)


# ── LabelMe ──────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=2)
def labelme(way: Way) -> FoldedSplit:
    """Return 1,000 photographs with votes, in folds, and 1,188 that only experts labelled."""
    data = datasets.labelme.load()
    truth = voted_truth("labelme")
    people, tested = truth.people[""], truth.gold["accuracy"]
    items = [*people.index.items.tolist(), *tested.index.items.tolist()]
    photographs = data.arrays["x_train"]
    order = np.argsort(uniform(0, name_keys(data.index.items)), kind="stable")  # by their names
    rank = np.argsort(order, kind="stable")
    return FoldedSplit(
        photographs,
        teach(*released_votes("labelme"), way),
        np.concatenate([photographs, data.arrays["x_test"]]),
        Index(names(items), names([]), data.index.labels),
        people,
        {"images": "labelme", "labels": way},
        validation=Validation(
            data.arrays["x_valid"], one_hot(data.arrays["y_valid"], len(data.index.labels))
        ),
        fold=np.asarray(rank % FOLDS),  # folds differ by at most one item in size
    )


# ── parts of speech ──────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=2)
def pos(way: Way) -> SentenceSplit:
    """Return 910 tweets to learn from, of which one in ten chooses the epoch, and 90 held out
    together with the Lowlands tweets, of which only the true tags are known."""
    data = datasets.pos.load()
    votes, gold = released_votes("pos")
    if "tweet" not in data.arrays:
        raise DataError("pos: tokens.csv, which says where tweets begin, is not there")
    tweet, held = data.arrays["tweet"], data.arrays["is_dev"]
    choose = ~held & (tweet % CHOOSING == CHOOSING - 1)
    learn = np.flatnonzero(~held & ~choose)
    words = np.array(data.texts["word"].tolist(), dtype=object)
    codes = tagging.build_vocabulary(words[learn])
    tables = {
        name: tagging.word_table(words[rows].tolist(), tweet[rows], codes)
        for name, rows in (("learn", learn), ("choose", choose), ("held", held))
    }
    items = [f"gimpel {item}" for item in data.index.items[held].tolist()]
    if "test_word" in data.texts:
        other = tagging.word_table(
            data.texts["test_word"].tolist(), data.arrays["test_tweet"], codes
        )
        tables["held"] = np.concatenate([tables["held"], other])
        items += [f"lowlands {row}" for row in range(len(other))]
    unpooled = np.full((len(gold), len(data.index.labels)), np.nan)
    learned = TrainingLabels(gold, unpooled, votes).only(learn)
    assert learned.each is not None, "the votes were given"
    all_people = voted_truth("pos").people[""]
    return SentenceSplit(
        tables["learn"],
        teach(learned.each, learned.hard, way),
        tables["held"],
        Index(names(items), names([]), data.index.labels),
        splits.select_labels(all_people, all_people.index.items[held]),
        {"images": "pos", "labels": way},
        choosing=tables["choose"],
        choosing_gold=gold[choose],
    )


# ── CIFAR-10H ────────────────────────────────────────────────────────────────────────────────


def cifar10h(way: Way) -> Split:
    """Return the authors' 7,000 and 3,000 images.  Votes are dealt to planted people unless the
    raw file, which says who voted, is on this machine."""
    lesson = splits.read_split("cifar10h")
    votes, gold = lesson.teaching.each, lesson.teaching.hard
    assert votes is not None, "CIFAR-10H is votes"
    planted = votes.anonymous
    if planted:
        votes = deal_votes(votes.index, votes.counts().astype(np.int64), gold)
    named = {"images": "cifar10h", "labels": way, "people": "planted" if planted else "real"}
    return replace(lesson, teaching=teach(votes, gold, way), named=named)


@cache
def cifar10h_truth() -> Truth:
    """Return CIFAR-10's classes, and shares of all votes."""
    images = datasets.cifar10.load("test")
    assert images.gold is not None, "CIFAR-10 has its classes"
    gold = true_labels(images.index.items, images.gold, images.index.labels)
    return Truth({"accuracy": gold}, {"": splits.load_people("cifar10h")})


# Planted people.  The released counts do not say who voted for what, which a crowd layer and Dawid
# and Skene's model must know.  Each planted person has a confusion matrix.  All are asked about
# equally many images, and nobody twice about one.  Each image's votes, exactly those counted, go to
# the people asked about it; a wrong vote goes preferably to somebody who errs in that way.  The
# results show how the two methods do with people like these, not with those who voted.

PEOPLE = 2571  # who took part in CIFAR-10H
RIGHT, WRONG = 57.0, 3.0  # of the Beta of people's accuracies: .95 on average, none below .75
SEED = 20200  # the same people in every run


def plant_people(people: int, counts: Ints, gold: Ints, rng: np.random.Generator) -> Floats:
    """Return (a, k, k) confusion matrices: own accuracies, and errors spread as everybody's."""
    k = counts.shape[1]
    given = np.stack([counts[gold == true].sum(axis=0) for true in range(k)]).astype(np.float64)
    np.fill_diagonal(given, 0)
    errors = shares(given + (1 - np.eye(k)))  # one more of each, so that no error is impossible
    accuracy = rng.beta(RIGHT, WRONG, people)[:, None, None]
    return np.asarray(accuracy * np.eye(k) + (1 - accuracy) * errors)


def assign_people(people: int, sizes: Ints, rng: np.random.Generator) -> list[Ints]:
    """Return whom to ask about each item: nobody twice, and loads that differ by at most one."""
    assert sizes.max() <= people, "nobody votes twice on an item"
    order = np.zeros(0, dtype=np.int64)
    assigned = []
    for size in sizes.tolist():
        if len(order) < size:  # the next round begins with those who do not see this item already
            again = rng.permutation(people)
            late = np.isin(again, order)
            order = np.concatenate([order, again[~late], again[late]])
        assigned.append(order[:size])
        order = order[size:]
    return assigned


def deal_votes(index: Index, counts: Ints, gold: Ints, people: int = PEOPLE) -> Annotations:
    """Return the votes counted in (m, k) ``counts``, each cast by a planted person."""
    rng = np.random.default_rng(SEED)
    matrices = plant_people(people, counts, gold, rng)
    sizes = counts.sum(axis=1)
    assigned = assign_people(people, sizes, rng)
    labels = []
    for row, (asked, true) in enumerate(zip(assigned, gold, strict=True)):
        votes = np.full(len(asked), true)
        free = np.ones(len(asked), dtype=np.bool_)
        odds = matrices[asked, true] / matrices[asked, true, true][:, None]  # errors against right
        for label in np.repeat(np.arange(counts.shape[1]), counts[row]).tolist():
            if label != true:
                weight = odds[:, label] * free
                chosen = rng.choice(len(asked), p=weight / weight.sum())
                votes[chosen], free[chosen] = label, False
        labels.append(votes)
    item = np.repeat(np.arange(len(counts)), sizes)
    named = Index(index.items, names([f"planted {a}" for a in range(people)]), index.labels)
    return Annotations(named, item, np.concatenate(assigned), label=np.concatenate(labels))


# ── generated pictures, for a quick look without data ────────────────────────────────────────


def quick(way: Way) -> Split:
    """Return 200 pictures with simulated votes to learn from, and 80 held out."""
    base = generated.lesson()
    assert base.teaching.each is not None, "people voted"
    return replace(base, teaching=teach(base.teaching.each, base.teaching.hard, way))


def quick_truth() -> Truth:
    """Return the true class of the 80, and how people would split."""
    people = generated.lesson().people
    classes = true_labels(people.index.items, people.probs.argmax(axis=1), people.index.labels)
    return Truth({"accuracy": classes}, {"": people})


TASKS: dict[str, tuple[Callable[[Way], Split], Callable[[], Truth]]] = {
    "labelme": (labelme, partial(voted_truth, "labelme")),
    "pos": (pos, partial(voted_truth, "pos")),
    "cifar10h": (cifar10h, cifar10h_truth),
    "quick": (quick, quick_truth),
}

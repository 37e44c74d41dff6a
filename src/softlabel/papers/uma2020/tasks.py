"""The three tasks of Uma et al. 2020 as lessons, one for each way to make labels of the votes.

Cross-entropy and entropy correlation need votes on the items that are tested, so in every task
items with votes are held out; where there are others of which only the true class is known, these
are predicted too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal, get_args

import numpy as np

from softlabel import datasets
from softlabel.aggregate import DawidSkene, Majority, Share, Softmax
from softlabel.deliver import Teaching
from softlabel.errors import DataError
from softlabel.metrics import one_hot
from softlabel.papers.uma2020 import people as uma2020_people
from softlabel.randomness import name_keys, uniform
from softlabel.tables import Annotations, Floats, Index, Ints, Names, SoftLabels, names
from softlabel.train import Folded, Lesson, Sentences, published, tagging

Way = Literal["gold", "majority", "dawid-skene", "crowd-layer", "shares", "softmax"]
WAYS: tuple[Way, ...] = get_args(Way)

FOLDS = 9  # of LabelMe: 889 photographs are learned and 111 held out, nearly the paper's 8 to 1
CHOOSING = 10  # one tweet in so many of those to learn from says which epoch was best


@dataclass(frozen=True, eq=False)
class Truth:
    """What predictions are held against, by the names of the items: true classes, by the name of
    the accuracy, and people's distributions, by what stands before the names of other scores."""

    gold: Mapping[str, SoftLabels]
    people: Mapping[str, SoftLabels]


# ── ways to learn from votes ─────────────────────────────────────────────────────────────────


def taught(each: Annotations, gold: Ints, way: Way) -> Teaching:
    """What is taught under each of the names of Tables 2 and 3: for ``gold``, ``majority`` and
    ``dawid-skene`` one class, for ``shares`` and ``softmax`` a distribution; a crowd layer takes
    the votes themselves."""
    pool: Any = {"softmax": Softmax(), "majority": Majority(), "dawid-skene": silver()}
    soft = pool.get(way, Share())(each)
    hard = gold if way == "gold" else soft.probs.argmax(axis=1)
    return Teaching(hard, soft.probs, each)


def silver() -> DawidSkene:
    """As in 1979, without a prior, and with the tolerance that the stored runs were made with."""
    return DawidSkene(smoothing=0.0, tol=1e-6)


# ── LabelMe ──────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=2)
def labelme(way: Way) -> Folded:
    """1,000 photographs that people labelled, in folds, and 1,188 that only experts labelled."""
    data = datasets.labelme.load()
    said, gold = _votes(data)
    sure, people = labelme_truth().gold, labelme_truth().people[""]
    items = [*people.index.items.tolist(), *sure["accuracy"].index.items.tolist()]
    photographs = data.arrays["x_train"]
    return Folded(
        photographs,
        taught(said, gold, way),
        np.concatenate([photographs, data.arrays["x_test"]]),
        Index(names(items), names([]), data.index.labels),
        people,
        {"images": "labelme", "labels": way},
        fold=folds(data.index.items),
    )


@cache
def labelme_truth() -> Truth:
    """Of photographs with votes, softmax of the counts, as in the paper, and shares beside it."""
    data = datasets.labelme.load()
    said, gold = _votes(data)
    called = names([f"photograph {item}" for item in data.index.items.tolist()])
    tested = names([f"test {row}" for row in range(len(data.arrays["y_test"]))])
    classes = data.index.labels
    return Truth(
        {
            "accuracy": certain(tested, data.arrays["y_test"], classes),
            "held/accuracy": certain(called, gold, classes),
        },
        _both(said, called),
    )


def folds(items: Names) -> Ints:
    """(m,) a fold for each item, by its name; folds differ by at most one item in size."""
    rank = np.argsort(np.argsort(uniform(0, name_keys(items)), kind="stable"), kind="stable")
    return np.asarray(rank % FOLDS)


# ── parts of speech ──────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=2)
def pos(way: Way) -> Sentences:
    """910 tweets to learn from, of which one in ten chooses the epoch; 90 are held out, and with
    them the Lowlands tweets, of which only the true tags are known."""
    data = datasets.pos.load()
    said, gold = _votes(data)
    if "tweet" not in data.arrays:
        raise DataError("pos: tokens.csv, which says where tweets begin, is not there")
    tweet, held = data.arrays["tweet"], data.arrays["is_dev"]
    choose = ~held & (tweet % CHOOSING == CHOOSING - 1)
    learn = np.flatnonzero(~held & ~choose)
    words = np.array(data.texts["word"].tolist(), dtype=object)
    codes = tagging.vocabulary(words[learn])
    tables = {
        name: tagging.table(words[rows].tolist(), tweet[rows], codes)
        for name, rows in (("learn", learn), ("choose", choose), ("held", held))
    }
    items = [f"gimpel {item}" for item in data.index.items[held].tolist()]
    if "test_word" in data.texts:
        other = tagging.table(data.texts["test_word"].tolist(), data.arrays["test_tweet"], codes)
        tables["held"] = np.concatenate([tables["held"], other])
        items += [f"lowlands {row}" for row in range(len(other))]
    return Sentences(
        tables["learn"],
        taught(_only(said, learn), gold[learn], way),
        tables["held"],
        Index(names(items), names([]), data.index.labels),
        _rows(pos_truth().people[""], np.flatnonzero(held)),
        {"images": "pos", "labels": way},
        choosing=tables["choose"],
        choosing_gold=gold[choose],
    )


@cache
def pos_truth() -> Truth:
    """As for LabelMe; the tweets held out have both votes and true tags."""
    data = datasets.pos.load()
    said, gold = _votes(data)
    called = names([f"gimpel {item}" for item in data.index.items.tolist()])
    sure = {"accuracy": certain(called, gold, data.index.labels)}
    if "test_gold" in data.arrays:
        tags = data.arrays["test_gold"]
        other = names([f"lowlands {row}" for row in range(len(tags))])
        sure["lowlands/accuracy"] = certain(other, tags, data.index.labels)
    return Truth(sure, _both(said, called))


# ── CIFAR-10H ────────────────────────────────────────────────────────────────────────────────


def cifar10h(way: Way) -> Lesson:
    """The authors' 7,000 and 3,000 images; votes have the names of planted people, unless the raw
    file, which says who voted, is there."""
    known = published.cifar10h()
    each = known.teaching.each
    assert each is not None, "CIFAR-10H is votes"
    real = not each.anonymous
    if not real:
        each = uma2020_people.dealt(each.index, each.counts().astype(np.int64), known.gold)
    place = {item: row for row, item in enumerate(known.items.tolist())}
    rows = [[place[item] for item in some.tolist()] for some in (known.learn, known.held)]
    return Lesson(
        known.images[rows[0]],
        taught(each, known.gold, way),
        known.images[rows[1]],
        Index(known.held, names([]), known.people.index.labels),
        known.people,
        {"images": "cifar10h", "labels": way, "people": "real" if real else "planted"},
    )


@cache
def cifar10h_truth() -> Truth:
    """CIFAR-10's classes, and shares of all votes."""
    images = datasets.cifar10.load("test")
    assert images.gold is not None, "CIFAR-10 has its classes"
    people = published.people("cifar10h")
    sure = certain(images.index.items, images.gold, images.index.labels)
    return Truth({"accuracy": sure}, {"": people})


# ── underneath ───────────────────────────────────────────────────────────────────────────────


def _votes(data: datasets.Dataset) -> tuple[Annotations, Ints]:
    assert data.annotations is not None, f"{data.name} is votes"
    assert data.gold is not None, f"{data.name} has true classes"
    return data.annotations, data.gold


def _only(said: Annotations, items: Ints) -> Annotations:
    """The votes on these items alone, which are renumbered in this order."""
    every = Teaching(np.zeros(len(said.index.items), dtype=np.int64), _nothing(said), said)
    each = every.only(items).each
    assert each is not None, "it was given"
    return each


def _nothing(said: Annotations) -> Floats:
    """(m, k) no pooled label for any item."""
    m, _, k = said.index.shape
    return np.full((m, k), np.nan)


def certain(items: Names, gold: Ints, classes: Names) -> SoftLabels:
    """True classes as labels."""
    index = Index(items, names([]), classes)
    return SoftLabels(index, one_hot(gold, len(classes)), np.ones(len(items), dtype=np.int64))


def _both(said: Annotations, called: Names) -> dict[str, SoftLabels]:
    """Softmax of counts, and under ``share/`` the shares, of items under these names."""
    index = Index(called, names([]), said.index.labels)
    return {
        before: SoftLabels(index, pool(said).probs, said.votes_per_item())
        for before, pool in (("", Softmax()), ("share/", Share()))
    }


def _rows(people: SoftLabels, rows: Ints) -> SoftLabels:
    index = Index(people.index.items[rows], names([]), people.index.labels)
    return SoftLabels(index, people.probs[rows], people.count[rows])

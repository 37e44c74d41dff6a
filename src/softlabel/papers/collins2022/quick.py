"""The same experiment in a minute, without data: simulated people look at generated pictures."""

from __future__ import annotations

import numpy as np

from softlabel.aggregate import Mean
from softlabel.deliver import Teaching
from softlabel.metrics import one_hot
from softlabel.papers.claims import quick
from softlabel.papers.collins2022.settings import Exam, Setting
from softlabel.tables import Annotations, Index, Ints, SoftLabels, names
from softlabel.train import Known

RELABELLED, APART = 60, 20  # of those to learn from, and of those held out: for rich answers


def generated(name: str, features: bool) -> Setting:
    """200 pictures to learn from, 60 of them relabelled; 60 held out with votes, 20 with rich
    answers."""
    made = quick.made()
    items, gold = made.votes.index.items, made.gold
    learn, last = np.arange(quick.LEARN), len(items) - APART
    voted, believed = np.arange(quick.LEARN, last), np.arange(last, len(items))
    people = {"10h": _of(made.votes, voted), "10s": _of(made.rich, believed)}
    exams = {
        "10h": Exam(people["10h"], gold[voted], 10),
        "10s": Exam(people["10s"], gold[believed], 5),
    }
    known = Known(
        name,
        items,
        made.features if features else made.images,
        items[learn],
        gold[learn],
        Teaching(gold[learn], one_hot(gold[learn], made.truth.shape[1])),
        items[quick.LEARN :],
        people["10h"],
    )
    said = made.said.take(made.said.item < RELABELLED)
    votes = made.votes.take(made.votes.item < RELABELLED)
    return Setting(known, said, said, votes, exams, None)


def _of(said: Annotations, rows: Ints) -> SoftLabels:
    """Mean labels of these items."""
    soft = Mean()(said)
    index = Index(soft.index.items[rows], names([]), soft.index.labels)
    return SoftLabels(index, soft.probs[rows], soft.count[rows])

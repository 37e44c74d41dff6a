"""Table 1 and figure 1 of Uma et al. 2020, from the released votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

from softlabel import datasets
from softlabel.annotators import observed_agreement
from softlabel.papers.claims import Claim, Published, Results
from softlabel.papers.uma2020.tables import SHOWN, STATISTICS, TASKS
from softlabel.tables import Annotations, Floats, Ints, Score

HALF = 0.005 + 1e-9  # of the last digit printed
PEOPLE = 10  # more labels than this a word has from a program, or as a test of annotators
EXAMPLE = {"deer": 13, "dog": 33, "horse": 4}  # the votes of figure 1, where deer is true
WHO = "the released counts do not say who voted; the raw file (cifar10h-raw.zip) would"

Votes = tuple[Annotations, Ints]


def facts() -> list[Claim]:
    """Printed numbers that need no training."""
    return [*_table1(), *_all_words(), _text(), *_figure1()]


# ── the votes ────────────────────────────────────────────────────────────────────────────────


@cache
def votes(task: str) -> Votes:
    """All votes of a task, and the true classes."""
    data = getattr(datasets, task).load()
    return data.annotations, data.gold


@cache
def by_people(task: str) -> Votes:
    """POS without the words that everybody, or nearly, has a label for: a program wrote the one
    kind, and annotators were tested with the other."""
    said, gold = votes(task)
    if task != "pos":
        return said, gold
    few = said.votes_per_item() <= PEOPLE
    return said.take(few[said.item]), gold


# ── Table 1 ──────────────────────────────────────────────────────────────────────────────────


def per_item(said: Annotations, gold: Ints) -> float:
    """Votes per item that has any."""
    count = said.votes_per_item()
    return float(count[count > 0].mean())


def per_class(said: Annotations, gold: Ints) -> float:
    """The same over the number of classes."""
    return per_item(said, gold) / len(said.index.labels)


def agreement(said: Annotations, gold: Ints) -> float:
    """The chance that two votes on an item are the same, averaged over items."""
    return float(np.nanmean(observed_agreement(said)))


def accuracies(said: Annotations, gold: Ints) -> Floats:
    """(a,) the share of right votes of everybody who voted."""
    assert said.label is not None, "these are votes"
    right = said.label == gold[said.item]
    count = np.bincount(said.annotator, minlength=len(said.index.annotators))
    return np.asarray(np.bincount(said.annotator, right, len(count))[count > 0] / count[count > 0])


def mean_accuracy(said: Annotations, gold: Ints) -> float:
    """Of annotators; of votes where nobody knows whose they are."""
    assert said.label is not None, "these are votes"
    if said.anonymous:
        return float((said.label == gold[said.item]).mean())
    return float(accuracies(said, gold).mean())


def above(said: Annotations, gold: Ints) -> float | None:
    """The share of annotators who are right at least three times in four: printed as "above", but
    only with those at exactly .75 does it come out as printed."""
    return None if said.anonymous else float((accuracies(said, gold) >= 0.75).mean())


STATISTIC: dict[str, Callable[[Annotations, Ints], float | None]] = {
    "annotations per item": per_item,
    "annotations per item and class": per_class,
    "observed agreement": agreement,
    "mean accuracy of annotators": mean_accuracy,
    "share of annotators at .75 or above": above,
}


def _table1() -> Iterator[Claim]:
    for task in TASKS:
        for name, row in STATISTICS.items():
            note = ", words with at most ten labels" if task == "pos" else ""
            if task == "cifar10h" and name == "mean accuracy of annotators":
                note = " (ours: of votes)"
            yield Claim(
                id=f"table1/{task}/{name}",
                where=f"Table 1, {SHOWN[task]}",
                says=f"{name}{note}",
                kind="exact",
                ours=partial(_counted, by_people, task, name),
                published=Published(row[TASKS.index(task)]),
                tolerance=HALF,
                reason=WHO,
            )


def _all_words() -> Iterator[Claim]:
    """POS with all labels of the released file."""
    for name, row in STATISTICS.items():
        yield Claim(
            id=f"table1/pos/all/{name}",
            where=f"Table 1, {SHOWN['pos']}",
            says=f"{name}, all labels of the released file",
            kind="exact",
            ours=partial(_counted, votes, "pos", name),
            published=Published(row[TASKS.index("pos")]),
            tolerance=HALF,
        )


def _text() -> Claim:
    return Claim(
        id="text/labelme/annotations per item",
        where="section on LabelMe",
        says="2.54 annotations per photograph, where Table 1 has 2.50",
        kind="exact",
        ours=partial(_counted, votes, "labelme", "annotations per item"),
        published=Published(2.54),
        tolerance=0.01,  # printed without rounding up
    )


def _counted(get: Callable[[str], Votes], task: str, name: str, results: Results) -> Score | None:
    said, gold = get(task)
    value = STATISTIC[name](said, gold)
    if value is None:
        return None
    return Score(value, value, value, int((said.votes_per_item() > 0).sum()))


# ── figure 1 ─────────────────────────────────────────────────────────────────────────────────


def _figure1() -> Iterator[Claim]:
    yield Claim(
        id="figure1/votes",
        where="figure 1",
        says="an image of a deer has 33 votes for dog, 13 for deer and 4 for horse: how many do",
        kind="exact",
        ours=_examples,
        published=Published(1.0),
    )


def _examples(results: Results) -> Score:
    said, gold = votes("cifar10h")
    classes = said.index.labels.tolist()
    row = np.array([EXAMPLE.get(name, 0) for name in classes])
    same = (said.counts() == row).all(axis=1) & (gold == classes.index("deer"))
    count = float(same.sum())
    return Score(count, count, count, len(gold))

"""What Uma et al. 2020 print and conclude: Tables 1 to 3, their orderings, and figure 1.

Accuracies are printed in per cent and returned as shares.  Means and standard deviations are over
30 runs, for CIFAR-10H over 10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

import numpy as np

from softlabel import datasets
from softlabel.annotators import agree
from softlabel.papers.claims import Claim, Published, Recipe, Results
from softlabel.tables import Annotations, Floats, Ints, Score

Way = Literal["gold", "majority", "dawid-skene", "crowd-layer", "shares", "softmax"]
Row = Way | Literal["soft"]  # of Table 2 or 3

TASKS = ("pos", "labelme", "cifar10h")
TASK_NAMES = {"pos": "POS", "labelme": "LabelMe", "cifar10h": "CIFAR-10H"}


@dataclass(frozen=True)
class Condition:
    """A task and the way in which it is learned; ``name`` is that of its cell.

    The crowd layer on LabelMe learns from all photographs at once, as in the authors' code, or in
    ``batches``, as the other ways do.
    """

    task: str
    way: Way
    batches: bool = False

    @property
    def labels(self) -> str:
        """What is learned, without the task."""
        return f"{self.way}-batches" if self.batches else self.way

    @property
    def name(self) -> str:
        return f"{self.task}/{self.labels}"


# ── printed numbers ──────────────────────────────────────────────────────────────────────────

# Table 1: a row, and what is printed for each task
STATISTICS: dict[str, tuple[float, float, float]] = {
    "annotations per item": (5.00, 2.50, 51.10),
    "annotations per item and class": (0.30, 0.26, 5.11),
    "observed agreement": (0.73, 0.73, 0.94),
    "mean accuracy of annotators": (0.68, 0.69, 0.95),
    "share of annotators at .75 or above": (0.29, 0.42, 1.00),
}

# Table 2: soft labels made two ways, accuracy and its standard deviation
TABLE_2: dict[Way, dict[str, tuple[float, float]]] = {
    "shares": {"pos": (78.99, 0.36), "labelme": (83.46, 0.82), "cifar10h": (66.64, 0.81)},
    "softmax": {"pos": (80.03, 0.28), "labelme": (84.85, 0.50), "cifar10h": (65.50, 1.10)},
}

# Table 3: (mean, sd) of accuracy, cross-entropy and entropy correlation
SCORES = ("accuracy", "cross-entropy", "entropy-pearson")
Three = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
TABLE_3: dict[Row, dict[str, Three]] = {
    "gold": {
        "pos": ((89.22, 0.70), (3.34, 0.40), (0.41, 0.02)),
        "labelme": ((97.21, 0.49), (4.86, 0.14), (-0.01, 0.01)),
        "cifar10h": ((65.22, 0.76), (2.61, 0.07), (0.13, 0.09)),
    },
    "majority": {
        "pos": ((77.90, 0.84), (2.58, 0.13), (0.52, 0.02)),
        "labelme": ((80.36, 0.57), (3.07, 0.09), (0.15, 0.01)),
        "cifar10h": ((65.68, 1.01), (2.63, 0.10), (0.13, 0.03)),
    },
    "dawid-skene": {
        "pos": ((77.46, 1.75), (2.52, 0.09), (0.50, 0.02)),
        "labelme": ((83.43, 0.79), (2.90, 0.23), (0.11, 0.05)),
        "cifar10h": ((65.65, 1.15), (2.55, 0.14), (0.13, 0.02)),
    },
    "crowd-layer": {
        "pos": ((76.50, 2.57), (2.16, 0.04), (0.60, 0.04)),
        "labelme": ((83.54, 0.57), (2.80, 0.15), (0.28, 0.06)),
        "cifar10h": ((68.25, 1.06), (3.51, 0.14), (0.12, 0.01)),
    },
    "soft": {
        "pos": ((80.03, 0.28), (1.67, 0.52), (0.67, 0.01)),
        "labelme": ((84.85, 0.50), (1.64, 0.02), (0.39, 0.08)),
        "cifar10h": ((66.64, 0.81), (1.11, 0.04), (0.22, 0.01)),
    },
}
ROW_NAMES: dict[str, str] = {
    "gold": "true classes",
    "majority": "majority",
    "dawid-skene": "Dawid-Skene",
    "crowd-layer": "crowd layer",
    "soft": "soft loss",
    "shares": "shares",
    "softmax": "softmax",
}

# the soft loss of Table 3 is the more accurate soft label of Table 2
SOFT: dict[str, Way] = {"pos": "softmax", "labelme": "softmax", "cifar10h": "shares"}


def printed(row: Row, task: str, score: str) -> Published:
    """Return a cell of Table 3 or, for ``shares`` and ``softmax``, of Table 2."""
    if row == "shares" or row == "softmax":
        mean, sd = TABLE_2[row][task]
    else:
        mean, sd = TABLE_3[row][task][SCORES.index(score)]
    scale = 100 if score == "accuracy" else 1
    return Published(mean / scale, sd / scale, "sd")


def condition_of(row: Row, task: str) -> Condition:
    """Return the condition that a row of Table 2 or 3 is compared with."""
    return Condition(task, SOFT[task] if row == "soft" else row)


# ── claims about training ────────────────────────────────────────────────────────────────────

SCORE_NAMES = {
    "accuracy": "accuracy",
    "cross-entropy": "cross-entropy to people",
    "entropy-pearson": "entropy correlation with people",
}


def claims(recipe: Recipe) -> list[Claim]:
    """Return every cell of Tables 2 and 3, and what the paper concludes from them."""
    tasks = TASKS if recipe == "paper" else ("cifar10h",)
    return [
        *(claim for task in tasks for claim in _orderings(task)),
        *(
            _value(f"table2/{task}/{way}", "Table 2", way, task, "accuracy")
            for task in tasks
            for way in TABLE_2
        ),
        *(
            _value(f"table3/{task}/{row}/{score}", "Table 3", row, task, score)
            for task in tasks
            for row in TABLE_3
            for score in SCORES
        ),
    ]


def _value(id: str, table: str, row: Row, task: str, score: str) -> Claim:
    name = condition_of(row, task).name
    return Claim(
        id,
        f"{table}, {TASK_NAMES[task]}",
        f"{ROW_NAMES[row]}: {score}{_note(row, task)}",
        "value",
        lambda results: results.mean(name, score),
        printed(row, task, score),
    )


def _orderings(task: str) -> Iterator[Claim]:
    others: tuple[Row, ...] = ("gold", "majority", "dawid-skene", "crowd-layer")
    for score in ("cross-entropy", "entropy-pearson"):
        for other in others:
            yield _ordering("Table 3", "soft", other, task, score)
    for other in others[1:]:
        yield _ordering("Table 3", "soft", other, task, "accuracy")
    better: Way = SOFT[task]
    worse: Way = "shares" if better == "softmax" else "softmax"
    votes = "many reliable votes" if task == "cifar10h" else "few noisy votes"
    yield _ordering("Table 2", better, worse, task, "accuracy", f", given {votes}")


def _ordering(table: str, first: Row, second: Row, task: str, score: str, given: str = "") -> Claim:
    """Compare two rows; the spread is that of runs which have nothing in common."""
    ahead, behind = printed(first, task, score), printed(second, task, score)
    apart = ahead.value - behind.value
    sd = ((ahead.half or 0) ** 2 + (behind.half or 0) ** 2) ** 0.5
    names = condition_of(first, task).name, condition_of(second, task).name
    return Claim(
        f"{table.lower().replace(' ', '')}/{task}/{first}-{second}/{score}",
        f"{table}, {TASK_NAMES[task]}",
        f"{SCORE_NAMES[score]} is {'higher' if apart > 0 else 'lower'} with {ROW_NAMES[first]} "
        f"than with {ROW_NAMES[second]}{given}{_note(second, task)}",
        "ordering",
        lambda results: results.difference(*names, score),
        Published(apart, sd, "sd"),
    )


def _note(row: Row, task: str) -> str:
    """Say where the annotators of CIFAR-10H would have to be known."""
    unknown = task == "cifar10h" and row in ("dawid-skene", "crowd-layer")
    return " (ours: planted annotators)" if unknown else ""


# ── facts: Table 1 and figure 1 from the released votes ──────────────────────────────────────

HALF = 0.005 + 1e-9  # of the last digit printed
MOST = 10  # a word with more labels got them from a program, or as a test of annotators
EXAMPLE = {"deer": 13, "dog": 33, "horse": 4}  # the votes of figure 1, where deer is true
ANONYMOUS = "the released counts do not say who voted; the raw file (cifar10h-raw.zip) would"
Votes = tuple[Annotations, Ints]


def facts() -> list[Claim]:
    """Return the printed numbers that need no training."""
    rows = []
    for task in TASKS:
        for name in STATISTICS:
            note = ", words with at most ten labels" if task == "pos" else ""
            if task == "cifar10h" and name == "mean accuracy of annotators":
                note = " (ours: of votes)"
            rows.append((f"table1/{task}/{name}", task, name, note, votes_by_people, ANONYMOUS))
    for name in STATISTICS:
        note = ", all labels of the released file"
        rows.append((f"table1/pos/all/{name}", "pos", name, note, released_votes, ""))
    return [
        *(
            Claim(
                id,
                f"Table 1, {TASK_NAMES[task]}",
                f"{name}{note}",
                "exact",
                partial(_count, votes, task, name),
                Published(STATISTICS[name][TASKS.index(task)]),
                HALF,
                reason,
            )
            for id, task, name, note, votes, reason in rows
        ),
        Claim(
            "text/labelme/annotations per item",
            "section on LabelMe",
            "annotations per photograph: 2.54 in the text, 2.50 in Table 1",
            "exact",
            partial(_count, released_votes, "labelme", "annotations per item"),
            Published(2.54),
            0.01,  # printed without rounding up
        ),
        Claim(
            "figure1/votes",
            "figure 1",
            "number of deer images with 33 votes for dog, 13 for deer and 4 for horse",
            "exact",
            _count_examples,
            Published(1.0),
        ),
    ]


@cache
def released_votes(task: str) -> Votes:
    """Return all votes of a task, and the true classes."""
    data = datasets.load(task)
    assert data.annotations is not None, f"{task} is votes"
    assert data.gold is not None, f"{task} has true classes"
    return data.annotations, data.gold


@cache
def votes_by_people(task: str) -> Votes:
    """Return the votes without the words of POS that (nearly) every annotator has a label for: a
    program wrote some of these labels, and the other words were tests of annotators."""
    votes, gold = released_votes(task)
    if task != "pos":
        return votes, gold
    few = votes.votes_per_item() <= MOST
    return votes.take(few[votes.item]), gold


def per_item(votes: Annotations, gold: Ints) -> float:
    """Return the votes per item that has any."""
    count = votes.votes_per_item()
    return float(count[count > 0].mean())


def per_class(votes: Annotations, gold: Ints) -> float:
    """Return the votes per item and class."""
    return per_item(votes, gold) / len(votes.index.labels)


def agreement(votes: Annotations, gold: Ints) -> float:
    """Return the probability that two votes on an item agree, averaged over items."""
    return float(np.nanmean(agree.observed_agreement(votes)))


def accuracies(votes: Annotations, gold: Ints) -> Floats:
    """Return (a,) the share of right votes of everybody who voted."""
    right = votes.label == gold[votes.item]
    count = np.bincount(votes.annotator, minlength=len(votes.index.annotators))
    return np.asarray(np.bincount(votes.annotator, right, len(count))[count > 0] / count[count > 0])


def mean_accuracy(votes: Annotations, gold: Ints) -> float:
    """Return the mean over annotators, or over votes where the annotators are not known."""
    if votes.anonymous:
        return float(np.mean(votes.label == gold[votes.item]))
    return float(accuracies(votes, gold).mean())


def share_of_good(votes: Annotations, gold: Ints) -> float | None:
    """Return the share of annotators who are right at least three times in four.  The paper says
    "above"; only with those at exactly .75 does the share come out as printed."""
    return None if votes.anonymous else float((accuracies(votes, gold) >= 0.75).mean())


COUNTING: dict[str, Callable[[Annotations, Ints], float | None]] = {
    "annotations per item": per_item,
    "annotations per item and class": per_class,
    "observed agreement": agreement,
    "mean accuracy of annotators": mean_accuracy,
    "share of annotators at .75 or above": share_of_good,
}


def _count(read: Callable[[str], Votes], task: str, name: str, results: Results) -> Score | None:
    votes, gold = read(task)
    value = COUNTING[name](votes, gold)
    if value is None:
        return None
    return Score(value, value, value, int((votes.votes_per_item() > 0).sum()))


def _count_examples(results: Results) -> Score:
    votes, gold = released_votes("cifar10h")
    classes = votes.index.labels.tolist()
    row = np.array([EXAMPLE.get(name, 0) for name in classes])
    same = (votes.counts() == row).all(axis=1) & (gold == classes.index("deer"))
    count = float(same.sum())
    return Score(count, count, count, len(gold))

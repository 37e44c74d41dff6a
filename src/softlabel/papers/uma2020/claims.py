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
from softlabel.annotators import observed_agreement
from softlabel.papers.claims import Claim, Published, Results, Scale
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
SOFT_WAYS: tuple[Way, Way] = ("shares", "softmax")
TABLE_2: dict[tuple[Row, str], tuple[float, float]] = {
    ("shares", "pos"): (78.99, 0.36),
    ("shares", "labelme"): (83.46, 0.82),
    ("shares", "cifar10h"): (66.64, 0.81),
    ("softmax", "pos"): (80.03, 0.28),
    ("softmax", "labelme"): (84.85, 0.50),
    ("softmax", "cifar10h"): (65.50, 1.10),
}

# Table 3: (mean, sd) of accuracy, cross-entropy and entropy correlation
ROWS: tuple[Row, ...] = ("gold", "majority", "dawid-skene", "crowd-layer", "soft")
SCORES = ("accuracy", "cross-entropy", "entropy-pearson")
TABLE_3: dict[tuple[Row, str], tuple[tuple[float, float], ...]] = {
    ("gold", "pos"): ((89.22, 0.70), (3.34, 0.40), (0.41, 0.02)),
    ("gold", "labelme"): ((97.21, 0.49), (4.86, 0.14), (-0.01, 0.01)),
    ("gold", "cifar10h"): ((65.22, 0.76), (2.61, 0.07), (0.13, 0.09)),
    ("majority", "pos"): ((77.90, 0.84), (2.58, 0.13), (0.52, 0.02)),
    ("majority", "labelme"): ((80.36, 0.57), (3.07, 0.09), (0.15, 0.01)),
    ("majority", "cifar10h"): ((65.68, 1.01), (2.63, 0.10), (0.13, 0.03)),
    ("dawid-skene", "pos"): ((77.46, 1.75), (2.52, 0.09), (0.50, 0.02)),
    ("dawid-skene", "labelme"): ((83.43, 0.79), (2.90, 0.23), (0.11, 0.05)),
    ("dawid-skene", "cifar10h"): ((65.65, 1.15), (2.55, 0.14), (0.13, 0.02)),
    ("crowd-layer", "pos"): ((76.50, 2.57), (2.16, 0.04), (0.60, 0.04)),
    ("crowd-layer", "labelme"): ((83.54, 0.57), (2.80, 0.15), (0.28, 0.06)),
    ("crowd-layer", "cifar10h"): ((68.25, 1.06), (3.51, 0.14), (0.12, 0.01)),
    ("soft", "pos"): ((80.03, 0.28), (1.67, 0.52), (0.67, 0.01)),
    ("soft", "labelme"): ((84.85, 0.50), (1.64, 0.02), (0.39, 0.08)),
    ("soft", "cifar10h"): ((66.64, 0.81), (1.11, 0.04), (0.22, 0.01)),
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
    in_table_2 = TABLE_2.get((row, task))
    mean, sd = in_table_2 or TABLE_3[row, task][SCORES.index(score)]
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


def claims(recipe: Scale) -> list[Claim]:
    """Return every cell of Tables 2 and 3, and what the paper concludes from them."""
    tasks = TASKS if recipe == "paper" else ("cifar10h",)
    orderings = [claim for task in tasks for claim in _orderings(task)]
    table_2 = [
        _value(f"table2/{task}/{way}", "Table 2", way, task, "accuracy")
        for task in tasks
        for way in SOFT_WAYS
    ]
    table_3 = [
        _value(f"table3/{task}/{row}/{score}", "Table 3", row, task, score)
        for task in tasks
        for row in ROWS
        for score in SCORES
    ]
    return [*orderings, *table_2, *table_3]


def _value(id: str, table: str, row: Row, task: str, score: str) -> Claim:
    where, says = f"{table}, {TASK_NAMES[task]}", f"{ROW_NAMES[row]}: {score}{_note(row, task)}"
    cell = condition_of(row, task).name
    published = printed(row, task, score)
    return Claim(id, where, says, "value", lambda results: results.mean(cell, score), published)


def _orderings(task: str) -> Iterator[Claim]:
    """Compare the soft loss with the other rows of Table 3, and the two rows of Table 2."""
    for score in ("cross-entropy", "entropy-pearson"):
        for other in ROWS[:-1]:
            yield _ordering("Table 3", "soft", other, task, score)
    for other in ROWS[1:-1]:
        yield _ordering("Table 3", "soft", other, task, "accuracy")
    better = SOFT[task]
    (worse,) = (way for way in SOFT_WAYS if way != better)
    votes = "many reliable votes" if task == "cifar10h" else "few noisy votes"
    yield _ordering("Table 2", better, worse, task, "accuracy", f", given {votes}")


def _ordering(table: str, first: Row, second: Row, task: str, score: str, given: str = "") -> Claim:
    """Compare two rows; the spread is that of runs which have nothing in common."""
    one, two = printed(first, task, score), printed(second, task, score)
    apart = one.value - two.value
    sd = ((one.half or 0) ** 2 + (two.half or 0) ** 2) ** 0.5
    cells = condition_of(first, task).name, condition_of(second, task).name
    return Claim(
        f"{table.lower().replace(' ', '')}/{task}/{first}-{second}/{score}",
        f"{table}, {TASK_NAMES[task]}",
        f"{SCORE_NAMES[score]} is {'higher' if apart > 0 else 'lower'} with {ROW_NAMES[first]} "
        f"than with {ROW_NAMES[second]}{given}{_note(second, task)}",
        "ordering",
        lambda results: results.difference(*cells, score),
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
    text = Claim(
        "text/labelme/annotations per item",
        "section on LabelMe",
        "annotations per photograph: 2.54 in the text, 2.50 in Table 1",
        "exact",
        partial(_count, released_votes, "labelme", "annotations per item"),
        Published(2.54),
        0.01,  # printed without rounding up
    )
    says = "number of deer images with 33 votes for dog, 13 for deer and 4 for horse"
    example = Claim("figure1/votes", "figure 1", says, "exact", _count_examples, Published(1.0))
    return [*_table_1(), text, example]


def _table_1() -> Iterator[Claim]:
    for task, read, prefix, note, reason in (
        ("pos", votes_by_people, "", ", words with at most ten labels", ANONYMOUS),
        ("labelme", released_votes, "", "", ANONYMOUS),
        ("cifar10h", released_votes, "", "", ANONYMOUS),
        ("pos", released_votes, "all/", ", all labels of the released file", ""),
    ):
        for name, row in STATISTICS.items():
            of_votes = task == "cifar10h" and name == "mean accuracy of annotators"
            yield Claim(
                f"table1/{task}/{prefix}{name}",
                f"Table 1, {TASK_NAMES[task]}",
                f"{name}{' (ours: of votes)' if of_votes else note}",
                "exact",
                partial(_count, read, task, name),
                Published(row[TASKS.index(task)]),
                HALF,
                reason,
            )


@cache
def released_votes(task: str) -> Votes:
    """Return all votes of a task, and the true classes."""
    data = datasets.load(task)
    assert data.annotations is not None, f"{task} is votes"
    assert data.gold is not None, f"{task} has true classes"
    return data.annotations, data.gold


@cache
def votes_by_people(task: str) -> Votes:
    """Return the votes on items with few of them.  On some words of POS (nearly) every annotator
    has a label: a program wrote these, or the words were tests of annotators."""
    votes, gold = released_votes(task)
    few = votes.votes_per_item() <= MOST
    return votes.take(few[votes.item]), gold


def statistics(votes: Annotations, gold: Ints) -> dict[str, float | None]:
    """Return the rows of Table 1; None where the annotators would have to be known.  Observed
    agreement is the probability that two votes on an item agree, averaged over items."""
    count = votes.votes_per_item()
    per_item = float(count[count > 0].mean())
    known = None if votes.anonymous else accuracies(votes, gold)
    return {
        "annotations per item": per_item,
        "annotations per item and class": per_item / len(votes.index.labels),
        "observed agreement": float(np.nanmean(observed_agreement(votes))),
        "mean accuracy of annotators": float(
            np.mean(votes.label == gold[votes.item] if known is None else known)  # else of votes
        ),
        # "above" in the paper, but only with those at exactly .75 does it come out as printed
        "share of annotators at .75 or above": (
            None if known is None else float((known >= 0.75).mean())
        ),
    }


def accuracies(votes: Annotations, gold: Ints) -> Floats:
    """Return (a,) the share of right votes of everybody who voted."""
    right = votes.label == gold[votes.item]
    count = np.bincount(votes.annotator, minlength=len(votes.index.annotators))
    return np.asarray(np.bincount(votes.annotator, right, len(count))[count > 0] / count[count > 0])


def _count(read: Callable[[str], Votes], task: str, name: str, results: Results) -> Score | None:
    votes, gold = read(task)
    value = statistics(votes, gold)[name]
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

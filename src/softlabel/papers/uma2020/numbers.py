"""What Uma et al. 2020 print and conclude: Tables 1 to 3, their orderings, and figure 1.

Accuracies are printed in per cent and returned as shares.  Means and standard deviations are over
30 runs, for CIFAR-10H over 10.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.special import stdtrit

from softlabel import datasets
from softlabel.annotators import observed_agreement
from softlabel.papers.claims import Claim, Published, Results, Scale
from softlabel.tables import Annotations, Floats, Ints, Score

Way = Literal["gold", "majority", "dawid-skene", "crowd-layer", "shares", "softmax"]
Row = Way | Literal["soft"]  # of Table 2 or 3

TASKS = ("pos", "labelme", "cifar10h")
RUNS = {"pos": 30, "labelme": 30, "cifar10h": 10}  # that the paper averages
TASK_NAMES = {"pos": "POS", "labelme": "LabelMe", "cifar10h": "CIFAR-10H"}


@dataclass(frozen=True)
class Condition:
    """A task and the way in which it is learned; ``name`` is that of its cell.

    The crowd layer on LabelMe learns from all photographs at once, as in the authors' code, or in
    ``batches``, as the other ways do.  LabelMe is learned in 20 epochs of which the best is kept,
    as in the paper, or in 50, as in the authors' ``code``.
    """

    task: str
    way: Way
    batches: bool = False
    code: bool = False

    @property
    def labels(self) -> str:
        """What is learned, without the task."""
        return f"{self.way}-batches" if self.batches else self.way

    @property
    def name(self) -> str:
        return f"{self.task}{'-code' if self.code else ''}/{self.labels}"


# ── printed numbers ──────────────────────────────────────────────────────────────────────────

PUBLISHED = tomllib.loads(Path(__file__).with_name("published.toml").read_text("utf-8"))
SOFT_WAYS: tuple[Way, Way] = ("shares", "softmax")  # the rows of Table 2
ROWS: tuple[Row, ...] = ("gold", "majority", "dawid-skene", "crowd-layer", "soft")  # of Table 3
SCORE_NAMES = {
    "accuracy": "accuracy",
    "cross-entropy": "cross-entropy",
    "entropy-pearson": "entropy correlation",
}
SCORES = tuple(SCORE_NAMES)
TABLE_2: dict[tuple[str, str], Any]
TABLE_3: dict[tuple[str, str], Any]
TABLE_2, TABLE_3 = (
    {(row, task): cell for row, cells in PUBLISHED[table].items() for task, cell in cells.items()}
    for table in ("table_2", "table_3")
)
ROW_NAMES: dict[str, str] = PUBLISHED["row_names"]

# the soft loss of Table 3 is the more accurate soft label of Table 2
SOFT: dict[str, Way] = {"pos": "softmax", "labelme": "softmax", "cifar10h": "shares"}


def printed(row: Row, task: str, score: str) -> Published:
    """Return a cell of Table 3 or, for ``shares`` and ``softmax``, of Table 2."""
    mean, sd = TABLE_2.get((row, task)) or TABLE_3[row, task][SCORES.index(score)]
    scale = 100 if score == "accuracy" else 1
    return Published(mean / scale, sd / scale, "sd")


def condition_of(row: Row, task: str) -> Condition:
    """Return the condition that a row of Table 2 or 3 is compared with: as the paper describes it,
    which says nothing of learning from all photographs at once."""
    batches = (task, row) == ("labelme", "crowd-layer")
    return Condition(task, SOFT[task] if row == "soft" else row, batches)


# ── claims about training ────────────────────────────────────────────────────────────────────


def claims(recipe: Scale) -> list[Claim]:
    """Return every cell of Tables 2 and 3, and what the paper concludes from them: how the soft
    loss compares with the other rows of Table 3, and the two rows of Table 2 with each other."""
    tasks = TASKS if recipe == "paper" else ("cifar10h",)
    claims = []
    for task in tasks:
        for score in ("cross-entropy", "entropy-pearson", "accuracy"):
            # the text claims that soft labels beat even true classes on CIFAR-10H, and there alone
            above = ROWS[1:-1] if score == "accuracy" and task != "cifar10h" else ROWS[:-1]
            for other in above:
                claims.append(_ordering("Table 3", "soft", other, task, score))
        better = SOFT[task]
        (worse,) = (way for way in SOFT_WAYS if way != better)
        given = f", given {'many reliable' if task == 'cifar10h' else 'few noisy'} votes"
        claims.append(_ordering("Table 2", better, worse, task, "accuracy", given))
    for task, way in product(tasks, SOFT_WAYS):
        claims.append(_value(f"table2/{task}/{way}", "Table 2", way, task, "accuracy"))
    for task, row, score in product(tasks, ROWS, SCORES):
        claims.append(_value(f"table3/{task}/{row}/{score}", "Table 3", row, task, score))
    return claims


def _value(id: str, table: str, row: Row, task: str, score: str) -> Claim:
    where, says = f"{table}, {TASK_NAMES[task]}", f"{ROW_NAMES[row]}: {score}{_note(row, task)}"
    cell = condition_of(row, task).name
    published = printed(row, task, score)
    return Claim(id, where, says, "value", lambda results: results.mean(cell, score), published)


def _ordering(table: str, first: Row, second: Row, task: str, score: str, given: str = "") -> Claim:
    """Compare two rows; the interval is that of the means of runs which have nothing in common,
    from the printed standard deviations."""
    one, two = printed(first, task, score), printed(second, task, score)
    apart, runs = one.value - two.value, RUNS[task]
    error = (((one.half or 0) ** 2 + (two.half or 0) ** 2) / runs) ** 0.5
    half = float(stdtrit(2 * runs - 2, 0.975)) * error
    cells = condition_of(first, task), condition_of(second, task)
    id = f"{table.lower().replace(' ', '')}/{task}/{first}-{second}/{score}"
    says = f"{PUBLISHED['score_names'][score]} is {'higher' if apart > 0 else 'lower'} with "
    says += f"{ROW_NAMES[first]} than with {ROW_NAMES[second]}{given}{_note(second, task)}"
    where, known = f"{table}, {TASK_NAMES[task]}", Published(apart, half, "ci95")
    return Claim(id, where, says, "ordering", lambda r: r.difference(*cells, score), known)


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
    claims = []
    for task, read, prefix, note, reason in (
        ("pos", votes_by_people, "", ", words with at most ten labels", ANONYMOUS),
        ("labelme", released_votes, "", "", ANONYMOUS),
        ("cifar10h", released_votes, "", "", ANONYMOUS),
        ("pos", released_votes, "all/", ", all labels of the released file", ""),
    ):
        for name, row in PUBLISHED["table_1"].items():
            of_votes = task == "cifar10h" and name == "mean accuracy of annotators"
            says = f"{name}{' (ours: of votes)' if of_votes else note}"
            id, where = f"table1/{task}/{prefix}{name}", f"Table 1, {TASK_NAMES[task]}"
            ours, published = partial(_count, read, task, name), Published(row[TASKS.index(task)])
            claims.append(Claim(id, where, says, "exact", ours, published, HALF, reason))
    says = "annotations per photograph: 2.54 in the text, 2.50 in Table 1"
    id, where = "text/labelme/annotations per item", "section on LabelMe"
    ours = partial(_count, released_votes, "labelme", "annotations per item")
    # the text does not round up
    claims.append(Claim(id, where, says, "exact", ours, Published(2.54), 0.01))
    says = "number of deer images with 33 votes for dog, 13 for deer and 4 for horse"
    example = Claim("figure1/votes", "figure 1", says, "exact", _count_examples, Published(1.0))
    return [*claims, example]


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
    # "above" in the paper, but only with those at exactly .75 does it come out as printed
    above = None if known is None else float(np.mean(known >= 0.75))
    right = votes.label == gold[votes.item] if known is None else known  # of votes or of annotators
    return {
        "annotations per item": per_item,
        "annotations per item and class": per_item / len(votes.index.labels),
        "observed agreement": float(np.nanmean(observed_agreement(votes))),
        "mean accuracy of annotators": float(np.mean(right)),
        "share of annotators at .75 or above": above,
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

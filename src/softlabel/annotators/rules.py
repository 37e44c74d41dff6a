"""Rules: which answers look wrong, and which annotators a published rule excludes.

Nothing here drops anything.  Rules are values with a version; a verdict says who and why.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel.elicit import ZERO_IS_100
from softlabel.errors import UnknownName
from softlabel.tables import ANONYMOUS, Annotations, Bools, Floats, Ints, Statements

# ── answers ──────────────────────────────────────────────────────────────────────────────────

# the errors of C22; its third, "no chance for the top class", comes as none or as zero
ERRORS = ("out-of-range", "contradictory", "zero-first", "no-number-first")


def flag_answers(statements: Statements) -> dict[str, Bools]:
    """Return masks (n,) of implausible answers, by name.  The first four are the errors of C22."""
    first, second = _column(statements.named, 0, -1), _column(statements.named, 1, -1)
    p1, p2 = _column(statements.percent, 0, np.nan), _column(statements.percent, 1, np.nan)
    percent, given = statements.percent, ~np.isnan(statements.percent)
    small = (percent > 0) & (percent <= 1)
    repaired = statements.repairs.get(ZERO_IS_100, np.zeros(len(statements), dtype=np.bool_))
    return {
        "out-of-range": (percent > 100).any(axis=1),
        "contradictory": statements.contradictory,
        "zero-first": (p1 == 0) | repaired,
        "no-number-first": (first >= 0) & np.isnan(p1),
        "same-class-twice": (second >= 0) & (first == second),
        "second-above-first": p2 > p1,
        "sum-above-100": np.where(given, percent, 0).sum(axis=1) > 100,
        "nothing-stated": np.where(given, percent, 0).sum(axis=1) == 0,
        "all-ruled-out": ~statements.possible.any(axis=1),
        "none-ruled-out": statements.possible.all(axis=1),
        "unit-scale": (given & small).any(axis=1) & ~(given & ~small & (percent != 0)).any(axis=1),
    }


def _column(rows: npt.NDArray[Any], number: int, fill: float) -> npt.NDArray[Any]:
    """Return one column of a table that may not have it."""
    return rows[:, number] if rows.shape[1] > number else np.full(len(rows), fill)


@dataclass(frozen=True)
class Rounding:
    """How people round: shares of all stated chances."""

    n: int
    multiple_of_5: float
    multiple_of_10: float
    exactly_100: float


def measure_rounding(statements: Statements) -> Rounding:
    """Measure how often stated chances are round numbers (as stated, after repairs)."""
    values = statements.percent[~np.isnan(statements.percent)]
    if not len(values):
        return Rounding(0, math.nan, math.nan, math.nan)
    fives, tens = (float((values % step == 0).mean()) for step in (5, 10))
    return Rounding(len(values), fives, tens, float((values == 100).mean()))


# ── annotators under published rules ─────────────────────────────────────────────────────────

LONG_RUN = 10  # pages in a row with the same top class: no shuffled batch looks like that


@dataclass(frozen=True)
class Rules:
    """When an annotator is excluded.  ``None`` switches a rule off.

    An annotator is excluded with more than ``errors`` errors of all types together, more than
    ``out_of_range``, ``contradictory`` or ``zero_first`` of one type, or with at least one error
    of the types ``judged`` and an accuracy under ``accuracy``.  Accuracy alone excludes nobody.
    """

    name: str
    version: int
    errors: int | None = None
    out_of_range: int | None = None
    contradictory: int | None = None
    zero_first: int | None = None
    accuracy: float | None = None
    judged: tuple[str, ...] = ERRORS

    def reasons(self, count: Mapping[str, int], accuracy: float) -> tuple[str, ...]:
        """Why these error counts and this accuracy exclude; empty if they do not."""
        limits = {
            "errors": (sum(count.get(kind, 0) for kind in ERRORS), self.errors),
            "out-of-range": (count.get("out-of-range", 0), self.out_of_range),
            "contradictory": (count.get("contradictory", 0), self.contradictory),
            "zero-first": (count.get("zero-first", 0), self.zero_first),
        }
        reasons = [
            f"{n} {kind}, at most {limit} allowed"
            for kind, (n, limit) in limits.items()
            if limit is not None and n > limit
        ]
        judged = sum(count.get(kind, 0) for kind in self.judged)
        if self.accuracy is not None and judged and accuracy < self.accuracy:
            reasons.append(f"{judged} error(s) and accuracy {accuracy:.2f} under {self.accuracy}")
        return tuple(reasons)


PRESETS = {
    # C22, section 3: more than two errors exclude; one or two do so below 75 % accuracy
    "paper": Rules("paper", 1, errors=2, accuracy=0.75),
    # the released code: stricter, per type, and any number out of range excludes at once
    "reference": Rules(
        "reference",
        1,
        out_of_range=0,
        contradictory=1,
        zero_first=1,
        accuracy=0.75,
        judged=("contradictory", "zero-first"),
    ),
}


def get_rules(name: str) -> Rules:
    """Return the published rules of this name."""
    if name not in PRESETS:
        raise UnknownName("set of quality rules", name, PRESETS)
    return PRESETS[name]


@dataclass(frozen=True)
class Verdict:
    """One annotator under one set of rules: ``reasons`` exclude, ``remarks`` only report."""

    annotator: str
    answers: int
    errors: Mapping[str, int]
    accuracy: float
    reasons: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def keep(self) -> bool:
        return not self.reasons


def judge(
    answers: Statements | Annotations,
    rules: Rules,
    gold: Ints | None = None,
    seconds: Floats | None = None,
    fastest: float = 3.0,
) -> list[Verdict]:
    """Judge every annotator who answered under these rules, repeats included.

    Votes state no chances and rule nothing out, so no rule can exclude a voter.  Remarks remain:
    the same class many times in a row, changed answers to the same item, speed.

    ``gold`` holds class codes per item (-1 unknown), ``seconds`` the time each answer took.
    Answers in under ``fastest`` seconds are remarked on.
    """
    if not isinstance(answers, Annotations):
        masks, top = flag_answers(answers), _column(answers.named, 0, -1)
    else:
        masks = {}
        top = answers.soft().argmax(axis=1) if answers.label is None else answers.label
    order = np.argsort(answers.annotator, kind="stable")
    people, start = np.unique(answers.annotator[order], return_index=True)
    verdicts = []
    for a, rows in zip(people.tolist(), np.split(order, start[1:]), strict=True):
        if a == ANONYMOUS or not len(rows):
            continue
        count = {kind: int(mask[rows].sum()) for kind, mask in masks.items()}
        accuracy = _accuracy(top[rows], answers.item[rows], gold)
        remarks = _remarks(top[rows], answers.item[rows], count)
        if seconds is not None and (quick := int((seconds[rows] < fastest).sum())):
            remarks.append(f"{quick} answer(s) in under {fastest:g} s")
        name, reasons = str(answers.index.annotators[a]), rules.reasons(count, accuracy)
        verdicts.append(Verdict(name, len(rows), count, accuracy, reasons, tuple(remarks)))
    return verdicts


def _accuracy(top: Ints, item: Ints, gold: Ints | None) -> float:
    if gold is None or (top < 0).all():
        return math.nan
    known = np.asarray(gold)[item]
    right = top == known
    return float(right[known >= 0].mean()) if (known >= 0).any() else math.nan


def _remarks(top: Ints, item: Ints, count: Mapping[str, int]) -> list[str]:
    """List what deserves a look in one person's answers but excludes nobody."""
    remarks = [
        f"{count[kind]} {kind}"
        for kind in ("same-class-twice", "second-above-first", "all-ruled-out", "unit-scale")
        if count.get(kind)
    ]
    if count.get("none-ruled-out") == len(top):
        remarks.append("never ruled anything out")
    edges = np.flatnonzero(np.r_[True, top[1:] != top[:-1], True])
    longest = int(np.diff(edges).max())
    if longest >= LONG_RUN:
        remarks.append(f"the same top class on {longest} pages in a row")
    seen: dict[int, int] = {}
    pairs = [
        (seen[code], row)
        for row, code in enumerate(item.tolist())
        if seen.setdefault(code, row) != row
    ]
    changed = sum(int(top[a] != top[b]) for a, b in pairs)
    if pairs and changed == len(pairs):
        remarks.append(f"another top class on every repeat ({changed})")
    return remarks


# ── annotators beside everybody else ─────────────────────────────────────────────────────────

HASTE = 1 / 3  # of everybody's median time
ALONE = 3.0  # robust standard deviations below the usual agreement with the others
FEW = 5  # answers, and people, below which nothing is called unusual
ROUNDING = 1e-9  # where most people are alike, sums in another order single nobody out


@dataclass(frozen=True)
class Usual:
    """What is usual among these people: the median seconds per answer (NaN: unknown), and the
    agreement with the others below which somebody is flagged.  A flag excludes nobody."""

    seconds: float
    alone: float

    def flags(self, answers: int, seconds: float, agreement: float) -> list[str]:
        """List what is unusual about one person; nothing for people with few answers."""
        if answers < FEW:
            return []
        flags = []
        if seconds < HASTE * self.seconds:
            flags.append(f"fast: {seconds:.1f} s an answer, others {self.seconds:.1f} s")
        if agreement < self.alone:
            flags.append(f"agrees with the others by {agreement:.2f}, under {self.alone:.2f}")
        return flags


def find_usual(seconds: Iterable[float], agreement: Iterable[float]) -> Usual:
    """Summarise everybody's median seconds and everybody's agreement with the others."""
    known = [value for value in seconds if math.isfinite(value)]
    return Usual(float(np.median(known)) if known else math.nan, lower_limit(agreement))


def lower_limit(values: Iterable[float]) -> float:
    """Return the limit below which a value is unusual: the median minus ``ALONE`` robust standard
    deviations (1.4826 times the median distance from the median); -inf for under ``FEW`` values."""
    known = np.array([value for value in values if math.isfinite(value)])
    if len(known) < FEW:
        return -math.inf
    middle = float(np.median(known))
    spread = 1.4826 * float(np.median(abs(known - middle)))
    return middle - ALONE * spread - ROUNDING

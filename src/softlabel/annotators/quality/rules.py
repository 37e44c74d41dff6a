"""Which annotators would fall out by which declared rule: values with a version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softlabel.annotators.quality.answers import ERRORS, column, flags
from softlabel.errors import UnknownName
from softlabel.tables import ANONYMOUS, Annotations, Floats, Ints, Statements

LONG_RUN = 10  # pages in a row with the same top class: no shuffled batch looks like that


@dataclass(frozen=True)
class Rules:
    """When an annotator falls out.  ``None`` switches a rule off.

    An annotator is out with more than ``errors`` errors of all types together, more than
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
        total = sum(count.get(kind, 0) for kind in ERRORS)
        limits = {
            "errors": (total, self.errors),
            "out-of-range": (count.get("out-of-range", 0), self.out_of_range),
            "contradictory": (count.get("contradictory", 0), self.contradictory),
            "zero-first": (count.get("zero-first", 0), self.zero_first),
        }
        found = [
            f"{n} {kind}, at most {limit} allowed"
            for kind, (n, limit) in limits.items()
            if limit is not None and n > limit
        ]
        judged = sum(count.get(kind, 0) for kind in self.judged)
        if self.accuracy is not None and judged and accuracy < self.accuracy:
            found.append(f"{judged} error(s) and accuracy {accuracy:.2f} under {self.accuracy}")
        return tuple(found)


PRESETS = {
    # C22, section 3: more than two errors out; with one or two, out below 75 % accuracy
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


def preset(name: str) -> Rules:
    """The published rules under this name."""
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
    said: Statements | Annotations,
    rules: Rules,
    gold: Ints | None = None,
    seconds: Floats | None = None,
    fastest: float = 3.0,
) -> list[Verdict]:
    """Every annotator who answered, under these rules, repeats included.

    Votes state no chances and rule nothing out, so no rule can exclude a voter; what is remarked
    on is left: the same class again and again, other answers to the same item, speed.

    ``gold`` are class codes per item (-1 unknown); ``seconds`` the time each answer took, of which
    those under ``fastest`` are remarked on.
    """
    masks = {} if isinstance(said, Annotations) else flags(said)
    top = _top(said)
    order = np.argsort(said.annotator, kind="stable")
    people, start = np.unique(said.annotator[order], return_index=True)
    verdicts = []
    for a, rows in zip(people.tolist(), np.split(order, start[1:]), strict=True):
        if a == ANONYMOUS or not len(rows):
            continue
        count = {kind: int(mask[rows].sum()) for kind, mask in masks.items()}
        accuracy = _accuracy(top[rows], said.item[rows], gold)
        remarks = _remarks(top[rows], said.item[rows], count)
        if seconds is not None and (quick := int((seconds[rows] < fastest).sum())):
            remarks.append(f"{quick} answer(s) in under {fastest:g} s")
        verdicts.append(
            Verdict(
                str(said.index.annotators[a]),
                len(rows),
                count,
                accuracy,
                rules.reasons(count, accuracy),
                tuple(remarks),
            )
        )
    return verdicts


def _top(said: Statements | Annotations) -> Ints:
    """(n,) the class that each answer names first or thinks most probable; -1 where it has none."""
    if isinstance(said, Annotations):
        return said.soft().argmax(axis=1) if said.label is None else said.label
    return column(said.named, 0, -1)


def _accuracy(top: Ints, item: Ints, gold: Ints | None) -> float:
    if gold is None or (top < 0).all():
        return float("nan")
    known = np.asarray(gold)[item]
    right = top == known
    return float(right[known >= 0].mean()) if (known >= 0).any() else float("nan")


def _remarks(top: Ints, item: Ints, count: Mapping[str, int]) -> list[str]:
    """Checks worth a look that exclude nobody, of one person's answers."""
    found = [
        f"{count[kind]} {kind}"
        for kind in ("same-class-twice", "second-above-first", "all-ruled-out", "unit-scale")
        if count.get(kind)
    ]
    if count.get("none-ruled-out") == len(top):
        found.append("never ruled anything out")
    edges = np.flatnonzero(np.r_[True, top[1:] != top[:-1], True])
    longest = int(np.diff(edges).max())
    if longest >= LONG_RUN:
        found.append(f"the same top class on {longest} pages in a row")
    seen: dict[int, int] = {}
    pairs = [
        (seen[code], row)
        for row, code in enumerate(item.tolist())
        if seen.setdefault(code, row) != row
    ]
    changed = sum(int(top[a] != top[b]) for a, b in pairs)
    if pairs and changed == len(pairs):
        found.append(f"another top class on every repeat ({changed})")
    return found

"""What Uma et al. 2020 claim of training: every cell of Tables 2 and 3, and their orderings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from softlabel.papers.claims import Claim, Recipe, Results
from softlabel.papers.uma2020.tables import (
    NORMALISERS,
    SCORES,
    SHOWN,
    SOFT,
    TASKS,
    WAYS,
    apart,
    printed,
)
from softlabel.tables import Score

CALLED = {
    "gold": "true classes",
    "majority": "majority",
    "dawid-skene": "Dawid-Skene",
    "crowd-layer": "crowd layer",
    "soft": "soft loss",
    "shares": "shares",
    "softmax": "softmax",
}
PLANTED = " (ours: planted annotators)"  # where CIFAR-10H's own would have to be known


def claims(recipe: Recipe) -> list[Claim]:
    """All that can be held against the runs of a recipe."""
    tasks = TASKS if recipe == "paper" else ("cifar10h",)
    return [*_orderings(tasks), *_normalised(tasks), *_cells(tasks)]


# ── numbers ──────────────────────────────────────────────────────────────────────────────────


def _cells(tasks: tuple[str, ...]) -> Iterator[Claim]:
    """Table 3."""
    for task in tasks:
        for way in WAYS:
            for score in SCORES:
                yield Claim(
                    id=f"table3/{task}/{way}/{score}",
                    where=f"Table 3, {SHOWN[task]}",
                    says=f"{CALLED[way]}: {score}{_note(task, way)}",
                    kind="value",
                    ours=_mean(trained(task, way), score),
                    published=printed(way, task, score),
                )


def _normalised(tasks: tuple[str, ...]) -> Iterator[Claim]:
    """Table 2, and which of its two rows is ahead."""
    for task in tasks:
        for way in NORMALISERS:
            yield Claim(
                id=f"table2/{task}/{way}",
                where=f"Table 2, {SHOWN[task]}",
                says=f"learning from {way}: accuracy",
                kind="value",
                ours=_mean(f"{task}/{way}", "accuracy"),
                published=printed(way, task, "accuracy"),
            )


# ── orderings ────────────────────────────────────────────────────────────────────────────────


def _orderings(tasks: tuple[str, ...]) -> Iterator[Claim]:
    """What the paper concludes, pair by pair."""
    for task in tasks:
        for score, words in (
            ("cross-entropy", "is nearer to people than"),
            ("entropy-pearson", "is unsure where people are, more than"),
        ):
            for other in ("gold", "majority", "dawid-skene", "crowd-layer"):
                yield _pair(task, "soft", other, score, words)
        for other in ("majority", "dawid-skene", "crowd-layer"):
            ahead = printed("soft", task, "accuracy").value > printed(other, task, "accuracy").value
            words = "is more accurate than" if ahead else "is less accurate than"
            yield _pair(task, "soft", other, "accuracy", words)
        better, worse = (SOFT[task], *(set(NORMALISERS) - {SOFT[task]}))
        votes = "many good votes" if task == "cifar10h" else "few noisy votes"
        yield _pair(task, better, worse, "accuracy", f"is, for {votes}, more accurate than")


def _pair(task: str, first: str, second: str, score: str, words: str) -> Claim:
    table = "Table 2" if first in NORMALISERS else "Table 3"
    return Claim(
        id=f"{table.lower().replace(' ', '')}/{task}/{first}-{second}/{score}",
        where=f"{table}, {SHOWN[task]}",
        says=f"{CALLED[first]} {words} {CALLED[second]}: {score}{_note(task, second)}",
        kind="ordering",
        ours=_difference(trained(task, first), trained(task, second), score),
        published=apart(printed(first, task, score), printed(second, task, score)),
    )


# ── ours ─────────────────────────────────────────────────────────────────────────────────────


def trained(task: str, way: str) -> str:
    """The cell that stands for this row."""
    return f"{task}/{SOFT[task] if way == 'soft' else way}"


def _mean(cell: str, score: str) -> Callable[[Results], Score | None]:
    return lambda results: results.mean(cell, score)


def _difference(first: str, second: str, score: str) -> Callable[[Results], Score | None]:
    return lambda results: results.difference(first, second, score)


def _note(task: str, way: str) -> str:
    return PLANTED if task == "cifar10h" and way in ("dawid-skene", "crowd-layer") else ""

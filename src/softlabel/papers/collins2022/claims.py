"""What Collins, Bhatt & Weller 2022 claim of their trained networks: every printed cell, the
orderings that the text draws from them, the curves, and what was chosen on validation images.

Calibration is compared without the last bin and FGSM on CIFAR-10H by the given classes, as the
printed numbers were computed; the table of traps shows what difference that makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from softlabel.metrics import correlation, intervals
from softlabel.papers.claims import Claim, Published, Recipe, Results, over_runs
from softlabel.papers.collins2022 import printed
from softlabel.papers.collins2022.gathering import by_run, difference, mean
from softlabel.papers.collins2022.names import (
    BETAS,
    SPREADS,
    T2_EACH,
    beta_cell,
    m_cells,
    spread_cell,
)
from softlabel.tables import Score

ALL = ("ce", "rms", "fgsm")
NO_SEARCH = "learning rates were taken as printed; the grid was not searched again"
NO_PIXELS = "a head on frozen features sees no pixels that could be attacked"

# where, first, second, in which measures; the sign of the printed difference is the claim
PAIRS: tuple[tuple[str, str, str, Sequence[str]], ...] = (
    # soft labels of people are far better than hard ones, and better than softness alone
    ("table 1", "10h/mean", "hard", ALL),
    ("table 1", "t2-clamp/mean", "hard", ALL),
    ("table 1", "uniform", "hard", ALL),
    ("table 1", "random", "hard", ALL),
    ("table 1", "10h/mean", "uniform", ("ce", "fgsm")),
    ("table 1", "t2-clamp/mean", "uniform", ("ce", "fgsm")),
    # de-aggregated labels are at least as good as their mean
    ("tables 1 and 2", "10h/each", "10h/mean", ALL),
    ("tables 1 and 2", T2_EACH, "t2-clamp/mean", ALL),
    # 6 annotators who say more are as good as 51 who vote
    ("table 2", T2_EACH, "10h/each", ALL),
    # one or two annotators; of calibration on CIFAR-10S with two the paper prints the opposite
    ("table 3", "t2-clamp/1", "10h/1", ALL),
    ("table 3", "t2-clamp/2", "10h/2", ALL),
    # more annotators are better
    ("table 3", "10h/2", "10h/1", ALL),
    ("table 3", "t2-clamp/2", "t2-clamp/1", ALL),
    ("tables 2 and 3", "10h/each", "10h/2", ALL),
    ("tables 2 and 3", T2_EACH, "t2-clamp/2", ALL),
    # the whole form is best
    ("table 4", T2_EACH, "t1-unif/each", ("ce",)),
    ("table 4", T2_EACH, "t1-clamp/each", ("ce",)),
    ("table 4", T2_EACH, "t2-unif/each", ("ce",)),
    # numbers are worth asking for
    ("table 5", T2_EACH, "select/each", ("ce", "fgsm")),
    ("table 5", "t2-unif/each", "select/each", ("ce", "fgsm")),
    # smoothing: better calibrated and more robust on CIFAR-10H, worse in all on CIFAR-10S
    ("table 6", "smoothing", T2_EACH, ALL),
    ("table 6", "smoothing", "10h/each", ALL),
    # six short answers (76.8 s) against two long ones (64 s)
    ("tables 3 and 4", "t1-unif/each", "t2-clamp/2", ("ce", "fgsm")),
)
# seconds of people's time are alike: 28.8 and 32; 91.8 and 96
SAME_TIME = (("10h/16", "t2-clamp/1"), ("10h/each", "t2-clamp/3"))


def claims(recipe: Recipe) -> list[Claim]:
    """All that can be held against the runs of a recipe."""
    if recipe == "data":
        return []
    found = [*_values(recipe), *_orderings(recipe), *_ties(), *_curves(), *_chosen()]
    return [*found, *_rates()] if recipe == "paper" else found


def score(exam: str, measure: str) -> str:
    """The score of ours that was computed as the printed one."""
    as_printed = {"rms": "rms-dropped", "fgsm": "fgsm-hard" if exam == "10h" else "fgsm"}
    return f"{exam}/{as_printed.get(measure, measure)}"


def _reason(recipe: Recipe, measure: str) -> str:
    return NO_PIXELS if recipe == "features" and measure == "fgsm" else ""


# ── printed numbers ──────────────────────────────────────────────────────────────────────────


def _values(recipe: Recipe) -> Iterator[Claim]:
    for row in printed.ROWS:
        tables = "table" if len(row.tables) == 1 else "tables"
        for measure, called in printed.MEASURES.items():
            yield Claim(
                f"{row.cell}, {row.exam}, {measure}",
                f"{tables} {row.tables}",
                f"{printed.LABELS[row.cell]}: {called}, {printed.EXAMS[row.exam]}",
                "value",
                partial(mean, cell=row.cell, score=score(row.exam, measure)),
                printed.number(row.cell, row.exam, measure),
                reason=_reason(recipe, measure),
            )


def _orderings(recipe: Recipe) -> Iterator[Claim]:
    for where, first, second, measures in PAIRS:
        for exam in printed.EXAMS:
            for measure in measures:
                there = printed.difference(first, second, exam, measure)
                yield Claim(
                    f"{first} - {second}, {exam}, {measure}",
                    where,
                    f"{printed.LABELS[first]} {'below' if there.value < 0 else 'above'} "
                    f"{printed.LABELS[second]}: {printed.MEASURES[measure]}, {printed.EXAMS[exam]}",
                    "ordering",
                    _minus(first, second, score(exam, measure)),
                    there,
                    reason=_reason(recipe, measure),
                )


def _minus(first: str, second: str, name: str) -> partial[Score | None]:
    return partial(difference, first=(first, name), second=(second, name))


def _ties() -> Iterator[Claim]:
    """Softness alone buys calibration."""
    for exam in printed.EXAMS:
        yield Claim(
            f"10h/mean = uniform, {exam}, rms",
            "table 1",
            "uniform labels tie those of people (CIFAR-10H, aggregated) in calibration, "
            f"{printed.EXAMS[exam]}",
            "value",
            _minus("10h/mean", "uniform", score(exam, "rms")),
            printed.difference("10h/mean", "uniform", exam, "rms"),
        )


# ── curves ───────────────────────────────────────────────────────────────────────────────────


def _curves() -> Iterator[Claim]:
    """Figures 6 and 10 show no numbers: only directions can be compared."""
    for labels in ("10h", "t2-clamp"):
        for exam in printed.EXAMS:
            yield Claim(
                f"M curve, {labels}, {exam}",
                "figure 6",
                f"{labels.upper()}: cross-entropy falls with the number of annotators (rank "
                f"correlation along the curve), {printed.EXAMS[exam]}",
                "ordering",
                partial(trend, cells=m_cells(labels), name=f"{exam}/ce"),
                direction="below",
            )
    for votes, rich in SAME_TIME:
        for exam in printed.EXAMS:
            yield Claim(
                f"{votes} - {rich}, same time, {exam}",
                "figure 10, as we read it",
                f"for the same time of people, votes ({votes}) do better than rich answers "
                f"({rich}): cross-entropy, {printed.EXAMS[exam]}",
                "ordering",
                _minus(votes, rich, f"{exam}/ce"),
                direction="below",
            )


def trend(results: Results, cells: Mapping[int, str], name: str) -> Score | None:
    """Rank correlation of number and score along a curve, mean over the runs that have all of
    it."""
    curves = [by_run(results, cell, name) for cell in cells.values()]
    whole = sorted(set.intersection(*(set(curve) for curve in curves)))
    number = _ranks(list(cells))
    values = [correlation(number, _ranks([curve[key] for curve in curves])) for key in whole]
    return over_runs(values)


def _ranks(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Places from below; no two scores of trained networks are equal."""
    return np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)


# ── chosen on validation images ──────────────────────────────────────────────────────────────


def _chosen() -> Iterator[Claim]:
    grids = (
        ("gamma", "spread (gamma) of T2-clamp", 0.1, {s: spread_cell(s) for s in SPREADS}),
        ("beta", "beta of label smoothing", 0.05, {b: beta_cell(b) for b in BETAS}),
    )
    for name, called, value, cells in grids:
        yield Claim(
            f"{name} chosen",
            "section 5 and appendix",
            f"the {called} that validation images choose; our interval holds those that are not "
            "worse beyond chance",
            "value",
            partial(best, cells=cells),
            Published(value),
        )


def _rates() -> Iterator[Claim]:
    for net, rate in (("ResNet-34A", 0.1), ("VGG-11", 0.1), ("ResNet-50", 0.4)):
        yield Claim(
            f"learning rate chosen, {net}",
            "appendix",
            f"the learning rate of {net} that validation images choose",
            "value",
            lambda results: None,
            Published(rate),
            reason=NO_SEARCH,
        )


def best(results: Results, cells: Mapping[float, str], name: str = "val/ce") -> Score | None:
    """The setting with the lowest mean score; its interval holds all settings of which the
    difference to it, run by run, has an interval that includes 0.  None if one was not run."""
    tried = {value: by_run(results, cell, name) for value, cell in cells.items()}
    whole = sorted(set.intersection(*(set(runs) for runs in tried.values())))
    if len(whole) < 2:
        return None
    rows = {value: np.array([runs[key] for key in whole]) for value, runs in tried.items()}
    lowest = min(rows, key=lambda value: rows[value].mean())
    alike = [
        value
        for value, scores in rows.items()
        if value == lowest or intervals.over_seeds(scores - rows[lowest]).low <= 0
    ]
    return Score(lowest, min(alike), max(alike), len(whole))

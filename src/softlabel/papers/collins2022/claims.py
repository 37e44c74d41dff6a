"""What Collins, Bhatt & Weller 2022 claim about their trained networks: tables 1 to 6 as printed,
the orderings that the text draws from them, the curves, and what was chosen on validation images.

The paper prints means over 15 runs (three networks, five seeds each) and does not say whether its
intervals are over runs or over networks.  Ours are over runs, and differences are taken run by run.
Calibration is compared without the last bin, and FGSM on CIFAR-10H by the given classes, because
the printed numbers were computed in this way; the table of traps shows how much that matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import hypot
from typing import NamedTuple

import numpy as np

from softlabel.metrics import correlation, intervals
from softlabel.papers.claims import Claim, Published, Results, Scale, bounds, over_runs
from softlabel.papers.collins2022.cells import (
    BETAS,
    CLAMP_EACH,
    CLAMP_MEAN,
    HARD,
    M_CURVES,
    NETWORKS,
    RANDOM,
    SMOOTHING,
    SPREADS,
    UNIFORM,
    VOTES,
    VOTES_EACH,
    VOTES_MEAN,
    Condition,
)
from softlabel.tables import Score

# ── runs of one condition ────────────────────────────────────────────────────────────────────

Key = tuple[str, int]  # network ("" if there is but one) and seed


def by_run(results: Results, condition: Condition, score: str) -> dict[Key, float]:
    """Return the score of every run of the condition, over networks and seeds, in order."""
    values = {
        (net, seed): value
        for net in ("", *NETWORKS)
        for seed, value in results.by_seed(replace(condition, network=net), score).items()
    }
    return dict(sorted(values.items()))


def mean(results: Results, condition: Condition, score: str) -> Score | None:
    """Return the mean over all runs."""
    return over_runs(list(by_run(results, condition, score).values()), bounds(score))


def difference(
    results: Results, first: tuple[Condition, str], second: tuple[Condition, str]
) -> Score | None:
    """Return first minus second, each a condition and a score, over the runs that both have."""
    a, b = by_run(results, *first), by_run(results, *second)
    return over_runs([a[key] - b[key] for key in sorted(a.keys() & b.keys())])


# ── the tables as printed ────────────────────────────────────────────────────────────────────

VOTES_1, VOTES_2, CLAMP_1, CLAMP_2 = (M_CURVES[kind][m] for kind in M_CURVES for m in (1, 2))
T1_UNIF, T1_CLAMP, T2_UNIF, SELECT = (
    Condition(labels, "each") for labels in ("t1-unif", "t1-clamp", "t2-unif", "select")
)
MEASURES = {"ce": "soft cross-entropy", "rms": "RMS calibration error", "fgsm": "loss under FGSM"}
SERIES = {"10h": "CIFAR-10H votes", "t2-clamp": "CIFAR-10S, T2-clamp"}
EXAMS = {"10h": "3,000 CIFAR-10H images", "10s": "100 CIFAR-10S images"}
LABELS = {
    HARD: "hard labels",
    RANDOM: "random labels",
    UNIFORM: "uniform labels",
    SMOOTHING: "label smoothing",
    VOTES_MEAN: "CIFAR-10H, aggregated",
    VOTES_EACH: "CIFAR-10H, de-aggregated",
    VOTES_1: "CIFAR-10H, 1 annotator",
    VOTES_2: "CIFAR-10H, 2 annotators",
    CLAMP_MEAN: "T2-clamp, aggregated",
    CLAMP_EACH: "T2-clamp, de-aggregated",
    CLAMP_1: "T2-clamp, 1 annotator",
    CLAMP_2: "T2-clamp, 2 annotators",
    T1_UNIF: "T1-unif",
    T1_CLAMP: "T1-clamp",
    T2_UNIF: "T2-unif",
    SELECT: "select top 2 only",
}
Number = tuple[float, float]  # the mean, and half of its 95 % interval


class Row(NamedTuple):
    """One line of a table: the tables that have it, what was trained, what it was tested on."""

    tables: tuple[int, ...]
    condition: Condition
    exam: str
    ce: Number
    rms: Number
    fgsm: Number


ROWS = (
    Row((1,), HARD, "10h", (2.026, 0.18), (0.277, 0.01), (15.455, 7.5)),
    Row((1,), RANDOM, "10h", (1.77, 0.16), (0.226, 0.02), (13.476, 1.39)),
    Row((1,), UNIFORM, "10h", (1.599, 0.13), (0.203, 0.02), (10.199, 3.82)),
    Row((1,), VOTES_MEAN, "10h", (1.325, 0.07), (0.201, 0.01), (8.75, 1.8)),
    Row((1,), CLAMP_MEAN, "10h", (1.369, 0.07), (0.203, 0.01), (8.872, 1.63)),
    Row((1,), HARD, "10s", (4.46, 0.49), (0.425, 0.09), (15.782, 4.67)),
    Row((1,), RANDOM, "10s", (3.093, 0.53), (0.353, 0.05), (10.697, 4.14)),
    Row((1,), UNIFORM, "10s", (2.923, 0.26), (0.311, 0.06), (11.768, 5.18)),
    Row((1,), VOTES_MEAN, "10s", (2.558, 0.16), (0.313, 0.03), (8.416, 1.64)),
    Row((1,), CLAMP_MEAN, "10s", (2.591, 0.19), (0.324, 0.02), (9.116, 1.63)),
    Row((2, 6), VOTES_EACH, "10h", (1.293, 0.08), (0.194, 0.01), (8.577, 1.91)),
    Row((2, 4, 5, 6), CLAMP_EACH, "10h", (1.281, 0.06), (0.184, 0.01), (8.406, 1.75)),
    Row((2, 6), VOTES_EACH, "10s", (2.459, 0.21), (0.311, 0.02), (8.334, 1.75)),
    Row((2, 4, 5, 6), CLAMP_EACH, "10s", (2.355, 0.14), (0.297, 0.03), (8.405, 1.59)),
    Row((3,), VOTES_2, "10h", (1.71, 0.15), (0.25, 0.02), (14.16, 0.67)),
    Row((3,), VOTES_1, "10h", (2.17, 0.11), (0.29, 0.01), (19.2, 0.86)),
    Row((3,), CLAMP_2, "10h", (1.49, 0.08), (0.22, 0.01), (11.57, 0.44)),
    Row((3,), CLAMP_1, "10h", (1.58, 0.08), (0.23, 0.01), (12.57, 1.29)),
    Row((3,), VOTES_2, "10s", (3.37, 0.42), (0.34, 0.08), (13.13, 0.7)),
    Row((3,), VOTES_1, "10s", (4.49, 0.31), (0.45, 0.05), (17.85, 0.68)),
    Row((3,), CLAMP_2, "10s", (2.88, 0.17), (0.36, 0.04), (11.39, 0.59)),
    Row((3,), CLAMP_1, "10s", (2.9, 0.31), (0.38, 0.06), (12.13, 1.31)),
    Row((4,), T1_UNIF, "10h", (1.32, 0.08), (0.187, 0.01), (8.647, 1.72)),
    Row((4,), T1_CLAMP, "10h", (1.299, 0.06), (0.19, 0.01), (8.385, 1.55)),
    Row((4, 5), T2_UNIF, "10h", (1.287, 0.1), (0.18, 0.02), (8.345, 1.63)),
    Row((4,), T1_UNIF, "10s", (2.512, 0.12), (0.317, 0.04), (9.029, 1.7)),
    Row((4,), T1_CLAMP, "10s", (2.501, 0.18), (0.306, 0.03), (8.59, 1.42)),
    Row((4, 5), T2_UNIF, "10s", (2.437, 0.16), (0.293, 0.04), (8.605, 1.59)),
    Row((5,), SELECT, "10h", (1.3, 0.06), (0.18, 0.01), (8.639, 1.46)),
    Row((5,), SELECT, "10s", (2.448, 0.15), (0.313, 0.02), (8.797, 1.25)),
    Row((6,), SMOOTHING, "10h", (1.368, 0.19), (0.175, 0.05), (6.965, 1.7)),
    Row((6,), SMOOTHING, "10s", (2.674, 0.33), (0.299, 0.05), (9.375, 3.4)),
)
PRINTED = {
    (row.condition, row.exam, measure): Published(mean, half, "ci95")
    for row in ROWS
    for measure, (mean, half) in zip(MEASURES, (row.ce, row.rms, row.fgsm), strict=True)
}


def printed_difference(first: Condition, second: Condition, exam: str, measure: str) -> Published:
    """Return first minus second.  The paper does not print how runs were paired, so the intervals
    are combined as those of independent means."""
    a, b = PRINTED[first, exam, measure], PRINTED[second, exam, measure]
    half = hypot(a.half or 0.0, b.half or 0.0)
    return Published(round(a.value - b.value, 3), half, "ci95")


# ── claims ───────────────────────────────────────────────────────────────────────────────────

ALL = ("ce", "rms", "fgsm")
NO_SEARCH = "learning rates were taken as printed; the grid was not searched again"
NO_PIXELS = "a head on frozen features has no pixels that could be attacked"

# where, first, second, in which measures; the sign of the printed difference is the claim
PAIRS: tuple[tuple[str, Condition, Condition, Sequence[str]], ...] = (
    # soft labels of people are far better than hard ones, and better than softness alone
    ("table 1", VOTES_MEAN, HARD, ALL),
    ("table 1", CLAMP_MEAN, HARD, ALL),
    ("table 1", UNIFORM, HARD, ALL),
    ("table 1", RANDOM, HARD, ALL),
    ("table 1", VOTES_MEAN, UNIFORM, ("ce", "fgsm")),
    ("table 1", CLAMP_MEAN, UNIFORM, ("ce", "fgsm")),
    # de-aggregated labels are at least as good as their mean
    ("tables 1 and 2", VOTES_EACH, VOTES_MEAN, ALL),
    ("tables 1 and 2", CLAMP_EACH, CLAMP_MEAN, ALL),
    # 6 annotators who say more are as good as 51 who vote
    ("table 2", CLAMP_EACH, VOTES_EACH, ALL),
    # one or two annotators; for calibration on CIFAR-10S with two the paper prints the opposite
    ("table 3", CLAMP_1, VOTES_1, ALL),
    ("table 3", CLAMP_2, VOTES_2, ALL),
    # more annotators are better
    ("table 3", VOTES_2, VOTES_1, ALL),
    ("table 3", CLAMP_2, CLAMP_1, ALL),
    ("tables 2 and 3", VOTES_EACH, VOTES_2, ALL),
    ("tables 2 and 3", CLAMP_EACH, CLAMP_2, ALL),
    # the whole form is best
    ("table 4", CLAMP_EACH, T1_UNIF, ("ce",)),
    ("table 4", CLAMP_EACH, T1_CLAMP, ("ce",)),
    ("table 4", CLAMP_EACH, T2_UNIF, ("ce",)),
    # numbers are worth asking for
    ("table 5", CLAMP_EACH, SELECT, ("ce", "fgsm")),
    ("table 5", T2_UNIF, SELECT, ("ce", "fgsm")),
    # smoothing: better calibrated and more robust on CIFAR-10H, worse in all on CIFAR-10S
    ("table 6", SMOOTHING, CLAMP_EACH, ALL),
    ("table 6", SMOOTHING, VOTES_EACH, ALL),
    # six short answers (76.8 s) against two long ones (64 s)
    ("tables 3 and 4", T1_UNIF, CLAMP_2, ("ce", "fgsm")),
)
# numbers of votes and of rich answers that take about as many seconds: 28.8 and 32; 91.8 and 96
SAME_TIME = ((16, 1), (VOTES, 3))


def claims(scale: Scale) -> list[Claim]:
    """Return all claims that runs at this scale are compared with."""
    if scale == "data":
        return []
    every = [*_numbers(scale), *_orderings(scale), *_ties(), *_curves(), *_choices()]
    return [*every, *_rates()] if scale == "paper" else every


def score_as_printed(exam: str, measure: str) -> str:
    """Return the name of our score that is computed as the printed one was."""
    as_printed = {"rms": "rms-dropped", "fgsm": "fgsm-hard" if exam == "10h" else "fgsm"}
    return f"{exam}/{as_printed.get(measure, measure)}"


def _reason(scale: Scale, measure: str) -> str:
    return NO_PIXELS if scale == "features" and measure == "fgsm" else ""


def _numbers(scale: Scale) -> Iterator[Claim]:
    for row in ROWS:
        tables = f"table{'s' if len(row.tables) > 1 else ''} {', '.join(map(str, row.tables))}"
        for measure, words in MEASURES.items():
            yield Claim(
                f"{row.condition.name}, {row.exam}, {measure}",
                tables,
                f"{LABELS[row.condition]}: {words}, {EXAMS[row.exam]}",
                "value",
                partial(mean, condition=row.condition, score=score_as_printed(row.exam, measure)),
                PRINTED[row.condition, row.exam, measure],
                reason=_reason(scale, measure),
            )


def _orderings(scale: Scale) -> Iterator[Claim]:
    for where, first, second, measures in PAIRS:
        for exam in EXAMS:
            for measure in measures:
                published = printed_difference(first, second, exam, measure)
                yield Claim(
                    f"{first.name} - {second.name}, {exam}, {measure}",
                    where,
                    f"{LABELS[first]} {'below' if published.value < 0 else 'above'} "
                    f"{LABELS[second]}: {MEASURES[measure]}, {EXAMS[exam]}",
                    "ordering",
                    _minus(first, second, score_as_printed(exam, measure)),
                    published,
                    reason=_reason(scale, measure),
                )


def _minus(first: Condition, second: Condition, score: str) -> partial[Score | None]:
    return partial(difference, first=(first, score), second=(second, score))


def _ties() -> Iterator[Claim]:
    """Softness alone improves calibration."""
    for exam in EXAMS:
        yield Claim(
            f"10h/mean = uniform, {exam}, rms",
            "table 1",
            "uniform labels are calibrated as well as those of people (CIFAR-10H, aggregated), "
            f"{EXAMS[exam]}",
            "value",
            _minus(VOTES_MEAN, UNIFORM, score_as_printed(exam, "rms")),
            printed_difference(VOTES_MEAN, UNIFORM, exam, "rms"),
        )


def _curves() -> Iterator[Claim]:
    """Figures 6 and 10 show no numbers: only directions can be compared."""
    for labels, curve in M_CURVES.items():
        for exam in EXAMS:
            yield Claim(
                f"M curve, {labels}, {exam}",
                "figure 6",
                f"{SERIES[labels]}: cross-entropy falls with the number of annotators (rank "
                f"correlation along the curve), {EXAMS[exam]}",
                "ordering",
                partial(correlate_curve, curve=curve, score=f"{exam}/ce"),
                direction="below",
            )
    for m, n in SAME_TIME:
        votes, rich = M_CURVES["10h"][m], M_CURVES["t2-clamp"][n]
        answers = "rich answers that take" if n > 1 else "rich answer that takes"
        for exam in EXAMS:
            yield Claim(
                f"{votes.name} - {rich.name}, same time, {exam}",
                "figure 10, as we read it",
                f"{m} votes are better than {n} {answers} about the same time: cross-entropy, "
                f"{EXAMS[exam]}",
                "ordering",
                _minus(votes, rich, f"{exam}/ce"),
                direction="below",
            )


def correlate_curve(results: Results, curve: Mapping[int, Condition], score: str) -> Score | None:
    """Correlate the ranks of number and score along a curve; average over the runs that have all
    of it."""
    points = [by_run(results, condition, score) for condition in curve.values()]
    whole = sorted(set.intersection(*map(set, points)))
    numbers = _ranks(list(curve))
    return over_runs([correlation(numbers, _ranks([one[key] for one in points])) for key in whole])


def _ranks(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Rank from below; no two scores of trained networks are equal."""
    return np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)


def _choices() -> Iterator[Claim]:
    for name, words, value, grid in (
        ("gamma", "spread (gamma) of T2-clamp", 0.1, SPREADS),
        ("beta", "beta of label smoothing", 0.05, BETAS),
    ):
        yield Claim(
            f"{name} chosen",
            "section 5 and appendix",
            f"the {words} that validation images choose; our interval includes those that are not "
            "significantly worse",
            "value",
            partial(choose, grid=grid),
            Published(value),
        )


def choose(
    results: Results, grid: Mapping[float, Condition], score: str = "val/ce"
) -> Score | None:
    """Return the setting with the lowest mean score; None if one was not run.

    The interval holds all settings whose difference to it, run by run, has an interval that
    includes 0.
    """
    tried = {value: by_run(results, condition, score) for value, condition in grid.items()}
    whole = sorted(set.intersection(*map(set, tried.values())))
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

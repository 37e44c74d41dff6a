"""What Collins, Bhatt & Weller 2022 claim about their trained networks: tables 1 to 6 as printed,
the orderings that the text draws from them, the curves, and what was chosen on validation images.

The paper prints means over 15 runs (three networks, five seeds each) and does not say whether its
intervals are over runs or over networks.  Ours are over runs, and differences are taken run by run.
Calibration is compared without the last bin, and FGSM on CIFAR-10H by the given classes, because
the printed numbers were computed in this way; the table of traps shows how much that matters.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from math import hypot
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from softlabel.metrics import correlation, intervals
from softlabel.papers.claims import Claim, Published, Results, Scale, over_runs, subtract
from softlabel.papers.collins2022 import conditions
from softlabel.papers.collins2022.conditions import (
    BY_NAME,
    M_CURVES,
    SMOOTHING,
    SMOOTHING_ALL,
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
        for net in ("", *conditions.NETWORKS)
        for seed, value in results.by_seed(replace(condition, network=net), score).items()
    }
    return dict(sorted(values.items()))


def mean(results: Results, condition: Condition, score: str) -> Score | None:
    """Return the mean over all runs."""
    return over_runs(list(by_run(results, condition, score).values()), score)


def difference(
    results: Results, first: tuple[Condition, str], second: tuple[Condition, str]
) -> Score | None:
    """Return first minus second, each a condition and a score, over the runs that both have."""
    runs = [
        {
            (net, one.seed): one
            for net in ("", *conditions.NETWORKS)
            for one in results.of_cell(replace(condition, network=net))
        }
        for condition, _ in (first, second)
    ]
    return subtract(runs[0], runs[1], (first[1], second[1]))


# ── the tables as printed ────────────────────────────────────────────────────────────────────

PUBLISHED = tomllib.loads(Path(__file__).with_name("published.toml").read_text("utf-8"))
T1_UNIF, T1_CLAMP, T2_UNIF = (
    Condition(kind, "each") for kind in ("t1-unif", "t1-clamp", "t2-unif")
)
MEASURES = {"ce": "soft cross-entropy", "rms": "RMS calibration error", "fgsm": "loss under FGSM"}
SERIES = {"10h": "CIFAR-10H votes", "t2-clamp": "CIFAR-10S, T2-clamp"}
EXAMS = {"10h": "3,000 CIFAR-10H images", "10s": "100 CIFAR-10S images"}
LABELS: dict[Condition, str] = {BY_NAME[one]: text for one, text in PUBLISHED["labels"].items()}


class Row(NamedTuple):
    """One line of a table: the tables that have it, what was trained, what it was tested on, and by
    measure the mean with half of its 95 % interval."""

    tables: list[int]
    condition: Condition
    exam: str
    numbers: dict[str, tuple[float, float]]


ROWS = [
    Row(tables, BY_NAME[name], exam, dict(zip(MEASURES, numbers, strict=True)))
    for tables, name, exam, *numbers in PUBLISHED["rows"]
]
PRINTED = {
    (row.condition, row.exam, measure): Published(mean, half, "ci95")
    for row in ROWS
    for measure, (mean, half) in row.numbers.items()
}
# one row of table 6 is read in two ways
PRINTED |= {
    (SMOOTHING_ALL, exam, measure): printed
    for (condition, exam, measure), printed in PRINTED.items()
    if condition == SMOOTHING
}


def printed_difference(first: Condition, second: Condition, exam: str, measure: str) -> Published:
    """Return first minus second.  The paper does not print how runs were paired, so the intervals
    are combined as those of independent means."""
    a, b = PRINTED[first, exam, measure], PRINTED[second, exam, measure]
    half = hypot(a.half or 0.0, b.half or 0.0)
    return Published(round(a.value - b.value, 3), half, "ci95")


# ── claims ───────────────────────────────────────────────────────────────────────────────────

NO_SEARCH = "learning rates were taken as printed; the grid was not searched again"
NO_PIXELS = "a head on frozen features has no pixels that could be attacked"
# numbers of votes and of rich answers that take about as many seconds: 28.8 and 32; 91.8 and 96
SAME_TIME = ((16, 1), (conditions.VOTES, 3))


def claims(scale: Scale) -> list[Claim]:
    """Return all claims that runs at this scale are compared with."""
    if scale == "data":
        return []
    return [*_numbers(scale), *_orderings(scale), *_curves(scale), *_settings(scale)]


def score_as_printed(exam: str, measure: str) -> str:
    """Return the name of our score that is computed as the printed one was."""
    as_printed = {"rms": "rms-dropped", "fgsm": "fgsm-hard" if exam == "10h" else "fgsm"}
    return f"{exam}/{as_printed.get(measure, measure)}"


def _reason(scale: Scale, measure: str) -> str:
    on_features = scale in ("features", "features-tuned")
    return NO_PIXELS if on_features and measure == "fgsm" else ""


def _numbers(scale: Scale) -> Iterator[Claim]:
    for row in ROWS:
        tables = f"table{'s' if len(row.tables) > 1 else ''} {', '.join(map(str, row.tables))}"
        for measure, words in MEASURES.items():
            id = f"{row.condition.name}, {row.exam}, {measure}"
            says = f"{LABELS[row.condition]}: {words}, {EXAMS[row.exam]}"
            score, reason = score_as_printed(row.exam, measure), _reason(scale, measure)
            ours = partial(mean, condition=row.condition, score=score)
            published = PRINTED[row.condition, row.exam, measure]
            yield Claim(id, tables, says, "value", ours, published, reason=reason)


def _orderings(scale: Scale) -> Iterator[Claim]:
    for where, *pair, measures in PUBLISHED["pairs"]:
        first, second = (BY_NAME[name] for name in pair)
        for exam, measure in product(EXAMS, measures):
            published = printed_difference(first, second, exam, measure)
            relation = "below" if published.value < 0 else "above"
            said = (
                f"{LABELS[first]} {relation} {LABELS[second]}: {MEASURES[measure]}, {EXAMS[exam]}"
            )
            ours = _minus(first, second, score_as_printed(exam, measure))
            id, reason = f"{first.name} - {second.name}, {exam}, {measure}", _reason(scale, measure)
            yield Claim(id, where, said, "ordering", ours, published, reason=reason)
    says = "uniform labels are calibrated as well as those of people (CIFAR-10H, aggregated)"
    both = VOTES_MEAN, conditions.UNIFORM
    for exam, called in EXAMS.items():  # softness alone improves calibration
        id, ours = f"10h/mean = uniform, {exam}, rms", _minus(*both, score_as_printed(exam, "rms"))
        margin = PRINTED[VOTES_MEAN, exam, "rms"].half  # what the paper cannot tell apart
        assert margin, "table 1 prints intervals"
        says_so = f"{says}, to {margin:g}, {called}"
        yield Claim(id, "table 1", says_so, "equivalence", ours, margin=margin)


def _minus(first: Condition, second: Condition, score: str) -> partial[Score | None]:
    return partial(difference, first=(first, score), second=(second, score))


def _curves(scale: Scale) -> Iterator[Claim]:
    """Figures 6 and 10 show no numbers: only directions can be compared."""
    falls = "falls with the number of annotators (rank correlation along the curve)"
    for (labels, curve), exam, measure in product(M_CURVES.items(), EXAMS, MEASURES):
        id = f"M curve, {labels}, {exam}, {measure}"
        says = f"{SERIES[labels]}: {MEASURES[measure]} {falls}, {EXAMS[exam]}"
        ours = partial(correlate_curve, curve=curve, score=score_as_printed(exam, measure))
        reason = _reason(scale, measure)
        yield Claim(id, "figure 6", says, "ordering", ours, reason=reason, direction="below")
    # figure 10 sets votes against rich answers of the same time; the paper calls it "not clear"
    for m, n in SAME_TIME:
        votes, rich = M_CURVES["10h"][m], M_CURVES["t2-clamp"][n]
        answers = "rich answers that take" if n > 1 else "rich answer that takes"
        for (exam, called), measure in product(EXAMS.items(), MEASURES):
            says = f"{m} votes minus {n} {answers} about the same time: {MEASURES[measure]}"
            id = f"{votes.name} - {rich.name}, same time, {exam}, {measure}"
            ours = _minus(votes, rich, score_as_printed(exam, measure))
            says, reason = f"{says}, {called}", _reason(scale, measure)
            yield Claim(id, "figure 10", says, "measurement", ours, reason=reason)


def correlate_curve(results: Results, curve: Mapping[int, Condition], score: str) -> Score | None:
    """Correlate the ranks of number and score along a curve, over the runs that have all of it."""
    points = [by_run(results, condition, score) for condition in curve.values()]
    whole = sorted(set.intersection(*map(set, points)))
    numbers = rankdata(list(curve))
    scores = (rankdata([one[key] for one in points]) for key in whole)
    return over_runs([correlation(numbers, ranks) for ranks in scores], "rank-r")


def _settings(scale: Scale) -> Iterator[Claim]:
    for name, words, value, grid in (
        ("gamma", "spread (gamma) of T2-clamp", 0.1, conditions.SPREADS),
        ("beta", "beta of label smoothing", 0.05, conditions.BETAS),
    ):
        says = (
            f"the {words} that validation images choose; our interval includes those that are not "
            "significantly worse"
        )
        id, where, ours = f"{name} chosen", "section 5 and appendix", partial(choose, grid=grid)
        yield Claim(id, where, says, "value", ours, Published(value))
    rates = {"ResNet-34A": 0.1, "VGG-11": 0.1, "ResNet-50": 0.4} if scale == "paper" else {}
    for net, rate in rates.items():
        id, known = f"learning rate chosen, {net}", Published(rate)
        says = f"the learning rate of {net} that validation images choose"
        yield Claim(id, "section 5.1", says, "value", lambda results: None, known, reason=NO_SEARCH)


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

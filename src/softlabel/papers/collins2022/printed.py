"""Tables 1 to 6 of Collins, Bhatt & Weller 2022, as printed: means over 15 runs (three networks,
five seeds each) with half of their 95 % intervals.

A row that stands in several tables is here once.  ``cell`` is what we call the labels: of whom or
how made, and after the stroke how they are delivered: their ``mean``, ``each`` annotator's own
label by turns, or by turns those of so many annotators.
"""

from __future__ import annotations

from math import hypot
from typing import NamedTuple

from softlabel.papers.claims import Published

Number = tuple[float, float]  # the mean, and half of its interval

MEASURES = {"ce": "soft cross-entropy", "rms": "RMS calibration error", "fgsm": "loss under FGSM"}
EXAMS = {"10h": "3,000 CIFAR-10H images", "10s": "100 CIFAR-10S images"}
LABELS = {
    "hard": "hard labels",
    "random": "random labels",
    "uniform": "uniform labels",
    "smoothing": "label smoothing",
    "10h/mean": "CIFAR-10H, aggregated",
    "10h/each": "CIFAR-10H, de-aggregated",
    "10h/1": "CIFAR-10H, 1 annotator",
    "10h/2": "CIFAR-10H, 2 annotators",
    "t2-clamp/mean": "T2-clamp, aggregated",
    "t2-clamp/each": "T2-clamp, de-aggregated",
    "t2-clamp/1": "T2-clamp, 1 annotator",
    "t2-clamp/2": "T2-clamp, 2 annotators",
    "t1-unif/each": "T1-unif",
    "t1-clamp/each": "T1-clamp",
    "t2-unif/each": "T2-unif",
    "select/each": "select top 2 only",
}


class Row(NamedTuple):
    """One line of a table: the tables it stands in, what was trained, what it was tested on."""

    tables: str
    cell: str
    exam: str
    ce: Number
    rms: Number
    fgsm: Number


ROWS = (
    Row("1", "hard", "10h", (2.026, 0.18), (0.277, 0.01), (15.455, 7.5)),
    Row("1", "random", "10h", (1.77, 0.16), (0.226, 0.02), (13.476, 1.39)),
    Row("1", "uniform", "10h", (1.599, 0.13), (0.203, 0.02), (10.199, 3.82)),
    Row("1", "10h/mean", "10h", (1.325, 0.07), (0.201, 0.01), (8.75, 1.8)),
    Row("1", "t2-clamp/mean", "10h", (1.369, 0.07), (0.203, 0.01), (8.872, 1.63)),
    Row("1", "hard", "10s", (4.46, 0.49), (0.425, 0.09), (15.782, 4.67)),
    Row("1", "random", "10s", (3.093, 0.53), (0.353, 0.05), (10.697, 4.14)),
    Row("1", "uniform", "10s", (2.923, 0.26), (0.311, 0.06), (11.768, 5.18)),
    Row("1", "10h/mean", "10s", (2.558, 0.16), (0.313, 0.03), (8.416, 1.64)),
    Row("1", "t2-clamp/mean", "10s", (2.591, 0.19), (0.324, 0.02), (9.116, 1.63)),
    Row("2, 6", "10h/each", "10h", (1.293, 0.08), (0.194, 0.01), (8.577, 1.91)),
    Row("2, 4, 5, 6", "t2-clamp/each", "10h", (1.281, 0.06), (0.184, 0.01), (8.406, 1.75)),
    Row("2, 6", "10h/each", "10s", (2.459, 0.21), (0.311, 0.02), (8.334, 1.75)),
    Row("2, 4, 5, 6", "t2-clamp/each", "10s", (2.355, 0.14), (0.297, 0.03), (8.405, 1.59)),
    Row("3", "10h/2", "10h", (1.71, 0.15), (0.25, 0.02), (14.16, 0.67)),
    Row("3", "10h/1", "10h", (2.17, 0.11), (0.29, 0.01), (19.2, 0.86)),
    Row("3", "t2-clamp/2", "10h", (1.49, 0.08), (0.22, 0.01), (11.57, 0.44)),
    Row("3", "t2-clamp/1", "10h", (1.58, 0.08), (0.23, 0.01), (12.57, 1.29)),
    Row("3", "10h/2", "10s", (3.37, 0.42), (0.34, 0.08), (13.13, 0.7)),
    Row("3", "10h/1", "10s", (4.49, 0.31), (0.45, 0.05), (17.85, 0.68)),
    Row("3", "t2-clamp/2", "10s", (2.88, 0.17), (0.36, 0.04), (11.39, 0.59)),
    Row("3", "t2-clamp/1", "10s", (2.9, 0.31), (0.38, 0.06), (12.13, 1.31)),
    Row("4", "t1-unif/each", "10h", (1.32, 0.08), (0.187, 0.01), (8.647, 1.72)),
    Row("4", "t1-clamp/each", "10h", (1.299, 0.06), (0.19, 0.01), (8.385, 1.55)),
    Row("4, 5", "t2-unif/each", "10h", (1.287, 0.1), (0.18, 0.02), (8.345, 1.63)),
    Row("4", "t1-unif/each", "10s", (2.512, 0.12), (0.317, 0.04), (9.029, 1.7)),
    Row("4", "t1-clamp/each", "10s", (2.501, 0.18), (0.306, 0.03), (8.59, 1.42)),
    Row("4, 5", "t2-unif/each", "10s", (2.437, 0.16), (0.293, 0.04), (8.605, 1.59)),
    Row("5", "select/each", "10h", (1.3, 0.06), (0.18, 0.01), (8.639, 1.46)),
    Row("5", "select/each", "10s", (2.448, 0.15), (0.313, 0.02), (8.797, 1.25)),
    Row("6", "smoothing", "10h", (1.368, 0.19), (0.175, 0.05), (6.965, 1.7)),
    Row("6", "smoothing", "10s", (2.674, 0.33), (0.299, 0.05), (9.375, 3.4)),
)
BY_NAME = {(row.cell, row.exam): row for row in ROWS}


def number(cell: str, exam: str, measure: str) -> Published:
    """The printed number."""
    mean, half = getattr(BY_NAME[cell, exam], measure)
    return Published(mean, half, "ci95")


def difference(first: str, second: str, exam: str, measure: str) -> Published:
    """First minus second; the two intervals are put together as of independent means, because the
    paper does not print how the runs were paired."""
    a, b = (number(cell, exam, measure) for cell in (first, second))
    half = hypot(a.half or 0.0, b.half or 0.0)
    return Published(round(a.value - b.value, 3), half, "ci95")

"""The numbers that Uma et al. 2020 print: Tables 1 to 3.

Accuracies are printed in per cent and stand here as shares.  Means and standard deviations are over
30 runs, for CIFAR-10H over 10.
"""

from __future__ import annotations

from softlabel.papers.claims import Published

TASKS = ("pos", "labelme", "cifar10h")
SHOWN = {"pos": "POS", "labelme": "LabelMe", "cifar10h": "CIFAR-10H"}

# Table 1: a row, and what is printed for each task
STATISTICS: dict[str, tuple[float, float, float]] = {
    "annotations per item": (5.00, 2.50, 51.10),
    "annotations per item and class": (0.30, 0.26, 5.11),
    "observed agreement": (0.73, 0.73, 0.94),
    "mean accuracy of annotators": (0.68, 0.69, 0.95),
    "share of annotators at .75 or above": (0.29, 0.42, 1.00),
}

# Table 2: soft labels made two ways, accuracy and its standard deviation
NORMALISERS: dict[str, dict[str, tuple[float, float]]] = {
    "shares": {"pos": (78.99, 0.36), "labelme": (83.46, 0.82), "cifar10h": (66.64, 0.81)},
    "softmax": {"pos": (80.03, 0.28), "labelme": (84.85, 0.50), "cifar10h": (65.50, 1.10)},
}

# Table 3: (mean, sd) of accuracy, cross-entropy and entropy correlation
SCORES = ("accuracy", "cross-entropy", "entropy-pearson")
Three = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]
WAYS: dict[str, dict[str, Three]] = {
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

# which of the two soft labels stands in Table 3 as the soft loss: the more accurate one of Table 2
SOFT = {"pos": "softmax", "labelme": "softmax", "cifar10h": "shares"}


def printed(way: str, task: str, score: str) -> Published:
    """A cell of Table 3 (or, for ``shares`` and ``softmax``, of Table 2)."""
    if way in NORMALISERS:
        mean, sd = NORMALISERS[way][task]
    else:
        mean, sd = WAYS[way][task][SCORES.index(score)]
    scale = 100 if score == "accuracy" else 1
    return Published(mean / scale, sd / scale, "sd")


def apart(first: Published, second: Published) -> Published:
    """First minus second, as the two cells would have it if their runs had nothing in common."""
    sd = ((first.half or 0) ** 2 + (second.half or 0) ** 2) ** 0.5
    return Published(first.value - second.value, sd, "sd")

"""The numbers of Gheibi & Ghazizadeh 2026 as other people's reading notes have them.

None was checked against the paper: every one is marked ``secondhand``.
"""

from __future__ import annotations

import numpy as np

from softlabel.papers.claims import Published
from softlabel.tables import Floats

FULL = {  # all votes, ResNet-18, 10 seeds
    "majority": {
        "cross-entropy": 0.7284,
        "accuracy": 0.857,
        "ece-mass": 0.0704,
        "entropy-spearman": 0.2902,
    },
    "smoothing": {
        "cross-entropy": 0.6263,
        "accuracy": 0.859,
        "ece-mass": 0.0598,
        "entropy-spearman": 0.2117,
    },
    "soft": {
        "cross-entropy": 0.5096,
        "accuracy": 0.8687,
        "ece-mass": 0.0185,
        "entropy-spearman": 0.3909,
    },
    "sls": {
        "cross-entropy": 0.5052,
        "accuracy": 0.8695,
        "ece-mass": 0.0186,
        "entropy-spearman": 0.3946,
    },
    "multipass": {"cross-entropy": 0.4942, "accuracy": 0.8714, "entropy-spearman": 0.4},
    "control": {"cross-entropy": 0.4921, "accuracy": 0.8724, "entropy-spearman": 0.3963},
    "shuffled": {"cross-entropy": 2.2973, "accuracy": 0.1199, "entropy-spearman": -0.006},
}
SPARSE = {  # soft NLL by the number of votes kept, 5 paired seeds
    "soft": {5: 0.586, 10: 0.5785, 25: 0.5388, 50: 0.5628},
    "sls": {5: 0.5599, 10: 0.5485, 25: 0.5169, 50: 0.5291},
    "multipass": {5: 0.5649, 10: 0.5371, 25: 0.5117, 50: 0.5241},
    "control": {5: 0.5555, 10: 0.5388, 25: 0.5077, 50: 0.5231},
}
P_VALUES = {  # one-sided, against soft
    "sls": {5: 0.031, 10: 0.031, 25: 0.063, 50: 0.094},
    "multipass": {5: 0.063, 10: 0.031, 25: 0.031, 50: 0.031},
    "control": {5: 0.031, 10: 0.031, 25: 0.031, 50: 0.031},
}
CURVATURE = {  # largest eigenvalue and trace of the Hessian
    "soft": (242.2, 4946.0),
    "sls": (104.9, 1633.9),
    "multipass": (103.8, 1571.4),
    "control": (101.6, 1581.6),
    "shuffled": (18.4, 33.9),
}
BARRIER = 2.05  # between SLS and soft
STALE = {1: 0.5027, 50: 0.6689}  # soft NLL, drawn again every so many epochs
VARIANCE_ENTROPY = 0.939
GAIN_BY_DISTANCE = (0.05, 0.16)  # a range over cells
CKA = {"sls": 0.92, "soft": 0.887}  # between seeds
GRADCAM = {"sls": 0.901, "soft": 0.804}
OOD_P = 0.0186  # energy and ODIN, CIFAR-100
MIXUP = 0.5526  # soft NLL


def heard(value: float, half: float | None = None) -> Published:
    """A number from hearsay."""
    return Published(value, half, secondhand=True)


def p_values() -> Floats:
    """(12,) all that were printed."""
    return np.array([p for row in P_VALUES.values() for p in row.values()])

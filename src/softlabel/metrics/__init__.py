"""Measures of labels and predictions: plain functions of arrays on the simplex."""

from softlabel.metrics.base import METRICS, metric
from softlabel.metrics.divergence import (
    js_distance,
    jsd,
    kl,
    total_variation,
    w1_index,
    w1_values,
)
from softlabel.metrics.entropy import (
    correlation,
    entropy,
    entropy_pearson,
    entropy_spearman,
    normalised_entropy,
    possible_labels,
)
from softlabel.metrics.proper import brier, cross_entropy

__all__ = [
    "METRICS",
    "brier",
    "correlation",
    "cross_entropy",
    "entropy",
    "entropy_pearson",
    "entropy_spearman",
    "js_distance",
    "jsd",
    "kl",
    "metric",
    "normalised_entropy",
    "possible_labels",
    "total_variation",
    "w1_index",
    "w1_values",
]

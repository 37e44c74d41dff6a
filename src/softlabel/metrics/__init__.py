"""Measures of labels and predictions: plain functions of arrays on the simplex."""

from softlabel.metrics import cost, evaluate, intervals
from softlabel.metrics.alignment import Given, read_given
from softlabel.metrics.base import METRICS, Metric, distributions, metric, one_hot
from softlabel.metrics.calibration import (
    Bins,
    accuracy,
    classwise_ece,
    ece,
    mode,
    reliability,
    rms_calibration,
    soft_ece,
    soft_rms_calibration,
    top2_accuracy,
    worst_class_accuracy,
)
from softlabel.metrics.ceiling import ceilings, noise_ceiling
from softlabel.metrics.cost import UNTIMED, Cost, Spread, spread
from softlabel.metrics.divergence import (
    brier,
    correlation,
    cross_entropy,
    entropy,
    entropy_pearson,
    entropy_spearman,
    js_distance,
    jsd,
    kl,
    normalised_entropy,
    possible_labels,
    total_variation,
    w1_index,
    w1_values,
)
from softlabel.metrics.ood import (
    LOGIT_SCORES,
    aupr,
    auroc,
    energy,
    fpr95,
    knn,
    max_logit,
    max_softmax,
    negative_entropy,
)

__all__ = [
    "LOGIT_SCORES", "METRICS", "UNTIMED", "Bins", "Cost", "Given", "Metric", "Spread", "accuracy",
    "aupr", "auroc", "brier", "ceilings", "classwise_ece", "correlation", "cost", "cross_entropy",
    "distributions", "ece", "energy", "entropy", "entropy_pearson", "entropy_spearman", "evaluate",
    "fpr95", "intervals", "js_distance", "jsd", "kl", "knn", "max_logit", "max_softmax", "metric",
    "mode", "negative_entropy", "noise_ceiling", "normalised_entropy", "one_hot", "possible_labels",
    "read_given", "reliability", "rms_calibration", "soft_ece", "soft_rms_calibration", "spread",
    "top2_accuracy", "total_variation", "w1_index", "w1_values", "worst_class_accuracy",
]  # fmt: skip

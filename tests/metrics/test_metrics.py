"""Every measure against scipy, then the printed examples, then the corners by name."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import distance

from softlabel import DataError, metrics
from softlabel.metrics import base
from softlabel.metrics.calibration import confidence_and_right

RNG = np.random.default_rng(0)
TRUE, FOUND = RNG.dirichlet([0.7] * 5, 50), RNG.dirichlet([0.7] * 5, 50)

REFERENCES = {
    "kl": lambda p, q: stats.entropy(p, q),
    "jsd": lambda p, q: distance.jensenshannon(p, q) ** 2,
    "js_distance": lambda p, q: distance.jensenshannon(p, q),
    "total_variation": lambda p, q: distance.cityblock(p, q) / 2,
    "w1_values": lambda p, q: stats.wasserstein_distance(p, q),
    "w1_index": lambda p, q: stats.wasserstein_distance(range(5), range(5), p, q),
    "brier": lambda p, q: distance.sqeuclidean(p, q),
    "cross_entropy": lambda p, q: stats.entropy(p) + stats.entropy(p, q),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_equals_scipy(name):
    expected = [REFERENCES[name](p, q) for p, q in zip(TRUE, FOUND, strict=True)]
    np.testing.assert_allclose(getattr(metrics, name)(TRUE, FOUND), expected, atol=1e-12)


def test_entropy_equals_scipy():
    np.testing.assert_allclose(metrics.entropy(TRUE), stats.entropy(TRUE, axis=1))
    np.testing.assert_allclose(
        metrics.normalised_entropy(TRUE), stats.entropy(TRUE, axis=1, base=5)
    )


def test_correlations_equal_scipy():
    first, second = stats.entropy(TRUE, axis=1), stats.entropy(FOUND, axis=1)
    pearson, spearman = stats.pearsonr(first, second)[0], stats.spearmanr(first, second)[0]
    assert metrics.entropy_pearson(TRUE, FOUND) == pytest.approx(pearson)
    assert metrics.entropy_spearman(TRUE, FOUND) == pytest.approx(spearman)


PRINTED = [  # name, true, predicted, value
    ("w1_values", [0.8, 0.2, 0], [0.5, 0.3, 0.2], 0.2),
    ("w1_index", [0.8, 0.2, 0], [0.5, 0.3, 0.2], 0.5),
    ("w1_values", [0.7, 0.2, 0.1], [0.1, 0.2, 0.7], 0),
    ("w1_index", [0.7, 0.2, 0.1], [0.1, 0.2, 0.7], 1.2),
    ("kl", [0.8, 0.2, 0], [0.5, 0.3, 0.2], 0.294910),
    ("jsd", [0.8, 0.2, 0], [0.5, 0.3, 0.2], 0.0918133),
    ("js_distance", [0.8, 0.2, 0], [0.5, 0.3, 0.2], 0.303007),
]


@pytest.mark.parametrize(("name", "true", "predicted", "value"), PRINTED)
def test_printed_example(name, true, predicted, value):
    found = getattr(metrics, name)(np.array([true]), np.array([predicted]))
    np.testing.assert_allclose(found, [value], atol=5e-7)


def test_softmax_example():
    logits = np.array([2.0, 1.0, 0.0])
    q = np.exp(logits) / np.exp(logits).sum()
    p = np.array([0.7, 0.2, 0.1])
    assert metrics.cross_entropy([p], [q])[0] == pytest.approx(0.807606, abs=1e-6)
    assert metrics.kl([p], [q])[0] == pytest.approx(0.005787, abs=1e-6)
    assert metrics.brier([p], [q])[0] == pytest.approx(0.003308, abs=1e-6)
    assert metrics.brier([[1, 0, 0]], [q])[0] == pytest.approx(0.180061, abs=1e-6)
    assert metrics.entropy([p])[0] == pytest.approx(0.801819, abs=1e-6)


def test_entropy_correlation_example():
    q = [(0.9, 0.05, 0.05), (0.6, 0.3, 0.1), (0.4, 0.3, 0.3)]
    p = [(1, 0, 0), (0.5, 0.5, 0), (0.34, 0.33, 0.33)]
    assert metrics.entropy_pearson(q, p) == pytest.approx(0.994584, abs=1e-6)
    assert metrics.entropy_spearman(q, p) == pytest.approx(1)


def test_constant_entropy_has_no_correlation():
    hard = np.eye(5)[RNG.integers(0, 5, 50)]
    assert np.isnan(metrics.entropy_pearson(hard, FOUND))
    assert np.isnan(metrics.entropy_spearman(FOUND, np.full((50, 5), 0.2)))
    assert np.isnan(metrics.entropy_pearson(TRUE[:1], FOUND[:1]))


def test_a_class_given_no_chance_costs_infinitely_much_unless_clipped():
    true, found = [[0.5, 0.5]], [[1.0, 0.0]]
    assert metrics.kl(true, found)[0] == np.inf
    assert metrics.cross_entropy(true, found)[0] == np.inf
    for name in ("kl", "cross-entropy"):
        for floor in (-0.01, 1, 2, float("nan")):
            with pytest.raises(DataError, match=f"^floor = {floor} is not a probability below 1"):
                metrics.METRICS[name](true, found, floor=floor)
    assert metrics.kl(true, found, floor=1e-12)[0] == pytest.approx(
        0.5 * np.log(0.5) + 0.5 * np.log(0.5 / 1e-12)
    )


def test_one_class_has_no_entropy():
    assert metrics.normalised_entropy([[1.0]]).tolist() == [0]


def test_possible_labels_counts_classes_with_mass():
    assert metrics.possible_labels([[0.5, 0.5, 0], [1, 0, 0]]).tolist() == [2, 1]


# ── rows that are no distributions ───────────────────────────────────────────────────────────

COMPARE = {  # every public function of two tables of distributions
    **{name: function for name, function in metrics.METRICS.items()},
    "reliability": metrics.reliability,
    "confidence_and_right": confidence_and_right,
}
DESCRIBE = (
    *(metrics.entropy, metrics.normalised_entropy, metrics.possible_labels, metrics.mode),
    metrics.distributions,
)
WRONG = {  # (what stands in row 3, what the error says)
    "counts": ([3, 7, 0, 0, 2], "sum to 1 (value 12.0)"),
    "logits": ([2.5, -1, 0.3, 0, 0.1], "negative (value [ 2.5 -1. "),
    "positive logits": ([2.5, 1, 0.3, 0, 0.1], "sum to 1 (value 3.9"),
    "nan": ([np.nan, 0.5, 0.5, 0, 0], "not a finite number (value [nan"),
    "infinite": ([np.inf, 0, 0, 0, 0], "not a finite number (value [inf"),
    "unnormalised": ([0.3, 0.3, 0.3, 0, 0], "sum to 1 (value 0.8999"),
    "zeros": ([0, 0, 0, 0, 0], "sum to 1 (value 0.0)"),
}


def with_row(values):
    return np.concatenate([TRUE[:3], [values], TRUE[4:]])


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", COMPARE)
def test_rows_that_are_no_distributions_are_refused(name, wrong):
    values, complaint = WRONG[wrong]
    for side, given in {
        "true": (with_row(values), FOUND),
        "predicted": (FOUND, with_row(values)),
    }.items():
        with pytest.raises(DataError) as caught:
            COMPARE[name](*given)
        assert str(caught.value).startswith(f"{side}, row 3: ")
        assert complaint in str(caught.value)
        assert "divide counts by" in str(caught.value)
        assert "softmax of logits" in str(caught.value)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("function", DESCRIBE)
def test_properties_of_rows_that_are_no_distributions_are_refused(function, wrong):
    values, complaint = WRONG[wrong]
    with pytest.raises(DataError, match=r"^probs, row 3: ") as caught:
        function(with_row(values))
    assert complaint in str(caught.value)


def test_every_public_function_checks_or_takes_no_distributions():
    """A new function must be listed here, one way or the other."""
    exempt = {"Bins", "METRICS", "LOGIT_SCORES", "Metric", "metric", "one_hot", "correlation"}
    scores = {"auroc", "aupr", "fpr95", "energy", "knn", "max_logit", "max_softmax"}
    exempt |= scores | {"negative_entropy", "noise_ceiling", "ceilings", "Given", "read_given"}
    exempt |= {"intervals", "evaluate", "cost", *("UNTIMED", "Cost", "Spread", "spread")}
    checked = {name.replace("-", "_") for name in COMPARE} | {each.__name__ for each in DESCRIBE}
    assert set(metrics.__all__) - exempt == checked - {"confidence_and_right"}


@pytest.mark.parametrize("k", [2, 10, 1000, 10_000])
def test_softmax_in_single_precision_is_a_distribution(k):
    logits = np.random.default_rng(k).normal(0, 3, (4, k)).astype(np.float32)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    total = np.zeros((4, 1), dtype=np.float32)
    for column in weights.T:  # the worst way to add: one after another, without pairs
        total[:, 0] += column
    assert np.isfinite(metrics.entropy(weights / total)).all()


@pytest.mark.parametrize("name", COMPARE)
def test_arrays_of_other_shapes_are_refused(name):
    for given in (
        (TRUE, FOUND[:, :4]),
        (TRUE, FOUND[:20]),
        (TRUE[0], FOUND[0]),
        (TRUE[None], FOUND[None]),
    ):
        with pytest.raises(DataError, match=r"\(items, classes\).*got \("):
            COMPARE[name](*given)
    with pytest.raises(DataError, match="true is not an array of numbers"):
        COMPARE[name]([[0.5, 0.5], [1.0]], [[0.5, 0.5], [1.0]])


@pytest.mark.parametrize("name", COMPARE)
def test_a_metric_checks_once(name, monkeypatch):
    seen = []
    monkeypatch.setattr(base, "check_simplex", lambda name, *rest: seen.append(name))
    COMPARE[name](TRUE, FOUND)
    assert seen == ["true", "predicted"]


def test_shapes_that_differ_are_named():
    with pytest.raises(DataError, match=r"\(1, 2\) and \(1, 3\)"):
        metrics.kl([[0.5, 0.5]], [[0.2, 0.3, 0.5]])

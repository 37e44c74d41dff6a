"""Scores of logits and features, and how well they detect, against scipy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from sklearn.neighbors import NearestNeighbors

from softlabel import DataError, metrics
from softlabel.metrics import ood

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(40, 7)) * 3

REFERENCES = {
    "max-softmax": lambda z: special.softmax(z, axis=1).max(axis=1),
    "max-logit": lambda z: z.max(axis=1),
    "energy": lambda z: np.log(np.exp(z).sum(axis=1)),
    "negative-entropy": lambda z: -stats.entropy(special.softmax(z, axis=1), axis=1),
}


@pytest.mark.parametrize("name", metrics.LOGIT_SCORES)
def test_scores_of_logits(name):
    np.testing.assert_allclose(metrics.LOGIT_SCORES[name](LOGITS), REFERENCES[name](LOGITS))


def test_printed_examples():
    assert metrics.energy([[2, 1, 0]])[0] == pytest.approx(2.407606, abs=1e-6)
    assert metrics.max_softmax([[2, 1, 0]])[0] == pytest.approx(0.665241, abs=1e-6)
    assert metrics.auroc([0.9, 0.8, 0.4], [0.7, 0.3]) == pytest.approx(0.833333, abs=1e-6)


@pytest.mark.parametrize("name", metrics.LOGIT_SCORES)
def test_large_logits_do_not_overflow(name):
    with np.errstate(all="raise", under="ignore"):
        found = metrics.LOGIT_SCORES[name](np.array([[1e4, -1e4], [500.0, 500.0]], np.float32))
    assert np.isfinite(found).all()


def test_temperature_of_the_energy():
    assert metrics.energy(LOGITS, 1000.0) == pytest.approx(
        1000 * np.log(np.exp(LOGITS / 1000).sum(axis=1))
    )
    assert metrics.energy(LOGITS, 1e-3) == pytest.approx(LOGITS.max(axis=1), abs=1e-2)


@pytest.mark.parametrize("k", [1, 5, 60])
def test_knn_equals_scikit_learn(k, monkeypatch):
    known, asked = RNG.normal(size=(60, 4)), RNG.normal(size=(33, 4))

    def unit(rows):
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    nearest = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(unit(known))
    expected = -nearest.kneighbors(unit(asked))[0][:, -1]
    np.testing.assert_allclose(metrics.knn(asked, known, k), expected, atol=1e-7)
    monkeypatch.setattr(ood, "CHUNK", 130)  # in parts of two
    np.testing.assert_allclose(metrics.knn(asked, known, k), expected, atol=1e-7)


def test_knn_of_features_that_are_zero():
    assert metrics.knn([[0.0, 0.0]], [[0.0, 3.0]], 1) == pytest.approx(-1)
    assert np.isfinite(metrics.knn([[0.0, 0.0]], [[0.0, 0.0]], 1)).all()


SETS = {
    "continuous": (RNG.normal(1, 1, 300), RNG.normal(0, 1, 200)),
    "many ties": (RNG.integers(2, 8, 300) / 8, RNG.integers(0, 7, 150) / 8),
    "all equal": (np.ones(20), np.ones(30)),
    "apart": (np.arange(5.0) + 10, np.arange(9.0)),
    "upside down": (np.arange(9.0), np.arange(5.0) + 10),
    "one each": (np.array([0.2]), np.array([0.1])),
    "infinite": (np.array([np.inf, 1, 0]), np.array([-np.inf, 0.5])),
}


@pytest.mark.parametrize("name", SETS)
def test_detection_equals_scikit_learn(name):
    inside, outside = SETS[name]
    truth = np.concatenate([np.ones(len(inside)), np.zeros(len(outside))])
    # only the order counts, and scikit-learn takes no infinities
    score = stats.rankdata(np.concatenate([inside, outside]))
    assert metrics.auroc(inside, outside) == pytest.approx(roc_auc_score(truth, score))
    assert metrics.aupr(inside, outside) == pytest.approx(average_precision_score(truth, score))
    assert metrics.aupr(-outside, -inside) == pytest.approx(
        average_precision_score(1 - truth, -score)
    )
    for kept in (0.5, 0.95, 1.0):
        let_in, held, _ = roc_curve(truth, score, drop_intermediate=False)
        expected = let_in[held >= kept - 1e-12].min()
        assert metrics.fpr95(inside, outside, kept) == pytest.approx(expected)


def test_19_of_20_are_95_percent():
    """0.95 * 20 is a little more or less than 19 in floating point."""
    inside = np.arange(20.0)
    assert metrics.fpr95(inside, np.array([0.5])) == 0
    assert metrics.fpr95(inside, np.array([1.0])) == 1


REFUSED = [
    (lambda: metrics.auroc([], [1.0]), r"inside scores .* shape \(0,\)"),
    (lambda: metrics.aupr([1.0], [np.nan]), "outside score of item 0 is NaN"),
    (lambda: metrics.fpr95([1.0], [0.0], 0.0), "kept = 0.0"),
    (lambda: metrics.energy([1.0, 2.0]), r"logits have shape \(m, k\)"),
    (lambda: metrics.knn([[1.0]], [[1.0, 2.0]], 1), "features have 1 columns, the known 2"),
    (lambda: metrics.knn([[1.0]], [[1.0]], 2), r"k = 2 is not in 1\.\.1"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()

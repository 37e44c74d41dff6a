"""Calibration: the six printed points, plain loops as reference, simulated truth, corners."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from softlabel import DataError, UnknownName, metrics
from softlabel.metrics.calibration import Bins, mass_bins, size_bins, width_bins

CONFIDENCE = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
RIGHT = np.array([0.0, 1, 1, 0, 1, 1])

# the six points as labels: the predicted class is 0, and right or not
PREDICTED = np.stack([CONFIDENCE, 1 - CONFIDENCE - 1e-9, np.full(6, 1e-9)], axis=1)
TRUE = np.stack([RIGHT, 1 - RIGHT, np.zeros(6)], axis=1)
TRUE[0] = [0, 0, 1]


@pytest.mark.parametrize(
    ("size", "drop", "value"),
    [(2, True, 0.147196), (2, False, 0.153433), (4, True, 0.0), (4, False, 0.075)],
)
def test_printed_rms(size, drop, value):
    found = metrics.rms_calibration(TRUE, PREDICTED, size, drop)
    assert found == pytest.approx(value, abs=1e-6)


def test_printed_ece():
    assert metrics.ece(TRUE, PREDICTED, 3, "mass") == pytest.approx(0.125)
    assert metrics.ece(TRUE, PREDICTED, 10) == pytest.approx(0.358333, abs=1e-6)


def rms_by_loop(confidence, right, size, drop):
    """As the specification says it, without a clever array."""
    pairs = sorted(zip(confidence, right, strict=True), key=lambda pair: pair[0])  # stable
    n, total = len(pairs), 0.0
    bins = n // size
    for b in range(bins - 1 if drop else bins):
        part = pairs[b * size : n if b == bins - 1 else (b + 1) * size]
        gap = np.mean([c for c, _ in part]) - np.mean([r for _, r in part])
        total += len(part) / n * gap**2
    return np.sqrt(total)


@pytest.fixture(scope="module")
def simulated():
    """A model whose probabilities are too sure, and people who vote by the true ones."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([0.6] * 6, 1234)
    votes = rng.multinomial(30, truth) / 30
    sure = truth**2 / (truth**2).sum(axis=1, keepdims=True)
    return truth, votes, sure


@pytest.mark.parametrize("size", [1, 10, 100, 1000])
@pytest.mark.parametrize("drop", [False, True])
def test_rms_equals_the_loop(simulated, size, drop):
    _, votes, sure = simulated
    confidence, right = sure.max(axis=1), metrics.accuracy(votes, sure)
    expected = rms_by_loop(confidence, right, size, drop)
    assert metrics.rms_calibration(votes, sure, size, drop) == pytest.approx(expected)


def test_ties_keep_the_order_of_the_items():
    """As a stable sort does; the value depends on it and nothing else."""
    confidence = np.full(4, 0.5)
    right = np.array([1.0, 1, 0, 0])
    bins = Bins.of(confidence, right, size_bins(confidence, 2))
    assert bins.right.tolist() == [1, 0]
    assert bins.rms() == pytest.approx(rms_by_loop(confidence, right, 2, False))
    rng = np.random.default_rng(3)
    confidence, right = rng.integers(5, 10, 1000) / 10, rng.integers(0, 2, 1000)
    bins = Bins.of(confidence, right, size_bins(confidence, 7))
    assert bins.rms() == pytest.approx(rms_by_loop(confidence, right, 7, False), abs=1e-12)


def test_fewer_items_than_a_bin_are_one_bin():
    gap = abs(CONFIDENCE.mean() - RIGHT.mean())
    assert metrics.rms_calibration(TRUE, PREDICTED) == pytest.approx(gap)
    assert metrics.rms_calibration(TRUE, PREDICTED, drop_last_bin=True) == 0


def test_width_bins_are_closed_on_the_right():
    edges = np.arange(11) / 10
    assert width_bins(edges, 10).tolist() == [0, *range(10)]
    assert width_bins(np.nextafter(edges[:-1], 1), 10).tolist() == list(range(10))


def test_mass_bins_hold_equally_many_and_keep_ties_together():
    values = np.random.default_rng(1).permutation(23) / 23
    assert np.bincount(mass_bins(values, 5)).tolist() == [5, 5, 4, 5, 4]
    tied = np.array([0.1, 0.5, 0.5, 0.5, 0.9, 1.0])
    code = mass_bins(tied, 3)
    assert len(set(code[1:4])) == 1
    order = [3, 0, 5, 2, 4, 1]
    assert (mass_bins(tied[order], 3) == code[order]).all()
    assert len(set(mass_bins(np.full(9, 0.3), 4))) == 1
    assert len(set(mass_bins(np.array([0.2, 0.4]), 15))) == 2  # more bins than items


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_ece_from_scikit_learns_curve(simulated, binning):
    """Its bins are closed on the left, which no simulated confidence can tell."""
    _, votes, sure = simulated
    confidence, right = sure.max(axis=1), metrics.accuracy(votes, sure, ties="first")
    strategy = {"width": "uniform", "mass": "quantile"}[binning]
    share, mean = calibration_curve(right, confidence, n_bins=10, strategy=strategy)
    bins = Bins.of(
        confidence, right, (width_bins if binning == "width" else mass_bins)(confidence, 10)
    )
    np.testing.assert_allclose(bins.right, share, atol=0.02 if binning == "mass" else 1e-12)
    np.testing.assert_allclose(bins.confidence, mean, atol=0.02 if binning == "mass" else 1e-12)
    assert bins.error() == pytest.approx(
        np.average(abs(bins.right - bins.confidence), weights=bins.count)
    )


def test_classwise_by_hand():
    true = np.array([[1, 0], [0, 1.0]])
    found = np.array([[0.8, 0.2], [0.7, 0.3]])
    # class 0: bins (.7, .8] and (.6, .7]: gaps .2 and .7; class 1 mirrors it
    assert metrics.classwise_ece(true, found, 10) == pytest.approx(0.45)
    # one bin: mean .75 against .5, mean .25 against .5
    assert metrics.classwise_ece(true, found, 1) == pytest.approx(0.25)


def test_classwise_sees_what_the_largest_hides():
    """Right in the largest probability, wrong in the order of the rest."""
    true = np.tile([0.6, 0.3, 0.1], (50, 1))
    found = np.tile([0.6, 0.1, 0.3], (50, 1))
    assert metrics.soft_ece(true, found) == pytest.approx(0)
    assert metrics.classwise_ece(true, found) == pytest.approx(0.4 / 3)


def test_the_true_distribution_is_calibrated_against_people_and_not_against_their_mode(simulated):
    """60 % of people agree with the most probable class, yet it nearly always is the mode."""
    truth, votes, sure = simulated
    assert metrics.soft_ece(truth, truth) == pytest.approx(0)
    assert metrics.soft_rms_calibration(truth, truth) == pytest.approx(0)
    assert metrics.soft_ece(votes, truth) < 0.02 < 0.2 < metrics.ece(votes, truth)
    assert metrics.soft_ece(votes, sure) > 0.1
    assert metrics.soft_rms_calibration(votes, truth) < 0.02 < metrics.rms_calibration(votes, truth)


def test_against_drawn_classes_the_truth_is_calibrated():
    rng = np.random.default_rng(2)
    truth = rng.dirichlet([0.8] * 4, 20_000)
    drawn = rng.multinomial(1, truth).astype(float)
    sure = truth**2 / (truth**2).sum(axis=1, keepdims=True)
    for score in (metrics.ece, metrics.classwise_ece, metrics.rms_calibration):
        assert score(drawn, truth) < score(drawn, sure) / 2
    assert metrics.ece(drawn, truth) < 0.012
    assert metrics.ece(drawn, truth, binning="mass") < 0.012


def test_a_tied_prediction_is_held_against_the_mean_share():
    bins = metrics.reliability([[0.8, 0.2, 0]], [[0.4, 0.4, 0.2]], against="share")
    assert (bins.confidence.item(), bins.right.item(), bins.count.item()) == (0.4, 0.5, 1)


def test_reliability_leaves_out_empty_bins():
    bins = metrics.reliability(TRUE, PREDICTED, 10)
    assert bins.count.tolist() == [1] * 6
    np.testing.assert_allclose(bins.confidence, CONFIDENCE)
    assert bins.right.tolist() == RIGHT.tolist()


NOTHING = np.zeros((0, 3))
REFUSED = [
    (lambda: metrics.ece(NOTHING, NOTHING), "no items"),
    (lambda: metrics.classwise_ece(NOTHING, NOTHING), "no items"),
    (lambda: metrics.ece(TRUE, PREDICTED, 0), "bins = 0"),
    (lambda: metrics.rms_calibration(TRUE, PREDICTED, 0), "bin_size = 0"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()


def test_unknown_choices_are_named():
    with pytest.raises(UnknownName, match="no binning called 'area'"):
        metrics.ece(TRUE, PREDICTED, binning="area")
    with pytest.raises(UnknownName, match="no against called 'me'"):
        metrics.reliability(TRUE, PREDICTED, against="me")

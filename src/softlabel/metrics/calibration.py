"""Whether a confidence of 80 % is right 80 times in 100.

The confidence of a prediction is its largest probability.  It is held against one of two things:
whether the predicted class is the mode of ``true`` (``against="mode"``, the usual reading), or the
share of people who agree with it (``against="share"``), which uses all that people said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from softlabel.errors import DataError
from softlabel.metrics.accuracy import hits, in_top
from softlabel.metrics.base import metric, pair
from softlabel.registry import check_choice
from softlabel.tables import Floats, Ints, frozen

Against = Literal["mode", "share"]
Binning = Literal["width", "mass"]


@dataclass(frozen=True, eq=False)
class Bins:
    """Items grouped by confidence: how many, their mean confidence, how often they were right.

    Bins without items are left out.
    """

    count: Ints
    confidence: Floats
    right: Floats

    @classmethod
    def of(cls, confidence: Floats, right: Floats, code: Ints) -> Bins:
        """The bins of items whose bin is known."""
        count = np.bincount(code)
        used = count > 0
        size = count[used]
        sums = (np.bincount(code, values)[used] for values in (confidence, right))
        means = [frozen(np.asarray(values / size)) for values in sums]
        return cls(frozen(size), means[0], means[1])

    def error(self) -> float:
        """Expected calibration error: the mean gap, weighted by the number of items."""
        return float(self.count @ abs(self.confidence - self.right) / self.count.sum())

    def rms(self, drop_last: bool = False) -> float:
        """Root mean square gap; ``drop_last`` leaves out the most confident bin, whose items
        still count in the weights."""
        squares = self.count * (self.confidence - self.right) ** 2
        return float(np.sqrt(squares[: -1 if drop_last else None].sum() / self.count.sum()))


# ── bins ─────────────────────────────────────────────────────────────────────────────────────


def width_bins(confidence: Floats, bins: int = 15) -> Ints:
    """The bin of each confidence among ``bins`` equal intervals of [0, 1], closed on the right;
    0 belongs to the first."""
    edges = np.arange(1, bins) / bins  # not multiples of 1/bins: 0.7 must be the edge 7/10
    return np.searchsorted(edges, confidence, side="left")


def mass_bins(confidence: Floats, bins: int = 15) -> Ints:
    """The bin of each confidence among ``bins`` of equally many items; equal confidences stay
    together, so the order of the items does not matter."""
    n = len(confidence)
    last = -(-n * np.arange(1, bins) // bins) - 1  # where each bin ends in the sorted list
    return np.searchsorted(np.sort(confidence)[last], confidence, side="left")


def size_bins(confidence: Floats, size: int) -> Ints:
    """The bin of each confidence when bins are ``size`` consecutive items of the sorted list and
    the last takes the remainder.  Fewer items than ``size`` make one bin.  The sort is stable:
    equal confidences keep the order of the items."""
    n = len(confidence)
    code = np.empty(n, dtype=np.int64)
    order = np.argsort(confidence, kind="stable")
    code[order] = np.minimum(np.arange(n) // size, max(n // size, 1) - 1)
    return code


def confidence_and_right(
    true: Floats, predicted: Floats, against: Against = "mode"
) -> tuple[Floats, Floats]:
    """(m,) the largest predicted probability, and what it is held against."""
    return _confidence_and_right(*pair(true, predicted), against)


def reliability(
    true: Floats,
    predicted: Floats,
    bins: int = 15,
    binning: Binning = "width",
    against: Against = "mode",
) -> Bins:
    """What a reliability diagram shows."""
    return _reliability(*pair(true, predicted), bins, binning, against)


# ── metrics ──────────────────────────────────────────────────────────────────────────────────


@metric(better="lower", bounds=(0, 1))
def ece(true: Floats, predicted: Floats, bins: int = 15, binning: Binning = "width") -> float:
    """Expected calibration error against the mode (Guo et al. 2017), in bins of equal width,
    closed on the right, or of equal mass.

    >>> ece([[1, 0], [0, 1]], [[.9, .1], [.6, .4]])
    0.35
    """
    return _reliability(true, predicted, bins, binning, "mode").error()


@metric(better="lower", needs="soft", bounds=(0, 1))
def soft_ece(true: Floats, predicted: Floats, bins: int = 15, binning: Binning = "width") -> float:
    """Expected calibration error against the share of people who agree with the prediction.

    >>> soft_ece([[.9, .1], [.6, .4]], [[.9, .1], [.6, .4]])
    0.0
    """
    return _reliability(true, predicted, bins, binning, "share").error()


@metric(better="lower", bounds=(0, 1))
def classwise_ece(
    true: Floats, predicted: Floats, bins: int = 15, binning: Binning = "width"
) -> float:
    """Calibration of every class's probability, not of the largest only (Kull et al. 2019): the
    mean over classes of the calibration error of that column of ``predicted`` against that column
    of ``true``, which may be shares of people or one-hot rows.
    """
    if not len(true):
        raise DataError("calibration of no items is not defined")
    columns = zip(predicted.T, true.T, strict=True)
    errors = [Bins.of(q, p, _code(q, bins, binning)).error() for q, p in columns]
    return float(np.mean(errors))


@metric(better="lower", bounds=(0, 1))
def rms_calibration(
    true: Floats, predicted: Floats, bin_size: int = 100, drop_last_bin: bool = False
) -> float:
    """Root mean square calibration error in bins of ``bin_size`` items, against the mode.

    Published figures (Hendrycks et al. 2022 and those who use their code) leave out the last and
    most confident bin: ``drop_last_bin=True``.  With a single bin that leaves nothing, and 0.
    """
    return _rms(true, predicted, "mode", bin_size).rms(drop_last_bin)


@metric(better="lower", needs="soft", bounds=(0, 1))
def soft_rms_calibration(true: Floats, predicted: Floats, bin_size: int = 100) -> float:
    """Root mean square calibration error against the share of people who agree."""
    return _rms(true, predicted, "share", bin_size).rms()


# ── of arrays that were checked already ──────────────────────────────────────────────────────


def _confidence_and_right(
    true: Floats, predicted: Floats, against: Against
) -> tuple[Floats, Floats]:
    check_choice("against", against, get_args(Against))
    if not len(true):
        raise DataError("calibration of no items is not defined")
    if against == "mode":
        right = hits(true, predicted)
    else:
        right = np.asarray((in_top(predicted, 1, "split") * true).sum(axis=1))
    return predicted.max(axis=1), right


def _reliability(
    true: Floats, predicted: Floats, bins: int, binning: Binning, against: Against
) -> Bins:
    confidence, right = _confidence_and_right(true, predicted, against)
    return Bins.of(confidence, right, _code(confidence, bins, binning))


def _rms(true: Floats, predicted: Floats, against: Against, size: int) -> Bins:
    if size < 1:
        raise DataError(f"bin_size = {size}: a bin holds at least one item")
    confidence, right = _confidence_and_right(true, predicted, against)
    return Bins.of(confidence, right, size_bins(confidence, size))


def _code(confidence: Floats, bins: int, binning: Binning) -> Ints:
    check_choice("binning", binning, get_args(Binning))
    if bins < 1:
        raise DataError(f"bins = {bins}: at least one is needed")
    return (width_bins if binning == "width" else mass_bins)(confidence, bins)

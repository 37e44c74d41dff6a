"""How often the most probable class is the right one, and whether a confidence of 80 % is right 80
times in 100.

The right class is the mode of ``true``: the class most people named, or the given class where the
rows are one-hot (``one_hot``).  Classes that tie, on either side, are not decided by their place
in the list: ``ties="split"`` gives the chance of being right if every tie were broken at random.
``ties="first"`` takes the first of them, as most published code does.

The confidence of a prediction is its largest probability.  It is held against one of two things:
whether the predicted class is the mode of ``true`` (``against="mode"``, the usual reading), or the
share of people who agree with it (``against="share"``), which uses all that people said.
"""

from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

from softlabel.errors import DataError
from softlabel.metrics.base import distributions, metric, pair
from softlabel.registry import check_choice
from softlabel.tables import Floats, Ints, frozen

Ties = Literal["split", "first"]
Against = Literal["mode", "share"]
Binning = Literal["width", "mass"]


def mode(
    probs: Any, ties: Ties = "split", *, normalise: bool = False, from_logits: bool = False
) -> Floats:
    """(m, k) one-hot rows of the most probable class; tied classes share it, or the first has it.

    >>> mode([[.4, .4, .2]])
    array([[0.5, 0.5, 0. ]])
    """
    return in_top(distributions(probs, normalise=normalise, from_logits=from_logits), 1, ties)


@metric(better="higher", bounds=(0, 1))
def accuracy(true: Floats, predicted: Floats, top: int = 1, ties: Ties = "split") -> Floats:
    """Whether the mode of ``true`` is among the ``top`` most probable classes predicted.

    >>> accuracy([[.7, .2, .1], [.4, .4, .2]], [[.6, .3, .1], [.5, .2, .3]])
    array([1. , 0.5])
    """
    return hits(true, predicted, top, ties)


@metric(better="higher", bounds=(0, 1))
def top2_accuracy(true: Floats, predicted: Floats, ties: Ties = "split") -> Floats:
    """Whether the mode of ``true`` is one of the two most probable classes predicted."""
    return hits(true, predicted, 2, ties)


@metric(better="higher", bounds=(0, 1))
def worst_class_accuracy(true: Floats, predicted: Floats, ties: Ties = "split") -> float:
    """The lowest accuracy over classes, items being grouped by the mode of ``true``.

    An item whose mode is tied counts in part for each of its classes; a class without items is
    passed over; without any item the answer is NaN.

    >>> worst_class_accuracy([[1, 0], [1, 0], [0, 1]], [[.9, .1], [.3, .7], [.2, .8]])
    0.5
    """
    owner = in_top(true, 1, ties)
    found = (owner * in_top(predicted, 1, ties)).sum(axis=0)
    size = owner.sum(axis=0)
    return float((found[size > 0] / size[size > 0]).min()) if size.any() else float("nan")


# ── bins of confidence ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Bins:
    """Items grouped by confidence: how many, their mean confidence, how often they were right.

    Bins without items are left out.
    """

    count: Ints
    confidence: Floats
    right: Floats

    @classmethod
    def of(cls, confidence: Floats, right: Floats, code: Ints) -> Self:
        """The bins of items whose bin is known."""
        count = np.bincount(code)
        used = count > 0
        size = count[used]
        means = [np.bincount(code, values)[used] / size for values in (confidence, right)]
        return cls(frozen(size), *(frozen(np.asarray(mean)) for mean in means))

    def error(self) -> float:
        """Expected calibration error: the mean gap, weighted by the number of items."""
        return float(self.count @ abs(self.confidence - self.right) / self.count.sum())

    def rms(self, drop_last: bool = False) -> float:
        """Root mean square gap; ``drop_last`` leaves out the most confident bin, whose items
        still count in the weights."""
        squares = self.count * (self.confidence - self.right) ** 2
        return float(np.sqrt(squares[: -1 if drop_last else None].sum() / self.count.sum()))


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
    true: Any, predicted: Any, against: Against = "mode"
) -> tuple[Floats, Floats]:
    """(m,) the largest predicted probability, and what it is held against."""
    return _confidences(*pair(true, predicted), against)


def reliability(
    true: Any,
    predicted: Any,
    bins: int = 15,
    binning: Binning = "width",
    against: Against = "mode",
    **taken: bool,
) -> Bins:
    """What a reliability diagram shows; ``normalise`` and ``from_logits`` as for every metric."""
    return _binned(*pair(true, predicted, **taken), bins, binning, against)


# ── calibration ──────────────────────────────────────────────────────────────────────────────


@metric(better="lower", bounds=(0, 1))
def ece(true: Floats, predicted: Floats, bins: int = 15, binning: Binning = "width") -> float:
    """Expected calibration error against the mode (Guo et al. 2017), in bins of equal width,
    closed on the right, or of equal mass.

    >>> ece([[1, 0], [0, 1]], [[.9, .1], [.6, .4]])
    0.35
    """
    return _binned(true, predicted, bins, binning, "mode").error()


@metric(better="lower", needs="soft", bounds=(0, 1))
def soft_ece(true: Floats, predicted: Floats, bins: int = 15, binning: Binning = "width") -> float:
    """Expected calibration error against the share of people who agree with the prediction.

    >>> soft_ece([[.9, .1], [.6, .4]], [[.9, .1], [.6, .4]])
    0.0
    """
    return _binned(true, predicted, bins, binning, "share").error()


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


def hits(true: Floats, predicted: Floats, top: int = 1, ties: Ties = "split") -> Floats:
    """``accuracy`` of rows that are known to be distributions."""
    return np.asarray((in_top(true, 1, ties) * in_top(predicted, top, ties)).sum(axis=1))


def in_top(probs: Floats, top: int, ties: Ties) -> Floats:
    """(m, k) the chance that a class is among the ``top``; rows sum to ``top``.  For ``top=1`` and
    tied classes this is the mode, shared."""
    check_choice("ties", ties, get_args(Ties))
    m, k = probs.shape
    if not 1 <= top <= k:
        raise DataError(f"top = {top} is not in 1..{k}, the number of classes")
    if ties == "first":
        chance = np.zeros((m, k))
        best = np.argsort(-probs, axis=1, kind="stable") if top > 1 else probs.argmax(1)[:, None]
        np.put_along_axis(chance, best[:, :top], 1.0, axis=1)
        return chance
    if top == 1:
        best = probs == probs.max(axis=1, keepdims=True)
        return np.asarray(best / best.sum(axis=1, keepdims=True))
    # the last place in the top goes to value `edge`; classes at that value share what is left
    edge = np.partition(probs, k - top, axis=1)[:, [k - top]]
    above, level = probs > edge, probs == edge
    left = top - above.sum(axis=1, keepdims=True)
    return np.asarray(above + level * left / level.sum(axis=1, keepdims=True))


def _confidences(true: Floats, predicted: Floats, against: Against) -> tuple[Floats, Floats]:
    check_choice("against", against, get_args(Against))
    if not len(true):
        raise DataError("calibration of no items is not defined")
    if against == "mode":
        right = hits(true, predicted)
    else:
        right = np.asarray((in_top(predicted, 1, "split") * true).sum(axis=1))
    return predicted.max(axis=1), right


def _binned(true: Floats, predicted: Floats, bins: int, binning: Binning, against: Against) -> Bins:
    confidence, right = _confidences(true, predicted, against)
    return Bins.of(confidence, right, _code(confidence, bins, binning))


def _rms(true: Floats, predicted: Floats, against: Against, size: int) -> Bins:
    if size < 1:
        raise DataError(f"bin_size = {size}: a bin holds at least one item")
    confidence, right = _confidences(true, predicted, against)
    return Bins.of(confidence, right, size_bins(confidence, size))


def _code(confidence: Floats, bins: int, binning: Binning) -> Ints:
    check_choice("binning", binning, get_args(Binning))
    if bins < 1:
        raise DataError(f"bins = {bins}: at least one is needed")
    return (width_bins if binning == "width" else mass_bins)(confidence, bins)

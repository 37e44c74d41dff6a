"""Agreement: how often people choose the same class, beyond chance, and who agrees least."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtrit

from softlabel.annotators.cards import Card, compare_with_others
from softlabel.errors import DataError
from softlabel.metrics import intervals
from softlabel.registry import check_choice
from softlabel.tables import Annotations, Floats, Ints, Score

Distance = Literal["brier", "total-variation", "hellinger", "ordinal", "interval"]
SCALES: tuple[Distance, ...] = ("ordinal", "interval")
GROUPS = 200  # at most, of people who are left out together


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far people agree, over the ``shared`` items that two people or more have answered.

    ``observed`` is the chance that two people choose the same class, ``alpha`` Krippendorff's,
    ``variation`` the mean total variation between two people's labels, ``others`` the mean over
    people of 1 minus the total variation to the mean of the others.  ``cards`` has who agrees
    least with the others first; it is empty for anonymous answers.  ``scales`` has the ordinal and
    the interval alpha of classes that are steps of a scale.
    """

    items: int
    shared: int
    observed: Score
    alpha: Score
    variation: float
    others: float
    cards: list[Card]
    scales: Mapping[Distance, Score] = field(default_factory=dict)


def measure_agreement(
    annotations: Annotations, distance: Distance = "brier", draws: int = 500
) -> Agreement:
    """Measure agreement, with bootstrap intervals over the items with two answers or more."""
    count = annotations.votes_per_item()
    shared = count > 1
    if not shared.any():
        raise DataError("no item has two answers, so there is nothing to compare")
    cards = [] if annotations.anonymous else compare_with_others(annotations)
    cards = [card for card in cards if card.answers]
    known = [card.agreement for card in cards if not np.isnan(card.agreement)]
    return Agreement(
        items=int((count > 0).sum()),
        shared=int(shared.sum()),
        observed=intervals.mean(observed_agreement(annotations)[shared], draws=draws),
        alpha=alpha_score(annotations, distance, draws=draws),
        variation=float(pairwise_variation(annotations)[shared].mean()),
        others=float(np.mean(known)) if known else float("nan"),
        cards=sorted(cards, key=lambda card: (np.isnan(card.agreement), card.agreement)),
        scales={
            scale: alpha_score(annotations, scale, draws=draws)
            for scale in (SCALES if annotations.index.ordered else ())
        },
    )


def observed_agreement(annotations: Annotations) -> Floats:
    """Return the chance (m,) that two answers to an item agree: sum c (c - 1) / (n (n - 1)).

    For soft labels: the chance that a class drawn from each of two people's labels is the same.
    One answer agrees with itself (1); none gives NaN.  (33, 13, 4) gives .499592 (U20, table 1).
    """
    count, own, total = _moments(annotations, "brier")
    pairs = count * (count - 1)
    agreement = ((total**2).sum(axis=1) - own) / np.maximum(pairs, 1)
    return np.where(count > 1, agreement, np.where(count == 1, 1.0, np.nan))


def pairwise_variation(annotations: Annotations) -> Floats:
    """Return the mean total variation (m,) between two people's labels, for hard votes the chance
    that two of them differ; NaN below two answers."""
    count = annotations.votes_per_item()
    pairs = np.maximum(count * (count - 1), 1)
    if annotations.hard:
        apart = 1 - observed_agreement(annotations)
    else:
        apart = _variations(annotations.soft(), annotations.item, len(count)) / pairs
    return np.where(count > 1, apart, np.nan)


def alpha(annotations: Annotations, distance: Distance = "brier") -> float:
    """Return Krippendorff's alpha with a distance on the simplex: 1 - observed / expected.

    1 is perfect agreement, 0 what chance would give.  All three distances are 0 between equal
    labels and 1 between different classes, so on hard votes each gives the classic nominal alpha
    (Krippendorff 2011).  ``brier`` is half the squared Euclidean distance, ``hellinger`` the
    squared Hellinger distance.  Undefined (NaN) when no item has two answers or all answers are
    the same.  Repeated answers of one person count as two people: drop them first.

    ``ordinal`` and ``interval`` are for classes that are steps of a scale: the squared difference
    of two ratings, which are ranks among all answers, or the numbers that the classes are called
    (else their places).  Of a soft label it is the expected rating.
    """
    check_choice("distance", distance, get_args(Distance))
    if distance in SCALES:
        annotations = annotations.take(annotations.votes_per_item()[annotations.item] > 1)
    if annotations.hard or distance != "total-variation":
        return _alpha_of_moments(*_moments(annotations, distance))
    annotations = annotations.take(annotations.votes_per_item()[annotations.item] > 1)
    if not len(annotations):
        return float("nan")
    count, soft = annotations.votes_per_item(), annotations.soft()
    within = _variations(soft, annotations.item, len(count)) / np.maximum(count - 1, 1)
    between = _variations(soft, np.zeros(len(annotations), dtype=np.int64), 1)[0]
    return _ratio(within.sum(), between, len(annotations))


def alpha_score(
    annotations: Annotations,
    distance: Distance = "brier",
    over: intervals.Unit = "items",
    draws: int = 500,
) -> Score:
    """Return alpha with its bootstrap interval over items.

    Over annotators, a person drawn twice would agree with themselves.  There the interval comes
    from a jackknife that leaves out one person (or one group, if there are many) at a time.
    """
    check_choice("unit to resample", over, get_args(intervals.Unit))
    if over == "annotators":
        if annotations.anonymous:
            raise DataError("nobody can be left out: some answers are anonymous")
        value = alpha(annotations, distance)
        code = np.unique(annotations.annotator, return_inverse=True)[1]
        people = int(code.max(initial=-1)) + 1
        n = min(people, GROUPS)
        if n < 2:
            return Score(value, float("nan"), float("nan"), people)
        left_out = np.array([alpha(annotations.take(code % n != g), distance) for g in range(n)])
        error = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
        half = float(stdtrit(n - 1, 0.975) * error)
        return Score(value, value - half, value + half, people)
    annotations = annotations.take(annotations.votes_per_item()[annotations.item] > 1)
    anew = distance == "ordinal" or (not annotations.hard and distance == "total-variation")
    if anew:  # ranks are those of the items drawn
        return intervals.resampled(annotations, lambda cut: alpha(cut, distance), draws=draws)
    count, own, sums = _moments(annotations, distance)
    paired = np.flatnonzero(count)

    def statistic(drawn: Ints) -> float:
        rows = paired[drawn]
        return _alpha_of_moments(count[rows], own[rows], sums[rows])

    return intervals.bootstrap(statistic, len(paired), draws=draws)


def _moments(annotations: Annotations, distance: Distance) -> tuple[Ints, Floats, Floats]:
    """Per item: how many answers, the sum of their squared lengths, and their sum (m, k).

    Lengths and sums are of the labels, or of their square roots for ``hellinger``; the sum of
    distances over all ordered pairs of n answers is then n * lengths - |sum|^2.  Hard votes have
    length 1 either way, and never become an n x k array.
    """
    count = annotations.votes_per_item()
    if distance in SCALES:
        rating = rate_classes(annotations, distance)
        label = annotations.label
        each = annotations.soft() @ rating if label is None else rating[label]
        square, total = (
            np.bincount(annotations.item, values, minlength=len(count)).astype(np.float64)
            for values in (each**2, each)
        )
        return count, square, total[:, None]
    if annotations.probs is None:
        return count, count.astype(np.float64), annotations.counts()
    rows = np.sqrt(annotations.probs) if distance == "hellinger" else annotations.probs
    own, *sums = (
        np.bincount(annotations.item, column, minlength=len(count)).astype(np.float64)
        for column in ((rows**2).sum(axis=1), *rows.T)
    )
    return count, own, np.stack(sums, axis=1)


def rate_classes(annotations: Annotations, scale: Distance) -> Floats:
    """Return (k,) the number that each class stands for on a scale.

    ``ordinal``: its middle rank among these answers, so that two classes are as far apart as there
    are answers between them (Krippendorff 2011).  ``interval``: the number it is called, or else
    its place.  They are centred: sums of large squares would lose digits.
    """
    if scale == "ordinal":
        mass = annotations.counts().sum(axis=0)
        rating = (np.cumsum(mass) - mass / 2) / max(mass.sum(), 1)
    else:
        try:
            rating = np.array([float(label) for label in annotations.index.labels.tolist()])
        except ValueError:
            rating = np.arange(len(annotations.index.labels), dtype=np.float64)
        if not np.isfinite(rating).all():
            rating = np.arange(len(rating), dtype=np.float64)
    return np.asarray(rating - rating.mean())


def _alpha_of_moments(count: Ints, own: Floats, sums: Floats) -> float:
    paired = count > 1
    count, own, sums = count[paired], own[paired], sums[paired]
    n = int(count.sum())
    if not n:
        return float("nan")
    within = (count * own - (sums**2).sum(axis=1)) / (count - 1)
    between = n * own.sum() - (sums.sum(axis=0) ** 2).sum()
    return _ratio(within.sum(), between, n)


def _ratio(within: float, between: float, n: int) -> float:
    """1 - observed / expected; undefined where all answers are the same."""
    expected = between / (n - 1)
    return float("nan") if expected < 1e-12 * n else float(1 - within / expected)


def _variations(probs: Floats, group: Ints, groups: int) -> Floats:
    """Sum of total variations over ordered pairs in each group, without building the pairs:
    sorted within its group, a value is added once per smaller one and taken off per larger."""
    size = np.bincount(group, minlength=groups)
    start = np.cumsum(size) - size
    total = np.zeros(groups)
    for column in probs.T:
        order = np.lexsort((column, group))
        owner = group[order]
        rank = np.arange(len(order)) - start[owner]
        total += np.bincount(owner, column[order] * (2 * rank - size[owner] + 1), minlength=groups)
    return total

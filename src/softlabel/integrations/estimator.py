"""Train any classifier of scikit-learn on distributions."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, check_array, check_consistent_length, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter, validate_data

from softlabel.errors import DataError
from softlabel.metrics import cross_entropy
from softlabel.tables import Annotations, Floats, Ints, SoftLabels, broken, check_simplex

Anything = npt.NDArray[Any]


class TargetError(DataError, ValueError):
    """What was given as ``y`` is neither classes nor distributions over them."""


class SoftLabelClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """``estimator``, fitted to each row once per class, with the weight the class has in that row.

    ``fit(X, y)`` takes y as a distribution per row (m, k), as ``SoftLabels`` or ``Annotations``
    whose items are the rows of X (an item's labels are averaged), or as classes (m,).  If X is a
    data frame whose index holds the names of the items, their order is checked.  An estimator
    that minimises a weighted log loss then minimises the soft cross-entropy exactly: k copies of
    a row with weights p_k lose -sum_k p_k log q_k together.  Its ``fit`` must know
    ``sample_weight``.  Steps that prepare X stand before this one, where they see each row once.

    ``classes_`` are the classes of y, the names in a table's index, or 0..k-1 for an array of
    distributions.  A class that has no weight anywhere is never predicted: its probability is 0.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Expand, and fit a clone of the estimator; ``sample_weight`` (m,) weighs whole rows."""
        validate_data(self, X, skip_check_array=True)
        self.classes_, probs = as_distributions(y)
        check_consistent_length(X, probs, sample_weight)
        check_order(X, y)
        row, code = np.nonzero(probs)
        weight = probs[row, code]
        self.estimator_ = clone(self.estimator)
        if sample_weight is None and (weight == 1).all():  # classes: nothing to weigh
            self.estimator_.fit(X, code)
            return self
        if not has_fit_parameter(self.estimator_, "sample_weight"):
            raise TypeError(
                f"{type(self.estimator_).__name__}.fit takes no sample_weight and so cannot learn "
                "from distributions; of a pipeline, wrap the last step alone"
            )
        if sample_weight is not None:
            given = check_array(sample_weight, ensure_2d=False, input_name="sample_weight")
            weight = weight * column_or_1d(given)[row]
        if hasattr(X, "tocsr"):
            X = X.tocsr()  # not every kind of sparse matrix has rows
        elif not hasattr(X, "__getitem__"):
            X = np.asarray(X)
        self.estimator_.fit(_safe_indexing(X, row), code, sample_weight=weight)
        return self

    def predict(self, X: Any) -> Anything:
        """Return (m,), the class that the estimator chooses for each row."""
        code = self._codes(X)  # first: it checks that there are classes
        return np.asarray(self.classes_[code])

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> Floats:
        """Return (m, k), the probability of each of ``classes_``."""
        check_is_fitted(self, "estimator_")
        known = self.estimator_.predict_proba(X)
        probs = np.zeros((len(known), len(self.classes_)))
        probs[:, self.estimator_.classes_] = known
        return probs

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; against distributions, the probability that a class drawn from a
        row's distribution is the class predicted there."""
        code = self._codes(X)
        if is_hard(y):
            right = np.asarray(self.classes_[code] == column_or_1d(y), dtype=np.float64)
        else:
            probs = match_classes(self, y)
            check_consistent_length(code, probs)
            right = probs[np.arange(len(code)), code]
        return float(np.average(right, weights=sample_weight))

    def _codes(self, X: Any) -> Ints:
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(X))

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags, tags.non_deterministic = inner.input_tags, inner.non_deterministic
        tags.classifier_tags.poor_score = getattr(inner.classifier_tags, "poor_score", False)
        return tags


def neg_cross_entropy(estimator: Any, X: Any, y: Any) -> float:
    """Return minus the mean soft cross-entropy of ``predict_proba``, because searches look for the
    largest ``scoring``; minus infinity where a class that occurs has probability 0."""
    return -float(cross_entropy(match_classes(estimator, y), estimator.predict_proba(X)).mean())


def is_hard(y: Any) -> bool:
    """Return True for one class per row, False for distributions and tables of labels."""
    if isinstance(y, Annotations | SoftLabels):
        return False
    shape = np.asarray(y).shape
    return len(shape) != 2 or shape[1] == 1


def as_distributions(y: Any) -> tuple[Anything, Floats]:
    """Return the classes, and (m, k), the weight of each in a row."""
    if y is None:
        raise TargetError("requires y to be passed, but the target y is None")
    if isinstance(y, Annotations):
        counts = y.counts()
        total = counts.sum(axis=1, keepdims=True)
        _refuse(broken, "Annotations", total[:, 0] == 0, "nobody answered this item")
        return np.array(y.index.labels.tolist()), counts / total
    if isinstance(y, SoftLabels):
        _refuse(broken, "SoftLabels", ~y.answered, "nobody answered this item")
        return np.array(y.index.labels.tolist()), y.probs
    if is_hard(y):
        y = column_or_1d(y, warn=True)
        check_array(y, ensure_2d=False, dtype=None, input_name="y")
        check_classification_targets(y)
        classes, code = np.unique(y, return_inverse=True)
        return classes, np.eye(len(classes))[code]
    probs = np.asarray(y, dtype=np.float64)
    _refuse(check_simplex, "y", probs)
    return np.arange(probs.shape[1]), probs


def check_order(X: Any, y: Any) -> None:
    """Refuse a data frame whose index names the items of a table in another order."""
    if not isinstance(y, Annotations | SoftLabels) or not hasattr(X, "iloc"):
        return
    rows, items = [str(name) for name in X.index], y.index.items.tolist()
    if rows != items and set(rows) == set(items):
        at = next(row for row, name in enumerate(rows) if name != items[row])
        raise TargetError(
            f"row {at} of X is item {rows[at]!r}, and row {at} of y is item {items[at]!r}; bring "
            "them into the same order"
        )


def match_classes(estimator: Any, y: Any) -> Floats:
    """Return (m, k), the distributions of y over the classes that the estimator was fitted to."""
    if is_hard(y):
        y = column_or_1d(y)
        place = {name: code for code, name in enumerate(estimator.classes_.tolist())}
        new = [name for name in y.tolist() if name not in place]
        if new:
            raise TargetError(f"class {new[0]!r} was not in the y of fit")
        return np.eye(len(place))[[place[name] for name in y.tolist()]]
    classes, probs = as_distributions(y)
    if len(classes) != len(estimator.classes_):
        raise TargetError(f"y has {len(classes)} classes, {len(estimator.classes_)} were fitted")
    if not isinstance(y, Annotations | SoftLabels):
        return probs
    place = {name: code for code, name in enumerate(classes.tolist())}
    fitted = estimator.classes_.tolist()
    if set(fitted) != set(place) and set(fitted) != set(range(len(fitted))):
        new = next(name for name in place if name not in set(fitted))
        raise TargetError(f"class {new!r} was not in the y of fit, which had {fitted}")
    return probs[:, [place[name] for name in fitted]] if set(fitted) == set(place) else probs


def _refuse(check: Callable[..., None], *given: Any) -> None:
    try:
        check(*given)
    except DataError as error:
        raise TargetError(str(error)) from None

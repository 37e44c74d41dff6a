"""Weighted expansion is soft cross-entropy, and scikit-learn takes the wrapper for its own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from softlabel import Annotations, Index, SoftLabels
from softlabel.aggregate import Mean
from softlabel.integrations import SoftLabelClassifier, neg_cross_entropy
from softlabel.metrics import cross_entropy

M, D, K = 60, 4, 3


@pytest.fixture(scope="module")
def taught():
    """Rows, and distributions that depend on them."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(M, D))
    return rows, softmax(rows @ rng.normal(size=(D, K)) + rng.normal(0, 0.5, (M, K)), axis=1)


def checks():
    """Everything scikit-learn checks of a classifier; none is expected to fail."""
    for inner in (LogisticRegression(), DecisionTreeClassifier(random_state=0), GaussianNB()):
        wrapped = SoftLabelClassifier(inner)
        for estimator, check in estimator_checks_generator(wrapped, legacy=True, mark=None):
            name = getattr(check, "func", check).__name__
            yield pytest.param(estimator, check, id=f"{type(inner).__name__}-{name}")


@pytest.mark.filterwarnings("default")  # the checks provoke warnings of the inner estimator
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_takes_it_for_its_own(estimator, check):
    check(estimator)


def minimum(rows, probs, c, weight):
    """The smallest c * sum_i w_i CE(p_i, softmax(x_i W + b)) + |W|^2 / 2, found without
    scikit-learn."""

    def loss(flat):
        w, b = flat[: D * K].reshape(D, K), flat[D * K :]
        scores = rows @ w + b
        value = -c * (weight[:, None] * probs * log_softmax(scores, axis=1)).sum()
        error = c * weight[:, None] * (softmax(scores, axis=1) - probs)
        slope = np.concatenate([(rows.T @ error + w).ravel(), error.sum(axis=0)])
        return value + (w**2).sum() / 2, slope

    found = minimize(loss, np.zeros(D * K + K), jac=True, method="BFGS", options={"gtol": 1e-8})
    return softmax(rows @ found.x[: D * K].reshape(D, K) + found.x[D * K :], axis=1)


@pytest.mark.parametrize("c", [0.1, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_weighted_expansion_is_the_minimum_of_soft_cross_entropy(taught, c, weighted):
    rows, probs = taught
    weight = np.random.default_rng(0).uniform(0.2, 3, M) if weighted else np.ones(M)
    ours = SoftLabelClassifier(LogisticRegression(C=c, tol=1e-10, max_iter=10_000))
    ours.fit(rows, probs, sample_weight=weight if weighted else None)
    np.testing.assert_allclose(ours.predict_proba(rows), minimum(rows, probs, c, weight), atol=2e-5)


def test_it_learns_what_the_most_probable_classes_do_not_say(taught):
    rows, probs = taught
    soft = SoftLabelClassifier(LogisticRegression()).fit(rows, probs).predict_proba(rows)
    hard = LogisticRegression().fit(rows, probs.argmax(axis=1)).predict_proba(rows)
    assert cross_entropy(probs, soft).mean() < cross_entropy(probs, hard).mean() - 0.02


def test_one_hot_rows_are_classes(taught):
    rows, probs = taught
    classes = np.array(["ash", "elm", "oak"])[probs.argmax(axis=1)]
    plain = LogisticRegression().fit(rows, classes)
    named = SoftLabelClassifier(LogisticRegression()).fit(rows, classes)
    coded = SoftLabelClassifier(LogisticRegression()).fit(rows, np.eye(K)[probs.argmax(axis=1)])
    np.testing.assert_array_equal(named.predict_proba(rows), plain.predict_proba(rows))
    np.testing.assert_array_equal(coded.predict_proba(rows), plain.predict_proba(rows))
    assert named.predict(rows).tolist() == plain.predict(rows).tolist()
    assert coded.classes_.tolist() == [0, 1, 2]
    assert named.score(rows, classes) == plain.score(rows, classes)


def test_tables_bring_the_names_of_their_classes():
    index = Index([f"item-{i}" for i in range(4)], ["ann", "bob"], ["wren", "finch"])
    each = Annotations(
        index,
        np.array([0, 0, 1, 1, 2, 3]),
        np.array([0, 1, 0, 1, 0, 1]),
        probs=np.array([[1, 0], [0.5, 0.5], [0, 1], [0.2, 0.8], [1, 0], [0, 1]]),
    )
    pooled = Mean()(each)
    rows = np.array([[0.0], [3.0], [1.0], [2.0]])
    fitted = [SoftLabelClassifier(LogisticRegression()).fit(rows, y) for y in (each, pooled)]
    by_hand = SoftLabelClassifier(LogisticRegression()).fit(
        rows, [[0.75, 0.25], [0.1, 0.9], [1, 0], [0, 1]]
    )
    for one in fitted:
        assert one.classes_.tolist() == ["wren", "finch"]  # in the order of the index
        assert one.predict(rows).tolist() == ["wren", "finch", "wren", "finch"]
        np.testing.assert_allclose(one.predict_proba(rows), by_hand.predict_proba(rows), atol=1e-6)
        assert one.score(rows, pooled) == pytest.approx((0.75 + 0.9 + 1 + 1) / 4)
        assert one.score(rows, ["wren", "wren", "wren", "finch"]) == 0.75


def test_the_score_against_distributions_is_the_chance_to_be_right(taught):
    rows, probs = taught
    ours = SoftLabelClassifier(LogisticRegression()).fit(rows, probs)
    chosen = ours.predict(rows)
    assert ours.score(rows, probs) == pytest.approx(probs[np.arange(M), chosen].mean())
    one_hot = np.eye(K)[probs.argmax(axis=1)]
    assert ours.score(rows, one_hot) == ours.score(rows, probs.argmax(axis=1))


def test_it_works_in_pipelines_and_searches_and_is_cloned(taught):
    rows, probs = taught
    model = make_pipeline(StandardScaler(), SoftLabelClassifier(LogisticRegression()))
    folds = cross_val_score(model, rows, probs, cv=3)
    assert folds.shape == (3,)
    assert (folds > 1 / K).all()
    losses = cross_val_score(model, rows, probs, cv=3, scoring=neg_cross_entropy)
    by_hand = [
        -cross_entropy(
            probs[out], clone(model).fit(rows[kept], probs[kept]).predict_proba(rows[out])
        )
        for kept, out in KFold(3).split(rows)
    ]
    np.testing.assert_allclose(losses, [fold.mean() for fold in by_hand])
    assert cross_val_predict(model, rows, probs, cv=3).shape == (M,)
    grid = {"softlabelclassifier__estimator__C": [1e-4, 1.0]}
    search = GridSearchCV(model, grid, cv=3, scoring=neg_cross_entropy).fit(rows, probs)
    assert search.best_params_ == {"softlabelclassifier__estimator__C": 1.0}
    copy = clone(model[-1])
    assert copy.estimator is not model[-1].estimator
    assert not hasattr(copy, "classes_")


def test_hard_classes_go_through_what_needs_them(taught):
    """Stratified folds and calibration take classes, as with any classifier."""
    rows, probs = taught
    hard = probs.argmax(axis=1)
    inner = SoftLabelClassifier(GaussianNB())
    assert CalibratedClassifierCV(inner, cv=2).fit(rows, hard).predict_proba(rows).shape == (M, K)
    assert neg_cross_entropy(inner.fit(rows, probs), rows, hard) < 0


def test_texts_and_sparse_rows_are_repeated_too():
    texts = ["sun sand", "snow ice", "sun ice", "sand"]
    probs = [[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.8, 0.2]]
    model = make_pipeline(CountVectorizer(), SoftLabelClassifier(MultinomialNB()))
    counts = CountVectorizer().fit_transform(texts)
    sparse = SoftLabelClassifier(MultinomialNB()).fit(csr_matrix(counts), probs)
    dense = SoftLabelClassifier(MultinomialNB()).fit(counts.toarray(), probs)
    found = model.fit(texts, probs).predict_proba(["sun", "ice"])
    assert found[0, 0] > 0.5 > found[1, 0]
    np.testing.assert_allclose(sparse.predict_proba(counts), dense.predict_proba(counts))


def test_a_class_without_weight_is_never_predicted(taught):
    rows, probs = taught
    four = np.insert(probs, 1, 0.0, axis=1)
    model = SoftLabelClassifier(LogisticRegression()).fit(rows, four)
    three = SoftLabelClassifier(LogisticRegression()).fit(rows, probs)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert 1 not in model.predict(rows)
    np.testing.assert_array_equal(
        np.delete(model.predict_proba(rows), 1, axis=1), three.predict_proba(rows)
    )
    assert (model.predict_proba(rows)[:, 1] == 0).all()


def test_what_cannot_be_learned_from_is_refused(taught, birds):
    rows, probs = taught
    model = SoftLabelClassifier(LogisticRegression())
    with pytest.raises(ValueError, match=r"row 7: probabilities do not sum to 1 .*1 of 60"):
        model.fit(rows, np.where(np.arange(M)[:, None] == 7, 0.5, probs))
    with pytest.raises(ValueError, match="row 0: a probability is not a finite number"):
        model.fit(rows, np.where(np.arange(M)[:, None] == 0, np.nan, probs))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(rows[:-1], probs)
    few = Annotations(birds, np.array([0, 1]), np.array([0, 0]), label=np.array([0, 1]))
    for table in (few, Mean()(few)):
        with pytest.raises(ValueError, match=r"row 2: nobody answered this item; 10 of 12 rows"):
            model.fit(rows[:12], table)
    with pytest.raises(TypeError, match=r"KNeighborsClassifier.fit takes no sample_weight"):
        SoftLabelClassifier(KNeighborsClassifier()).fit(rows, probs)
    with pytest.raises(NotFittedError):
        model.predict(rows)
    model.fit(rows, probs)
    with pytest.raises(ValueError, match="y has 2 classes, 3 were fitted"):
        model.score(rows, np.full((M, 2), 0.5))
    with pytest.raises(ValueError, match="class 7 was not in the y of fit"):
        neg_cross_entropy(model, rows, np.full(M, 7))


def test_chances_are_there_only_where_the_estimator_has_them(taught):
    rows, probs = taught
    machine = SoftLabelClassifier(LinearSVC()).fit(rows, probs)
    assert set(machine.predict(rows)) <= {0, 1, 2}
    assert not hasattr(machine, "predict_proba")


def test_unanswered_items_are_no_labels(birds):
    empty = SoftLabels(birds, np.full((12, 3), np.nan), np.zeros(12, dtype=np.int64))
    with pytest.raises(ValueError, match="12 of 12"):
        SoftLabelClassifier(LogisticRegression()).fit(np.zeros((12, 1)), empty)


def test_classes_in_another_order_score_the_same(taught):
    rows, probs = taught
    items, count = [str(i) for i in range(M)], np.full(M, 9)
    pooled = SoftLabels(Index(items, [], ["a", "b", "c"]), probs, count)
    turned = SoftLabels(Index(items, [], ["c", "a", "b"]), probs[:, [2, 0, 1]], count)
    model = SoftLabelClassifier(LogisticRegression()).fit(rows, pooled)
    assert model.score(rows, turned) == model.score(rows, pooled)
    assert neg_cross_entropy(model, rows, turned) == neg_cross_entropy(model, rows, pooled)
    other = SoftLabels(Index(items, [], ["a", "b", "x"]), probs, count)
    with pytest.raises(ValueError, match="class 'x' was not in the y of fit"):
        model.score(rows, other)


def test_a_frame_whose_index_names_items_in_another_order_is_refused(taught):
    pandas = pytest.importorskip("pandas")
    rows, probs = taught
    pooled = SoftLabels(Index([f"i{i}" for i in range(M)], [], list("abc")), probs, np.full(M, 9))
    frame = pandas.DataFrame(rows, index=[f"i{i}" for i in range(M)])
    model = SoftLabelClassifier(LogisticRegression()).fit(frame, pooled)
    model.fit(frame.reset_index(drop=True), pooled)  # numbered rows say nothing
    with pytest.raises(ValueError, match="row 0 of X is item 'i59', and row 0 of y is item 'i0'"):
        model.fit(frame[::-1], pooled)

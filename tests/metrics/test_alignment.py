"""Arrays, tables and frames in any order give one number; counts and logits only on request."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

from softlabel import Annotations, DataError, Index, Predictions, SoftLabels, metrics

RNG = np.random.default_rng(5)
ITEMS, LABELS = ["a", "b", "c", "d", "e", "f"], ["no", "maybe", "yes"]
TRUE, GUESS = RNG.dirichlet([0.7] * 3, 6), RNG.dirichlet([0.7] * 3, 6)
ROWS, COLUMNS = [3, 1, 5, 0, 2, 4], [2, 0, 1]


def people(probs=TRUE, items=ITEMS, labels=LABELS):
    return SoftLabels(Index(items, [], labels), probs, np.full(len(items), 4))


def shuffled(items=ITEMS, labels=LABELS):
    """Names and predictions in another order of items and classes."""
    return [items[i] for i in ROWS], [labels[j] for j in COLUMNS], GUESS[ROWS][:, COLUMNS]


def predictions():
    items, labels, probs = shuffled()
    return Predictions(Index(items, [], labels), probs)


def polars_frame():
    items, labels, probs = shuffled()
    return pl.DataFrame(
        {"item": items} | dict(zip(labels, probs.T, strict=True)) | {"count": [9] * 6}
    )


def pandas_frame():
    pd = pytest.importorskip("pandas")
    items, labels, probs = shuffled()
    return pd.DataFrame(probs, index=items, columns=labels)


def pandas_frame_with_items():
    return pandas_frame().rename_axis("item").reset_index()


def arrow_table():
    pytest.importorskip("pyarrow")
    return polars_frame().to_arrow()


def arrow_table_of_lists():
    """As a release has them, without the names of classes."""
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({"item": ITEMS, "soft_label": GUESS.tolist(), "entropy": [0.0] * 6})


FORMS = [predictions, polars_frame, pandas_frame, pandas_frame_with_items, arrow_table]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", metrics.METRICS)
def test_the_order_of_items_and_classes_does_not_matter(form, name):
    measure = metrics.METRICS[name]
    np.testing.assert_allclose(measure(people(), form()), measure(TRUE, GUESS), atol=1e-12)


def test_lists_of_arrow_are_taken():
    numbered = people(labels=["0", "1", "2"])
    found = metrics.kl(numbered, arrow_table_of_lists())
    np.testing.assert_allclose(found, metrics.kl(TRUE, GUESS))
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match=r"lists of different lengths in 'soft_label': 1, 2"):
        metrics.kl(TRUE[:2], pyarrow.table({"soft_label": [[1.0], [0.5, 0.5]]}))


def test_an_index_that_counts_names_the_items_that_are_called_so():
    pd = pytest.importorskip("pandas")
    counted = pd.DataFrame(GUESS, columns=LABELS)
    numbered = people(TRUE[ROWS], [str(row) for row in ROWS])
    np.testing.assert_allclose(metrics.kl(numbered, counted), metrics.kl(TRUE, GUESS)[ROWS])
    np.testing.assert_allclose(metrics.brier(counted, numbered), metrics.brier(GUESS, TRUE))
    np.testing.assert_allclose(metrics.kl(people(), counted), metrics.kl(TRUE, GUESS))


def test_a_plain_array_is_taken_by_its_places():
    np.testing.assert_array_equal(metrics.kl(people(), GUESS), metrics.kl(TRUE, GUESS))
    np.testing.assert_array_equal(metrics.kl(TRUE, people(GUESS)), metrics.kl(TRUE, GUESS))
    frame = pl.DataFrame(dict(zip(LABELS, GUESS.T, strict=True)))
    np.testing.assert_array_equal(metrics.kl(people(), frame), metrics.kl(TRUE, GUESS))
    np.testing.assert_array_equal(metrics.entropy(people()), metrics.entropy(TRUE))


def test_an_item_or_class_of_one_side_is_refused_by_name():
    with pytest.raises(DataError, match=r"item 'f' is only in true; .* same items, in any order"):
        metrics.kl(people(), people(GUESS[:5], ITEMS[:5]))
    with pytest.raises(DataError, match=r"item 'b' is only in predicted \(and 1 more\)"):
        metrics.kl(people(TRUE[2:], ITEMS[2:]), predictions())
    with pytest.raises(DataError, match="class 'yes' is only in true"):
        metrics.kl(people(), people(GUESS, labels=["no", "maybe", "Yes"]))
    with pytest.raises(DataError, match="class 'perhaps' is only in predicted"):
        metrics.ece(people(), polars_frame().drop("count").with_columns(perhaps=0.0))


def test_a_count_before_all_classes_leaves_them_classes():
    frame = polars_frame()
    first = frame.select("item", "count", *LABELS)
    np.testing.assert_array_equal(metrics.kl(people(), first), metrics.kl(people(), frame))


def test_frames_that_cannot_be_read_are_refused_by_name():
    frame = polars_frame()
    with pytest.raises(DataError, match="predicted has item 'd' in 2 rows; one row per item"):
        metrics.kl(people(), pl.concat([frame, frame[:1]]))
    with pytest.raises(DataError, match="predicted has the column 'text', which holds String"):
        metrics.kl(people(), frame.drop("count").with_columns(text=pl.lit("words")))
    with pytest.raises(DataError, match="predicted has no column of a class; it has item, count"):
        metrics.kl(people(), frame.select("item", "count"))


def test_items_that_nobody_answered_are_refused_by_name():
    probs = np.where(np.arange(6)[:, None] == 2, np.nan, TRUE)
    silent = SoftLabels(Index(ITEMS, [], LABELS), probs, np.where(np.arange(6) == 2, 0, 4))
    with pytest.raises(DataError, match=r"no label of item 'c', which nobody answered \(1 of 6"):
        metrics.brier(silent, GUESS)


def test_single_answers_are_refused():
    votes = Annotations(Index(ITEMS, ["p"], LABELS), [0, 1], [0, 0], label=[1, 2])
    with pytest.raises(DataError, match="true holds single answers, not one label per item"):
        metrics.brier(votes, GUESS)


# ── counts and logits, on request ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", metrics.METRICS)
def test_counts_and_logits_are_taken_on_request(name):
    measure = metrics.METRICS[name]
    counts, logits = RNG.integers(1, 9, (6, 3)), RNG.normal(0, 2, (6, 3))
    shares, probs = counts / counts.sum(axis=1, keepdims=True), softmax(logits, axis=1)
    expected = measure(shares, probs)
    both = measure(counts, logits, normalise=True, from_logits=True)
    np.testing.assert_allclose(both, expected, atol=1e-12)
    np.testing.assert_allclose(measure(shares, logits, from_logits=True), expected, atol=1e-12)
    np.testing.assert_allclose(measure(counts, probs * 7, normalise=True), expected, atol=1e-12)


def test_functions_of_one_table_take_them_too():
    counts, logits = [[3, 1, 0]], [[2.0, 1, 0]]
    np.testing.assert_allclose(metrics.entropy(counts, normalise=True), [0.562335], atol=1e-6)
    np.testing.assert_allclose(
        metrics.normalised_entropy(logits, from_logits=True),
        metrics.normalised_entropy(softmax(logits, axis=1)),
    )
    assert metrics.mode(logits, from_logits=True).tolist() == [[1, 0, 0]]
    assert metrics.possible_labels(counts, normalise=True).tolist() == [2]
    bins = metrics.reliability([[1, 0, 0]], logits, from_logits=True)
    assert bins.confidence.round(6).tolist() == [0.665241]


NOT_COUNTS = {
    "a count is negative (value [ 3. -1.  0.])": [3, -1, 0],
    "a count is not a finite number (value [nan": [np.nan, 1, 1],
    "counts sum to 0": [0, 0, 0],
}


@pytest.mark.parametrize("complaint", NOT_COUNTS)
def test_what_is_no_count_is_refused(complaint):
    with pytest.raises(DataError, match=r"^predicted, row 1: ") as caught:
        metrics.kl([[1, 1, 0]] * 2, [[1, 1, 1], NOT_COUNTS[complaint]], normalise=True)
    assert complaint in str(caught.value)


@pytest.mark.parametrize("row", [[np.nan, 0, 1], [np.inf, 0, 0], [-np.inf] * 3])
def test_what_is_no_logit_is_refused(row):
    with pytest.raises(DataError, match="predicted, row 1: logits must be numbers"):
        metrics.kl([[0.5, 0.5, 0]] * 2, [[1, 1, 1], row], from_logits=True)


def test_a_class_that_cannot_be_has_a_logit_of_minus_infinity():
    found = metrics.cross_entropy([[0.5, 0.5, 0]], [[0, 0, -np.inf]], from_logits=True)
    np.testing.assert_allclose(found, [np.log(2)])


def test_probabilities_are_no_logits():
    with pytest.raises(DataError, match="all rows are probabilities already"):
        metrics.kl(TRUE, GUESS, from_logits=True)


def test_the_error_says_what_to_write():
    with pytest.raises(DataError, match=r"normalise=True does it.*from_logits=True takes it"):
        metrics.kl([[3, 1, 0]], [[0.5, 0.3, 0.2]])
